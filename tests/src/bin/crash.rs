//! A process killed at random moments loses nothing and doubles nothing: see [`drystone_tests::crash`].

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    drystone_tests::crash::main()
}

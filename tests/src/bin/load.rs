//! How fast the kernel is: see [`drystone_tests::load`].

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    drystone_tests::load::main()
}

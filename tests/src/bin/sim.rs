//! `cargo sim`: the deterministic simulator. See [`drystone_tests::sim`].

use std::process::ExitCode;

fn main() -> ExitCode {
    drystone_tests::sim::program::main()
}

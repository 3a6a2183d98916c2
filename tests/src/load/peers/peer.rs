//! The program of a peer: how it is built and run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use peer_work::Ask;

use super::said::Said;

/// A package `tests/peers/<name>` with the program `<name>-peer`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    /// The goal: how many times as many items or steps per second ours must finish.
    pub(super) least: f64,
    /// Whether the peer runs with our changes to it, beyond its own options. Its program describes them.
    pub(super) changed: bool,
}

impl Peer {
    /// Builds the peer with the versions of its own lock file, next to our build.
    pub(super) fn build(self, target: &Path) -> Result<()> {
        eprintln!("building the peer {} (minutes, the first time)", self.name);
        let mut command = Command::new("cargo");
        command.args(["build", "--release", "--locked", "--quiet"]).current_dir(self.package());
        command.env("CARGO_TARGET_DIR", directory(target)).stdout(Stdio::null());
        ensure!(command.status()?.success(), "the peer {} cannot be built", self.name);
        Ok(())
    }

    /// Makes one measurement, in a fresh process.
    pub(super) fn run(self, target: &Path, ask: &Ask) -> Result<Said> {
        eprintln!("{}{}: {}", self.name, if self.changed { ", as we changed it" } else { "" }, ask.work);
        let program = directory(target).join("release").join(format!("{}-peer", self.name));
        let mut command = Command::new(program);
        command.args(ask.arguments()).envs(self.changed.then_some(("PEER_CHANGED", "1")));
        let output = command.output()?;
        // Show the error output only on failure: effectum's writer thread may panic when it is closed after
        // all work.
        ensure!(output.status.success(), "{} failed: {}", self.name, String::from_utf8_lossy(&output.stderr));
        // Remove the file, which is as large as the work was long.
        fs::remove_dir_all(&ask.dir)?;
        Said::read(&output.stdout).with_context(|| format!("the peer {} said what nobody understands", self.name))
    }

    fn package(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(self.name)
    }
}

/// The build directory of the peers. It is kept between runs, so that the peers are built only once.
fn directory(target: &Path) -> PathBuf {
    target.join("peers")
}

//! A peer's program: how it is built, and asked.

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
    /// Ours is to finish so many times as many items, or steps, per second.
    pub(super) least: f64,
    /// Whether it is run as we changed it, beyond its own options: see its program.
    pub(super) changed: bool,
}

impl Peer {
    /// With the versions of its own lock file, beside our build.
    pub(super) fn build(self, target: &Path) -> Result<()> {
        eprintln!("building the peer {} (minutes, the first time)", self.name);
        let mut command = Command::new("cargo");
        command.args(["build", "--release", "--locked", "--quiet"]).current_dir(self.package());
        command.env("CARGO_TARGET_DIR", directory(target)).stdout(Stdio::null());
        ensure!(command.status()?.success(), "the peer {} cannot be built", self.name);
        Ok(())
    }

    /// One measurement, in a process that did nothing before.
    pub(super) fn run(self, target: &Path, ask: &Ask) -> Result<Said> {
        eprintln!("{}{}: {}", self.name, if self.changed { ", as we changed it" } else { "" }, ask.work);
        let program = directory(target).join("release").join(format!("{}-peer", self.name));
        let mut command = Command::new(program);
        command.args(ask.arguments()).envs(self.changed.then_some(("PEER_CHANGED", "1")));
        let output = command.output()?;
        // Said only then: effectum's writer thread may panic when all is done and it is closed.
        ensure!(output.status.success(), "{} failed: {}", self.name, String::from_utf8_lossy(&output.stderr));
        // Its file is as large as its work was long.
        fs::remove_dir_all(&ask.dir)?;
        Said::read(&output.stdout).with_context(|| format!("the peer {} said what nobody understands", self.name))
    }

    fn package(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(self.name)
    }
}

/// Kept from run to run: the peers are built once.
fn directory(target: &Path) -> PathBuf {
    target.join("peers")
}

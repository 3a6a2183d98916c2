//! The cost of the macros in a build: `cargo check` of an app of twenty primitives, against the same types
//! without macros.
//!
//! Both are crates of a temporary workspace. Their dependencies are built before. Each check follows a touch
//! of the only source file, without incremental compilation. The median of three checks counts.

mod source;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Result, ensure};

use super::measuring::{
    goal::{Bound, Goal},
    measured::median,
    report::{Line, Report},
};

/// The goal: the time for an app, as a multiple of the time for its types alone.
const RATIO_MAX: f64 = 2.0;
/// The number of checks of each crate that count.
const CHECKS: usize = 3;

/// Checks both crates in turn.
pub(super) fn measure(target: &Path, directory: &Path, report: &mut Report) -> Result<()> {
    let workspace = Workspace { root: directory.to_owned(), target: target.join("compile") };
    workspace.write()?;
    let mut seconds = [Vec::new(), Vec::new()];
    // The first check of each crate builds its dependencies, and does not count.
    for round in 0..=CHECKS {
        for (name, seconds) in ["types", "app"].into_iter().zip(&mut seconds) {
            let taken = workspace.check(name)?;
            seconds.extend((round > 0).then_some(taken));
        }
    }
    let [types, app] = seconds.map(median);
    let line =
        |what: &str, seconds: f64| Line { what: what.into(), note: format!("{seconds:.2} s"), ..Line::default() };
    report.line(line("check of 20 primitives", app));
    report.line(line("check of their types alone", types));
    report.goal(Goal { name: "compile_ratio", bound: Bound::AtMost(RATIO_MAX), value: app / types });
    Ok(())
}

struct Workspace {
    root: PathBuf,
    /// The target directory. It is kept between runs, so that the dependencies are built only once.
    target: PathBuf,
}

impl Workspace {
    fn write(&self) -> Result<()> {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("");
        fs::write(self.root.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"types\", \"app\"]\n")?;
        // Use the same versions of dependencies, so that nothing is downloaded.
        fs::copy(ours.join("Cargo.lock"), self.root.join("Cargo.lock"))?;
        for (name, source) in [("types", source::types()), ("app", source::app())] {
            fs::create_dir_all(self.root.join(name).join("src"))?;
            fs::write(self.root.join(name).join("Cargo.toml"), manifest(name, &ours))?;
            fs::write(self.file(name), source)?;
        }
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.join(name).join("src/lib.rs")
    }

    /// Returns the seconds that a check takes after a touch of the crate.
    fn check(&self, name: &str) -> Result<f64> {
        fs::write(self.file(name), fs::read(self.file(name))?)?;
        let mut command = Command::new("cargo");
        command.args(["check", "--offline", "--quiet", "--package", name]).current_dir(&self.root);
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_TARGET_DIR", &self.target).stdout(Stdio::null());
        let start = Instant::now();
        let status = command.status()?;
        ensure!(status.success(), "the crate `{name}` cannot be checked");
        Ok(start.elapsed().as_secs_f64())
    }
}

/// The manifest of a crate. Both crates have the same dependencies, so that cargo and the compiler load the
/// same for each.
fn manifest(name: &str, ours: &Path) -> String {
    let primitives = ours.join("primitives");
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ndrystone = {{ path = {primitives:?} }}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n"
    )
}

//! A program that runs itself twice over one file. The first life dies, the second life resumes.

use std::{env, path::Path, process::Command};

use anyhow::{Result, ensure};

/// Whether this process is the first life, which dies.
pub fn is_first_life() -> bool {
    env::args().nth(2).is_some_and(|life| life == "first")
}

/// Runs `live` twice over the same file, each time in a process of its own. The first process must fail, the
/// second must succeed.
pub fn two_lives(live: impl AsyncFnOnce(&Path) -> Result<()>) -> Result<()> {
    if let Some(path) = env::args().nth(1) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(live(Path::new(&path)));
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("app.db");
    for life in ["first", "second"] {
        println!("the {life} life");
        let status = Command::new(env::current_exe()?).arg(&path).arg(life).status()?;
        ensure!(status.success() == (life == "second"), "the {life} life ended with {status}");
    }
    Ok(())
}

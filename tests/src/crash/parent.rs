//! The process that kills: it starts a child, listens, ends it at a random moment, and starts the next.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use super::{
    heard::Heard,
    plan::{Errand, Plan},
    said::Said,
};

/// What `abort` ends a process with.
const SIGABRT: i32 = 6;
/// A piece that has killed so many is never going to be given up.
const ABORTS_MAX: u32 = 40;
/// How long the last child may take, rests included.
const FINISH_MAX: Duration = Duration::from_secs(120);

/// What a campaign of kills leaves behind.
#[derive(Debug, Default)]
pub(super) struct Campaign {
    pub(super) heard: Heard,
    pub(super) kills: u32,
    /// Children that the guilty piece killed.
    pub(super) aborts: u32,
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Killed,
    Aborted,
    Finished,
}

impl Campaign {
    /// Kills as often as planned, then lets one child finish in peace.
    pub(super) fn fight(plan: &Plan, file: &Path) -> Result<Self> {
        let mut campaign = Self::default();
        while campaign.kills < plan.kills {
            let after = plan.kill_after(campaign.kills + campaign.aborts);
            let errand = campaign.heard.errand(file, false);
            let end = campaign.child(plan, &errand, after)?;
            ensure!(end != End::Finished, "a child ended that should have gone on");
        }
        loop {
            let errand = campaign.heard.errand(file, true);
            match campaign.child(plan, &errand, FINISH_MAX)? {
                End::Finished => return Ok(campaign),
                End::Aborted => {}
                End::Killed => anyhow::bail!("the last child did not come to rest within {FINISH_MAX:?}"),
            }
        }
    }

    /// One child, from its start to its end.
    fn child(&mut self, plan: &Plan, errand: &Errand, kill_after: Duration) -> Result<End> {
        let mut child = Command::new(&plan.program).args(errand.arguments()).stdout(Stdio::piped()).spawn()?;
        let killed_at = Instant::now() + kill_after;
        let lines = listen(child.stdout.take().context("the pipe is missing")?);
        let killed = self.hear_until(&lines, killed_at)?;
        if killed {
            child.kill()?;
        }
        // What it said before it died is still in the pipe, and counts.
        for line in lines {
            self.heard.hear(line?);
        }
        self.ended(&mut child, killed)
    }

    /// Listens; whether the moment came before the child's own end.
    fn hear_until(&mut self, lines: &Receiver<Result<Said>>, moment: Instant) -> Result<bool> {
        loop {
            match lines.recv_timeout(moment.saturating_duration_since(Instant::now())) {
                Ok(said) => self.heard.hear(said?),
                Err(RecvTimeoutError::Timeout) => return Ok(true),
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
    }

    /// A child that died of itself in the moment of its kill counts as what it died of.
    fn ended(&mut self, child: &mut Child, killed: bool) -> Result<End> {
        let status: ExitStatus = child.wait()?;
        match status.signal() {
            Some(SIGABRT) => {
                self.aborts += 1;
                ensure!(self.aborts < ABORTS_MAX, "the guilty piece killed {} processes and goes on", self.aborts);
                Ok(End::Aborted)
            }
            Some(_) if killed => {
                self.kills += 1;
                Ok(End::Killed)
            }
            _ => {
                ensure!(status.success() && self.heard.finished, "a child failed: {status}");
                Ok(End::Finished)
            }
        }
    }
}

/// Reads the pipe to its end, on a thread of its own.
fn listen(pipe: ChildStdout) -> Receiver<Result<Said>> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let said = line.map_err(Into::into).and_then(|line| line.parse());
            if sender.send(said).is_err() {
                return;
            }
        }
    });
    lines
}

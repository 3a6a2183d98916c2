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

use anyhow::{Context, Result};

use super::{
    heard::Heard,
    plan::{Errand, Plan},
    said::Said,
};

/// What `abort` ends a process with.
const SIGABRT: i32 = 6;
/// Whoever has killed so many is never going to be given up.
const ABORTS_MAX: u32 = 40;
/// How long the last child may take, rests included.
const FINISH_MAX: Duration = Duration::from_secs(120);

/// What a campaign of kills leaves behind.
#[derive(Debug, Default)]
pub(super) struct Campaign {
    pub(super) heard: Heard,
    pub(super) kills: u32,
    /// Children that the guilty ones killed.
    pub(super) aborts: u32,
    /// Why it was broken off, if it was: what was begun then is not all done.
    pub(super) failure: Option<String>,
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Killed,
    Aborted,
    Finished,
    Failed(ExitStatus),
}

impl Campaign {
    /// Kills as often as planned, then lets one child finish in peace.
    pub(super) fn fight(plan: &Plan, file: &Path) -> Result<Self> {
        let mut campaign = Self::default();
        while !campaign.is_over() {
            let finish = campaign.kills >= plan.kills;
            let after = if finish { FINISH_MAX } else { plan.kill_after(campaign.kills + campaign.aborts) };
            let errand = campaign.heard.errand(file, finish);
            campaign.failure = match campaign.child(plan, &errand, after)? {
                End::Killed if finish => Some(format!("the last child did not end within {FINISH_MAX:?}")),
                End::Failed(status) => Some(format!("a child failed: {status}")),
                End::Aborted if campaign.aborts >= ABORTS_MAX => Some("the guilty ones are never given up".into()),
                End::Killed | End::Aborted | End::Finished => None,
            };
        }
        Ok(campaign)
    }

    fn is_over(&self) -> bool {
        self.heard.finished || self.failure.is_some()
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
        let status = child.wait()?;
        let end = match status.signal() {
            Some(SIGABRT) => End::Aborted,
            Some(_) if killed => End::Killed,
            _ if status.success() && self.heard.finished => End::Finished,
            _ => End::Failed(status),
        };
        self.aborts += u32::from(end == End::Aborted);
        self.kills += u32::from(end == End::Killed);
        Ok(end)
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

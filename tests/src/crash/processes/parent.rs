//! The process that kills: it starts a child, listens to it, kills it at a random moment, and starts the
//! next.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{life::Life, moment::Moment};
use crate::crash::{
    judging::{
        footprint::{Footprint, Growth, files, resident},
        heard::Heard,
        proof::Proof,
        said::Said,
    },
    plan::{Errand, Plan},
};

/// The signal of `abort`.
const SIGABRT: i32 = 6;
/// If guilty code has killed this many children, it never stops killing.
const ABORTS_MAX: u32 = 40;
/// The time limit for a child to come to its kill or to its end, rests included. A child that takes longer
/// is stuck.
const LIFE_MAX: Duration = Duration::from_secs(120);
/// The number of children that are killed in a round before one finishes and the round is judged.
const KILLS_OF_ROUND: u32 = 50;

/// A campaign of kills, and its results so far.
#[derive(Debug)]
pub(in crate::crash) struct Campaign {
    plan: Plan,
    file: PathBuf,
    /// Everything that was heard in the last round.
    pub(in crate::crash) heard: Heard,
    rounds: u32,
    lives: u32,
    /// The number of operations acknowledged in all rounds.
    pub(in crate::crash) acknowledged: usize,
    pub(in crate::crash) proof: Proof,
    pub(in crate::crash) growth: Growth,
    /// The number of children killed by guilty code.
    pub(in crate::crash) aborts: u32,
    /// Why the campaign was broken off, if it was. Operations of such a round need not all be done.
    pub(in crate::crash) failure: Option<String>,
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Killed,
    /// Killed because it made no progress.
    Stuck,
    Aborted,
    Finished,
    Failed(ExitStatus),
}

impl Campaign {
    pub(in crate::crash) fn new(plan: &Plan, file: &Path) -> Self {
        Self {
            plan: plan.clone(),
            file: file.to_owned(),
            heard: Heard::default(),
            rounds: 0,
            lives: 0,
            acknowledged: 0,
            proof: Proof::default(),
            growth: Growth::default(),
            aborts: 0,
            failure: None,
        }
    }

    /// Whether as many children were killed as planned, or the campaign was broken off.
    pub(in crate::crash) fn is_over(&self) -> bool {
        self.failure.is_some() || (self.rounds > 0 && self.proof.kills >= self.plan.kills)
    }

    /// Runs a round: kills children, then lets the last child finish in peace.
    pub(in crate::crash) fn round(&mut self) -> Result<()> {
        self.heard = Heard::of_round(self.rounds.into(), self.heard.turns());
        self.rounds += 1;
        let until = self.plan.kills.min(self.rounds * KILLS_OF_ROUND);
        while !self.heard.finished && self.failure.is_none() {
            let moment = (self.proof.kills < until).then(|| self.plan.moment(self.lives));
            self.failure = match self.child(moment)? {
                End::Stuck => Some(format!("life {} came no further within {LIFE_MAX:?}", self.lives)),
                End::Failed(status) => Some(format!("a child failed: {status}")),
                End::Aborted if self.aborts >= ABORTS_MAX => Some("the guilty ones are never given up".into()),
                End::Killed | End::Aborted | End::Finished => None,
            };
        }
        self.acknowledged += self.heard.acknowledged.len();
        Ok(())
    }

    /// Runs a child until its end. Without a moment the child is not killed.
    fn child(&mut self, moment: Option<Moment>) -> Result<End> {
        let errand: Errand = self.heard.errand(&self.file, moment.is_none());
        let mut child = Command::new(&self.plan.program).args(errand.arguments()).stdout(Stdio::piped()).spawn()?;
        let lines = listen(child.stdout.take().context("the pipe is missing")?);
        let mut life = Life::default();
        let kill = self.hear_until(&lines, &mut life, moment)?;
        let memory = resident(&child.id().to_string());
        if kill.is_some() {
            child.kill()?;
        }
        // The lines that the child wrote before it died are still in the pipe, and count.
        for said in lines {
            self.hear(said?, &mut life);
        }
        let end = self.ended(&mut child, kill)?;
        self.heard.life_ended();
        self.lives += 1;
        life.killed = moment.filter(|_| end == End::Killed).map(|moment| moment.kind());
        self.count(&life, memory);
        Ok(end)
    }

    /// Counts a life that has ended, and its footprint if the child was killed at work.
    fn count(&mut self, life: &Life, child: u64) {
        let kills = self.proof.kills;
        self.proof.count(life);
        if self.proof.kills > kills {
            let files = self.file.parent().map_or(0, files);
            self.growth.measured(Footprint { files, child, parent: resident("self") });
        }
    }

    /// Listens until the child must be killed: its moment has come and its pause is over, or its time is up.
    /// Returns how the child ends by that kill, or `None` if the child ended by itself first.
    fn hear_until(
        &mut self,
        lines: &Receiver<Result<Said>>,
        life: &mut Life,
        moment: Option<Moment>,
    ) -> Result<Option<End>> {
        let (mut until, mut kill) = (Instant::now() + LIFE_MAX, End::Stuck);
        loop {
            if let Some(moment) = moment.filter(|moment| kill == End::Stuck && moment.has_come(life)) {
                (until, kill) = (Instant::now() + moment.pause, End::Killed);
            }
            match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(said) => self.hear(said?, life),
                Err(RecvTimeoutError::Timeout) => return Ok(Some(kill)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn hear(&mut self, said: Said, life: &mut Life) {
        life.hear(said);
        self.heard.hear(said);
    }

    /// Tells how a child ended. A child that aborted at the moment of its kill counts as aborted.
    fn ended(&mut self, child: &mut Child, kill: Option<End>) -> Result<End> {
        let status = child.wait()?;
        let end = match (status.signal(), kill) {
            (Some(SIGABRT), _) => End::Aborted,
            (Some(_), Some(kill)) => kill,
            _ if status.success() && self.heard.finished => End::Finished,
            _ => End::Failed(status),
        };
        self.aborts += u32::from(end == End::Aborted);
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

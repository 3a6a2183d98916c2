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
    life::Life,
    moment::Moment,
    plan::{Errand, Plan},
    said::Said,
};

/// What `abort` ends a process with.
const SIGABRT: i32 = 6;
/// Whoever has killed so many is never going to be given up.
const ABORTS_MAX: u32 = 40;
/// How long a child may take to come to its kill, or to its end, rests included: whoever does not is stuck.
const LIFE_MAX: Duration = Duration::from_secs(120);

/// What a campaign of kills leaves behind.
#[derive(Debug, Default)]
pub(super) struct Campaign {
    pub(super) heard: Heard,
    /// Its children, in order.
    pub(super) lives: Vec<Life>,
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
    /// Killed because it came no further.
    Stuck,
    Aborted,
    Finished,
    Failed(ExitStatus),
}

impl Campaign {
    /// Kills as often as planned, then lets one child finish in peace.
    pub(super) fn fight(plan: &Plan, file: &Path) -> Result<Self> {
        let mut campaign = Self::default();
        while !campaign.is_over() {
            let moment = plan.moment(campaign.kills, campaign.aborts);
            let errand = campaign.heard.errand(file, moment.is_none());
            campaign.failure = match campaign.child(plan, &errand, moment)? {
                End::Stuck => Some(format!("a child came no further within {LIFE_MAX:?}: {:?}", campaign.lives.last())),
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
    fn child(&mut self, plan: &Plan, errand: &Errand, moment: Option<Moment>) -> Result<End> {
        let mut child = Command::new(&plan.program).args(errand.arguments()).stdout(Stdio::piped()).spawn()?;
        let lines = listen(child.stdout.take().context("the pipe is missing")?);
        let mut life = Life::default();
        let kill = self.hear_until(&lines, &mut life, moment)?;
        if kill.is_some() {
            child.kill()?;
        }
        // What it said before it died is still in the pipe, and counts.
        for said in lines {
            self.hear(said?, &mut life);
        }
        let end = self.ended(&mut child, kill)?;
        life.killed = end == End::Killed;
        self.lives.push(life);
        Ok(end)
    }

    /// Listens until the moment has come and its pause is over, or the child's time is; as what it is to be killed then, unless it has come
    /// to its own end before.
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

    /// A child that died of itself in the moment of its kill counts as what it died of.
    fn ended(&mut self, child: &mut Child, kill: Option<End>) -> Result<End> {
        let status = child.wait()?;
        let end = match (status.signal(), kill) {
            (Some(SIGABRT), _) => End::Aborted,
            (Some(_), Some(kill)) => kill,
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

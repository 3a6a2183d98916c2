//! One run of a scenario, disturbed in one way. The store, the callers and the process of its world report
//! to it.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drystone_runtime::{
    Call, Options,
    kernel::Event,
    store::{Batch, HintSender, Hints, Verdict, sql::Script},
};
use tokio::sync::Notify;

use super::{store::Moment, trace::Trace};

/// How long a disturbed world may stand still, in real time, before it is taken for stuck. The scenario has
/// passed undisturbed before, so nothing in it takes that long in real time.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a run of a scenario is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disturbance {
    /// The run is not disturbed.
    Nothing,
    /// The process dies of one commit, and is started again.
    Crash {
        /// The number of the commit, from 1.
        commit: u64,
        /// Before the commit, or after it was applied and before anybody was notified.
        moment: Moment,
    },
    /// Everything that can be forgotten is forgotten before every turn: runs are replayed, and structs are
    /// decoded again.
    Forgetful,
    /// Every answered call is made again with the same idempotency key, and every hint of a message comes
    /// twice.
    Twice,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(out, "nothing done to it: run again, it differs by itself"),
            Self::Crash { commit, moment: Moment::Before } => write!(out, "a crash before commit {commit}"),
            Self::Crash { commit, moment: Moment::After } => {
                write!(out, "a crash after commit {commit} was applied, before anybody was told")
            }
            Self::Forgetful => write!(out, "everything forgotten before every turn"),
            Self::Twice => write!(out, "every call made twice"),
        }
    }
}

/// One run of a scenario.
pub(super) struct Trial {
    disturbance: Disturbance,
    state: Mutex<State>,
    death: Notify,
    hints: HintSender,
}

#[derive(Default)]
struct State {
    trace: Trace,
    commits: u64,
    calls: u64,
    /// How often the process died or came back.
    lives: u64,
    /// The writes of the commit at which the process died.
    fatal: Option<String>,
}

impl Trial {
    pub(super) fn new(disturbance: Disturbance) -> Self {
        let (state, death, hints) = (Mutex::default(), Notify::new(), HintSender::default());
        Self { disturbance, state, death, hints }
    }

    /// Adjusts the options of the trial's world.
    pub(super) fn adjust(&self, options: &mut Options, patience: &mut Duration) {
        match self.disturbance {
            Disturbance::Nothing => return,
            Disturbance::Forgetful => options.forget_one_in = Some(1),
            Disturbance::Crash { .. } | Disturbance::Twice => {}
        }
        *patience = PATIENCE;
    }

    /// Returns how many commits there were.
    pub(super) fn commits(&self) -> u64 {
        self.state().commits
    }

    /// Returns the writes of the commit at which the process died.
    pub(super) fn fatal(&self) -> Option<String> {
        self.state().fatal.clone()
    }

    /// Returns the history, line by line.
    pub(super) fn lines(&self) -> Vec<String> {
        self.state().trace.lines.clone()
    }

    /// Records a lifecycle event.
    pub(super) fn told(&self, event: &Event) {
        self.state().trace.told(event);
    }

    /// Records a batch that is about to be applied. Returns the moment at which the process dies of it, if
    /// it does.
    pub(super) fn commit(&self, batch: &Batch) -> Option<Moment> {
        let mut state = self.state();
        // A batch without writes only remembers the answer of a call. The trial caused the batch, because it
        // gave that call an idempotency key, so it does not count.
        let wrote = state.trace.wrote(batch)?;
        let moment = self.dies_of(&mut state, wrote);
        if moment != Some(Moment::Before) {
            state.trace.keep(batch);
        }
        moment
    }

    /// Records transactional steps that are about to run, which is a commit, too. A transaction of the
    /// scenario itself does not count: it has no idempotency key, so it could not be made again.
    pub(super) fn transaction(&self, scripts: &[Script]) -> Option<Moment> {
        let mut state = self.state();
        let wrote = state.trace.transacted(scripts)?;
        self.dies_of(&mut state, wrote)
    }

    /// Counts a commit with these writes. Returns the moment at which the process dies of it, if it does.
    fn dies_of(&self, state: &mut State, wrote: String) -> Option<Moment> {
        state.commits += 1;
        let number = state.commits;
        let moment = match self.disturbance {
            Disturbance::Crash { commit, moment } if commit == number => Some(moment),
            _ => None,
        };
        state.trace.lines.push(match moment {
            Some(Moment::Before) => format!("commit {number} is not made, the process dies: {wrote}"),
            Some(Moment::After) => format!("commit {number}, and then the process dies: {wrote}"),
            None => format!("commit {number}: {wrote}"),
        });
        if moment.is_some() {
            state.fatal = Some(wrote);
        }
        moment
    }

    /// Records the death of the process.
    pub(super) fn dies(&self) {
        self.state().lives += 1;
        self.death.notify_one();
    }

    /// Waits until the process has died of the trial.
    pub(super) async fn death(&self) {
        self.death.notified().await;
    }

    /// Records that the process is back, or cannot come back.
    pub(super) fn returns(&self, line: String) {
        let mut state = self.state();
        state.lives += 1;
        state.trace.lines.push(line);
    }

    pub(super) fn lives(&self) -> u64 {
        self.state().lives
    }

    /// Gives a call of the scenario an idempotency key, so that it can be made again and is executed once.
    pub(super) fn prepare(&self, call: Call) -> Call {
        let mut state = self.state();
        state.calls += 1;
        state.trace.lines.push(format!("asks {call}"));
        if call.is_once() { call } else { call.once(format!("drystone trial, call {}", state.calls)) }
    }

    /// Whether calls are made twice.
    pub(super) fn repeats(&self) -> bool {
        self.disturbance == Disturbance::Twice
    }

    /// Returns hints that come twice, if calls are made twice.
    pub(super) fn hints(&self) -> Option<Hints> {
        self.repeats().then(|| self.hints.subscribe())
    }

    /// Sends the hints of an applied batch, each twice.
    pub(super) fn hint(&self, batch: &Batch, verdicts: &[Verdict]) {
        self.hints.send_after(batch, verdicts);
        self.hints.send_after(batch, verdicts);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Trial").field("disturbance", &self.disturbance).finish_non_exhaustive()
    }
}

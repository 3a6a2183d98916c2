//! One run of a scenario, disturbed in one way; told by the store, the callers and the process of its world.

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

/// How long a disturbed world may stand still, in real time, before it is taken for stuck. Who comes here has come through
/// undisturbed, so nothing of the real world is waited for that long.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a run of a scenario is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disturbance {
    /// Not at all.
    Nothing,
    /// The process dies of one commit, and is started again.
    Crash {
        /// Which, from 1.
        commit: u64,
        /// Before it, or after it was applied and before anybody was told.
        moment: Moment,
    },
    /// Everything that can be forgotten is, before every turn: runs are replayed, structs are read anew.
    Forgetful,
    /// Every call is made again once it is answered, with the same idempotency key; every hint of a message comes twice.
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
    /// Deaths, and returns from them.
    lives: u64,
    /// What the commit wrote of which the process died.
    fatal: Option<String>,
}

impl Trial {
    pub(super) fn new(disturbance: Disturbance) -> Self {
        let (state, death, hints) = (Mutex::default(), Notify::new(), HintSender::default());
        Self { disturbance, state, death, hints }
    }

    /// The options of a world that is tried.
    pub(super) fn adjust(&self, options: &mut Options, patience: &mut Duration) {
        match self.disturbance {
            Disturbance::Nothing => return,
            Disturbance::Forgetful => options.forget_one_in = Some(1),
            Disturbance::Crash { .. } | Disturbance::Twice => {}
        }
        *patience = PATIENCE;
    }

    /// How many commits there were.
    pub(super) fn commits(&self) -> u64 {
        self.state().commits
    }

    /// What the commit wrote of which the process died.
    pub(super) fn fatal(&self) -> Option<String> {
        self.state().fatal.clone()
    }

    /// What happened, line by line.
    pub(super) fn lines(&self) -> Vec<String> {
        self.state().trace.lines.clone()
    }

    /// An entity has told something.
    pub(super) fn told(&self, event: &Event) {
        self.state().trace.told(event);
    }

    /// A batch is about to be applied. Says when its process dies of it, if so.
    pub(super) fn commit(&self, batch: &Batch) -> Option<Moment> {
        let mut state = self.state();
        // A batch that only remembers what a call was answered is there because we gave that call an idempotency key.
        let wrote = state.trace.wrote(batch)?;
        let moment = self.dies_of(&mut state, wrote);
        if moment != Some(Moment::Before) {
            state.trace.keep(batch);
        }
        moment
    }

    /// Transactional steps are about to be executed: that is a commit, too. What the scenario itself asks for in a transaction is none:
    /// it has no key, and nobody could ask for it again.
    pub(super) fn transaction(&self, scripts: &[Script]) -> Option<Moment> {
        let mut state = self.state();
        let wrote = state.trace.transacted(scripts)?;
        self.dies_of(&mut state, wrote)
    }

    /// One more commit, which writes this. Says when the process dies of it, if so.
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

    /// The process is dead.
    pub(super) fn dies(&self) {
        self.state().lives += 1;
        self.death.notify_one();
    }

    /// Ready when the process has died of the trial.
    pub(super) async fn death(&self) {
        self.death.notified().await;
    }

    /// Its process is back, or cannot come back.
    pub(super) fn returns(&self, line: String) {
        let mut state = self.state();
        state.lives += 1;
        state.trace.lines.push(line);
    }

    pub(super) fn lives(&self) -> u64 {
        self.state().lives
    }

    /// A call of the scenario, with an idempotency key: so it can be made again, and is done once.
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

    /// The hints of a store whose every hint comes twice.
    pub(super) fn hints(&self) -> Option<Hints> {
        self.repeats().then(|| self.hints.subscribe())
    }

    /// A batch was applied.
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

//! Heartbeats: signs of life of a long step, with its progress (W10).

use std::{
    collections::BTreeMap,
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{self as runtime, Cx, Name, Version, kernel::WeakKernel};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Context, Stored, context::Outbox, decode, encode, workflow::replay::op_id::OpId};

/// Reports the progress of a running step: take it as a parameter, `beat: &Heartbeat<Page>`.
///
/// [`beat`](Self::beat) reports that the step is alive, and its progress. With `#[step(heartbeat = "30s")]`
/// an attempt fails if it is silent for longer. The next attempt finds the last report of the attempt
/// before in [`last`](Self::last): after a failure the very last report; after a crash the report that was
/// the last one second before the crash, or a later one.
///
/// ```
/// # use drystone::{Failure, Flow, Heartbeat, workflow};
/// # #[derive(Default, serde::Serialize, serde::Deserialize)] struct Import;
/// #[workflow]
/// impl Import {
///     async fn run(flow: &Flow<Self>, pages: u32) -> Result<(), Failure> { flow.load(pages).await }
///
///     #[step(heartbeat = "30s")]
///     async fn load(pages: u32, beat: &Heartbeat<u32>) -> Result<(), Failure> {
///         for page in beat.last().map_or(0, |done| done + 1)..pages {
///             // .. load it ..
///             beat.beat(&page);
///         }
///         Ok(())
///     }
/// }
/// # drystone::testing::block_on(async {
/// Import::load(3, &Heartbeat::detached()).await.unwrap(); // outside of a run it is a plain call
/// # });
/// ```
pub struct Heartbeat<T = ()> {
    last: Option<Bytes>,
    heart: Option<(Heart, Outbox)>,
    progress: PhantomData<fn(T) -> T>,
}

impl<T: Stored> Heartbeat<T> {
    /// A heartbeat that reports to no run and has no earlier progress: for a plain call of the function.
    pub fn detached() -> Self {
        Self { last: None, heart: None, progress: PhantomData }
    }

    pub(crate) fn of(context: &Context) -> Self {
        let heart = context.heart().cloned();
        let last = heart.as_ref().and_then(Heart::last);
        Self { last, heart: heart.map(|heart| (heart, context.outbox())), progress: PhantomData }
    }

    /// The progress of the attempt before; `None` if it reported nothing, or if this code cannot read the
    /// report.
    pub fn last(&self) -> Option<T> {
        self.last.as_ref().and_then(|last| decode(last).ok())
    }

    /// Reports that the step is alive, and its progress. Cheap: progress is stored at most once a second.
    /// Progress longer than 64 KiB cannot be stored, and fails the step.
    pub fn beat(&self, progress: &T) {
        let Some((heart, outbox)) = &self.heart else { return };
        match encode(progress) {
            Ok(progress) if progress.len() <= PROGRESS_BYTES_MAX => heart.beat(progress),
            Ok(progress) => {
                let found = progress.len();
                outbox.refuse(format!("a heartbeat has {found} bytes, more than {PROGRESS_BYTES_MAX}"));
            }
            Err(reason) => outbox.refuse(reason),
        }
    }
}

/// The most bytes of one report.
const PROGRESS_BYTES_MAX: usize = 64 << 10;

/// The shortest time between two stored reports.
const STORED_EVERY: Duration = Duration::from_secs(1);

/// The verb that brings the progress of a step to its run. No author's function has a colon in its name.
pub(in crate::workflow) const BEAT: &str = "step:beat";

/// The progress of a step, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Progress {
    pub(in crate::workflow) attempt: u32,
    /// The number of the report within the attempt.
    pub(in crate::workflow) number: u64,
    pub(in crate::workflow) said: Box<RawValue>,
}

/// The heartbeat of one attempt. The reported progress belongs to the step and outlives the attempt, but
/// not the kernel.
#[derive(Clone)]
pub(crate) struct Heart {
    cx: Cx,
    step: Arc<StepHeart>,
}

struct StepHeart {
    definition: Name,
    key: Bytes,
    op: OpId,
    generation: u32,
    weak_kernel: WeakKernel,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    attempt: u32,
    number: u64,
    said: Option<Bytes>,
    /// Whether the last report is stored, or about to be stored.
    is_stored: bool,
    /// Whether a task that stores reports is running.
    is_told: bool,
}

impl Heart {
    /// Begins the attempt with the progress of the attempts before: the later of the stored report and the
    /// one in memory.
    pub(in crate::workflow) fn begin(&self, stored: Option<Progress>) {
        let mut state = self.step.state();
        if let Some(stored) = stored.filter(|stored| (stored.attempt, stored.number) > (state.attempt, state.number)) {
            (state.attempt, state.number) = (stored.attempt, stored.number);
            state.said = Some(Bytes::copy_from_slice(stored.said.get().as_bytes()));
            state.is_stored = true;
        }
        // An attempt that a crash cut short begins again under the same number, and its reports count on.
        if state.attempt < self.cx.attempt {
            (state.attempt, state.number) = (self.cx.attempt, 0);
        }
    }

    fn last(&self) -> Option<Bytes> {
        self.step.state().said.clone()
    }

    fn beat(&self, said: Bytes) {
        self.cx.heartbeat();
        let mut state = self.step.state();
        if state.attempt != self.cx.attempt {
            // This attempt was given up and does not know it yet. Its reports must not mix with those of
            // the next attempt.
            return;
        }
        state.number += 1;
        (state.said, state.is_stored) = (Some(said), false);
        if std::mem::replace(&mut state.is_told, true) {
            return;
        }
        drop(state);
        let step = self.step.clone();
        self.step.weak_kernel.detach(Box::pin(async move { step.tell().await }));
    }
}

impl StepHeart {
    /// Stores reports, once a second, until there is no new one.
    async fn tell(&self) {
        while let Some(body) = self.unstored() {
            let call = runtime::Call::new(self.definition.clone(), self.key.clone(), BEAT, body);
            let told = self.weak_kernel.call(call).await;
            let is_lost = told.is_err_and(|error| error.is_retryable());
            self.weak_kernel.sleep(STORED_EVERY).await;
            if is_lost {
                self.state().is_stored = false;
            }
        }
    }

    /// The report that is not stored yet. Without a new report, the task that stores reports ends.
    fn unstored(&self) -> Option<Bytes> {
        let mut state = self.state();
        let said = state.said.clone().filter(|_| !state.is_stored && self.lives());
        let written = said.and_then(|said| {
            let progress = Progress { attempt: state.attempt, number: state.number, said: decode(&said).ok()? };
            encode(&(self.generation, &self.op, progress)).ok()
        });
        state.is_stored = true;
        // Under the same lock as the look above: the next report must find no task, and start one.
        state.is_told = written.is_some();
        written
    }

    fn lives(&self) -> bool {
        self.weak_kernel.now().is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The heartbeats of steps that run here, or wait for another attempt.
#[derive(Default)]
pub(in crate::workflow) struct Hearts(Mutex<BTreeMap<HeartOf, Arc<StepHeart>>>);

/// The run, its generation, and the operation.
type HeartOf = (Version, u32, OpId);

impl Hearts {
    /// The heartbeat of an attempt that is about to run.
    pub(in crate::workflow) fn of(&self, cx: &Cx, (generation, op): (u32, &OpId)) -> Heart {
        let name = (cx.id.unwrap_or(Version(0)), generation, op.clone());
        let mut hearts = self.hearts();
        let known = hearts.get(&name).filter(|step| step.lives()).cloned();
        let step = known.unwrap_or_else(|| {
            let (definition, key, op) = (cx.definition.clone(), cx.key.key.clone(), name.2.clone());
            Arc::new(StepHeart {
                definition,
                key,
                op,
                generation,
                weak_kernel: cx.weak_kernel(),
                state: Mutex::default(),
            })
        });
        hearts.insert(name, step.clone());
        Heart { cx: cx.clone(), step }
    }

    /// Forgets the steps of a run that are no longer waited for.
    pub(in crate::workflow) fn keep(&self, run: Version, is_waited_for: impl Fn(u32, &OpId) -> bool) {
        self.hearts().retain(|(of, generation, op), _| *of != run || is_waited_for(*generation, op));
    }

    fn hearts(&self) -> MutexGuard<'_, BTreeMap<HeartOf, Arc<StepHeart>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Heartbeat<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.heart.is_some() { "Heartbeat" } else { "Heartbeat(detached)" })
    }
}

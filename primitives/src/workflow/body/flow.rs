//! The body's view of its run: steps, time, events and state.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, RangeInclusive},
    time::Duration,
};

use super::{
    call::{Called, CannotFail},
    sleep::Sleep,
    state_wait::WaitUntil,
    step::{Recall, Run},
    wait::Wait,
};
use crate::{
    Call, Client, Desk, Primitive, Stored, StoredError, Timestamp,
    kinds::semaphore::Acquire,
    system::topics::{self, PublishError, Published},
    workflow::{
        Child, EventOf, Executes, PermitWait, Step, TopicEvent, Workflow,
        replay::{
            ask::{Ask, Until},
            core::Core,
        },
    },
};

/// The run, as its body sees it: `flow.charge(..)` for each `#[step]`, and what is here.
pub struct Flow<W: Workflow> {
    core: Core,
    steps: W::Steps,
    workflow: PhantomData<fn() -> W>,
}

impl<W: Workflow> Flow<W> {
    pub(in crate::workflow) fn new(core: Core) -> Self {
        Self { steps: core.clone().into(), core, workflow: PhantomData }
    }

    /// Runs code as a step, outside the body, and records the return value. The code may do everything
    /// that is forbidden in a body, but it can neither use `flow` nor borrow from the body. The default is a
    /// single attempt. Write a `#[step]` instead for code that deserves a name of its own.
    ///
    /// Code that can fail needs [`try_run`](Self::try_run): here a `Result` is refused, because its error
    /// would be recorded as a success.
    pub fn run<T: Stored>(&self, name: &str, code: impl Future<Output = T> + Send + 'static) -> Run<T> {
        Run::new(&self.core, name, code)
    }

    /// Runs code that can fail as a step. Its error is recorded as a failure, and the code can be retried.
    pub fn try_run<T: Stored, E: StoredError>(
        &self,
        name: &str,
        code: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Run<Result<T, E>> {
        Run::fallible(&self.core, name, code)
    }

    /// Calls another entity and returns the answer. The call takes effect once, whatever happens to the
    /// process meanwhile (M5). The entity comes from a client, a parameter of the body:
    /// `stock: &Client<Stock>`.
    ///
    /// The code of the action may run more than once, as with every action; its changes and its answer
    /// happen once. A fault (the entity does not exist, or is parked) fails this run, unless it is
    /// [caught](Step::catch).
    pub fn call<T: 'static, E: CannotFail + 'static>(&self, call: Call<T, E>) -> Step<T> {
        let (ask, recall) = match Called::of(call) {
            Ok((called, (read, _))) => (Ok(Ask::Call(called)), Recall::read_by(read)),
            Err(reason) => (Err(reason), Recall::read_by(|_| Err(String::new()))),
        };
        Step::asking(&self.core, ask, None, recall.unwrapped())
    }

    /// Calls an action that can fail. Its error is recorded as a failure.
    pub fn try_call<T: 'static, E: 'static>(&self, call: Call<T, E>) -> Step<Result<T, E>> {
        let (ask, recall) = match Called::of(call) {
            Ok((called, (read, thrown))) => (Ok(Ask::Call(called)), Recall::answered(read, thrown)),
            Err(reason) => (Err(reason), Recall::answered(|_| Err(String::new()), |_| Err(String::new()))),
        };
        Step::asking(&self.core, ask, None, recall.unwrapped())
    }

    /// Runs another workflow as a child: `flow.child(shipments.get("parcel-1").execute(order)).await`. The
    /// key of the child is made of this run's key and the given key, and meets no other key.
    pub fn child<R: Executes>(&self, run: R) -> Child<R::Output, R::Error> {
        Child::new(&self.core, run.execute())
    }

    /// Waits in line for a permit of a semaphore, `flow.permit(stripe.get("acct-1").acquire()).await`, and
    /// holds the permit until the body drops it or the run ends, across crashes of the process. The permit
    /// has no lease and needs no renewal.
    pub fn permit(&self, acquire: Acquire) -> PermitWait {
        PermitWait::new(&self.core, acquire)
    }

    /// Sleeps for this long from the first await on. In a body the span may be a literal:
    /// `flow.sleep("24h")`.
    pub fn sleep(&self, span: Duration) -> Sleep {
        Sleep::new(&self.core, Until::After(span))
    }

    /// Sleeps until this time. A time in the past ends the sleep at once.
    pub fn sleep_until(&self, time: Timestamp) -> Sleep {
        Sleep::new(&self.core, Until::At(time.into()))
    }

    /// Waits for an event: the oldest queued event of its type, or the next one.
    pub fn wait_for<E: EventOf<W>>(&self) -> Wait<E, E::Asks> {
        Wait::new(&self.core)
    }

    /// Publishes an event to all waits, or to one (T1). The event is published once, whatever happens to
    /// the process.
    pub fn publish<E: TopicEvent>(&self, event: E) -> Step<Result<Published, PublishError>> {
        self.try_call(topics::publish(&Desk::body(), event))
    }

    /// Waits until a condition on the state holds. Updates from outside and other branches of the body
    /// change the state. The wait ends at once if the condition holds already. The condition is checked
    /// only after a change of the state.
    pub fn wait_until<F: Fn(&W) -> bool + Unpin>(&self, condition: F) -> WaitUntil<W, F> {
        WaitUntil::new(&self.core, condition)
    }

    /// Changes the state that queries and people see. The change is stored with the next commit of the run.
    pub fn update<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        self.core.must_be_polled();
        self.core.with_state(true, change)
    }

    /// Reads the state.
    pub fn look<T>(&self, look: impl FnOnce(&W) -> T) -> T {
        self.core.must_be_polled();
        self.core.with_state(false, |state: &mut W| look(state))
    }

    /// The time of the run: that of the last delivered journal entry, and so the same in every replay.
    pub fn now(&self) -> Timestamp {
        self.core.now().into()
    }

    /// A random number, the same in every replay.
    pub fn random(&self) -> u64 {
        self.core.random()
    }

    /// A UUID (version 4), the same in every replay.
    pub fn uuid(&self) -> String {
        let bits = u128::from(self.random()) << 64 | u128::from(self.random());
        let bits = bits & !(0xf << 76) | 4 << 76;
        let bits = bits & !(3 << 62) | 2 << 62;
        let hex = format!("{bits:032x}");
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// The client of another primitive. Generated code passes it to a body that has it as a parameter.
    #[doc(hidden)]
    pub fn client<T: Primitive>(&self) -> Client<T> {
        Client::in_body()
    }

    /// Returns the version of a piece of the body that this run goes through (R5). Put the call where the
    /// code changes, and branch on the result. A run that comes here for the first time takes the highest
    /// version of `supported` and keeps it. A run that was past this place before the call was added keeps
    /// the lowest. The version is recorded with the run's next commit, and is the same in every replay and
    /// wherever this `id` is asked for again.
    ///
    /// A run that is pinned to a version which is no longer supported stops as diverged, with a message.
    /// Nothing is lost, and code that supports the version resumes the run.
    ///
    /// ```
    /// # use drystone::{Flow, workflow};
    /// # #[derive(Default, serde::Serialize, serde::Deserialize)] struct Order;
    /// #[workflow]
    /// impl Order {
    ///     async fn run(flow: &Flow<Self>, cents: u64) -> u64 {
    ///         match flow.version("new-fees", 1..=2) {
    ///             1 => flow.old_fee(cents).await, // for runs that were here before
    ///             _ => flow.new_fee(cents).await,
    ///         }
    ///     }
    ///     #[step] async fn old_fee(cents: u64) -> u64 { cents / 10 }
    ///     #[step] async fn new_fee(cents: u64) -> u64 { cents / 20 }
    /// }
    /// ```
    ///
    /// # Panics
    /// If `supported` is empty.
    pub fn version(&self, id: &str, supported: RangeInclusive<u32>) -> u32 {
        self.core.must_be_polled();
        super::version::pinned(&self.core, id, &supported)
    }

    /// The key of the run.
    pub fn key(&self) -> &[u8] {
        self.core.key()
    }

    /// The key of the run as text, with invalid UTF-8 replaced.
    pub fn key_text(&self) -> String {
        String::from_utf8_lossy(self.key()).into_owned()
    }
}

/// Gives access to the steps: `flow.charge(..)`.
impl<W: Workflow> Deref for Flow<W> {
    type Target = W::Steps;

    fn deref(&self) -> &W::Steps {
        &self.steps
    }
}

impl<W: Workflow> Clone for Flow<W> {
    fn clone(&self) -> Self {
        Self::new(self.core.clone())
    }
}

impl<W: Workflow> fmt::Debug for Flow<W> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Flow({:?})", self.core)
    }
}

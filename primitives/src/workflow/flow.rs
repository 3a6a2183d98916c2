//! What a body is given: its steps, time, events, and the state of its run.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, RangeInclusive},
    time::Duration,
};

use super::{
    Child, EventOf, Executes, PermitWait, Step, TopicEvent, Workflow,
    ask::{Ask, Until},
    called::{Called, CannotFail},
    core::Core,
    step::{Recall, Run},
    time::Sleep,
    until::WaitUntil,
    wait::Wait,
};
use crate::{
    Call, Client, Desk, Primitive, Stored, StoredError, Timestamp,
    kinds::semaphore::Acquire,
    topics::{self, PublishError, Published},
};

/// The run, as its body sees it: `flow.charge(..)` for each `#[step]`, and what is here.
pub struct Flow<W: Workflow> {
    core: Core,
    steps: W::Steps,
    workflow: PhantomData<fn() -> W>,
}

impl<W: Workflow> Flow<W> {
    pub(super) fn new(core: Core) -> Self {
        Self { steps: core.clone().into(), core, workflow: PhantomData }
    }

    /// Code of the body's own as a step: it runs outside of the body, once, and what it returns is recorded. Within it all is
    /// allowed that is not in a body, but `flow` itself, which is the body's. It cannot borrow from the body; a step that is worth a name is better
    /// a `#[step]`. Code that can fail is for [`try_run`](Self::try_run): here a `Result` is refused, for its error would be recorded as a success.
    pub fn run<T: Stored>(&self, name: &str, code: impl Future<Output = T> + Send + 'static) -> Run<T> {
        Run::new(&self.core, name, code)
    }

    /// The same with code that can fail: its error is recorded as such, and it can be tried again.
    pub fn try_run<T: Stored, E: StoredError>(
        &self,
        name: &str,
        code: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Run<Result<T, E>> {
        Run::fallible(&self.core, name, code)
    }

    /// Calls another entity, which answers: done once, whatever happens to the process meanwhile (M5). The entity is that of a client,
    /// a parameter of the body: `stock: &Client<Stock>`.
    ///
    /// Its code may run more than once, like that of every action; what it changes and what it answers happen once. A fault (there is no
    /// such entity, it is parked) is one of this run, unless it is [caught](Step::catch).
    pub fn call<T: 'static, E: CannotFail + 'static>(&self, call: Call<T, E>) -> Step<T> {
        let (ask, recall) = match Called::of(call) {
            Ok((called, (read, _))) => (Ok(Ask::Call(called)), Recall::read_by(read)),
            Err(reason) => (Err(reason), Recall::read_by(|_| Err(String::new()))),
        };
        Step::asking(&self.core, ask, None, recall.unwrapped())
    }

    /// The same with an action that can fail: its error is recorded as such.
    pub fn try_call<T: 'static, E: 'static>(&self, call: Call<T, E>) -> Step<Result<T, E>> {
        let (ask, recall) = match Called::of(call) {
            Ok((called, (read, thrown))) => (Ok(Ask::Call(called)), Recall::answered(read, thrown)),
            Err(reason) => (Err(reason), Recall::answered(|_| Err(String::new()), |_| Err(String::new()))),
        };
        Step::asking(&self.core, ask, None, recall.unwrapped())
    }

    /// A run of another workflow as a child: `flow.child(shipments.get("parcel-1").execute(order)).await`. Its key is made of this run's
    /// and the one that is given, and meets no other.
    pub fn child<R: Executes>(&self, run: R) -> Child<R::Output, R::Error> {
        Child::new(&self.core, run.execute())
    }

    /// Waits in line for a permit of a semaphore, `flow.permit(stripe.get("acct-1").acquire()).await`, and holds it until the body drops it or
    /// the run ends, whatever becomes of the process meanwhile. It has no lease and needs no renewal.
    pub fn permit(&self, acquire: Acquire) -> PermitWait {
        PermitWait::new(&self.core, acquire)
    }

    /// Sleeps so long from when it is first awaited. In a body a literal may stand for the duration: `flow.sleep("24h")`.
    pub fn sleep(&self, span: Duration) -> Sleep {
        Sleep::new(&self.core, Until::After(span))
    }

    /// Sleeps until then; not at all if that is past.
    pub fn sleep_until(&self, time: Timestamp) -> Sleep {
        Sleep::new(&self.core, Until::At(time.into()))
    }

    /// Waits for an event: the oldest of its type that is queued, or the next one.
    pub fn wait_for<E: EventOf<W>>(&self) -> Wait<E, E::Asks> {
        Wait::new(&self.core)
    }

    /// Publishes an event: to all who wait for it, or to one (T1). Once, whatever happens to the process meanwhile.
    pub fn publish<E: TopicEvent>(&self, event: E) -> Step<Result<Published, PublishError>> {
        self.try_call(topics::publish(&Desk::body(), event))
    }

    /// Waits until the state is so: changed by an update from outside, or by another branch of the body. Over at once if it is so
    /// already. Nothing looks again and again: it is looked at when the state has changed.
    pub fn wait_until<F: Fn(&W) -> bool + Unpin>(&self, condition: F) -> WaitUntil<W, F> {
        WaitUntil::new(&self.core, condition)
    }

    /// Changes the state that queries and people see; it is stored with the next commit of the run.
    pub fn update<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        self.core.must_be_polled();
        self.core.with_state(true, change)
    }

    /// Looks at that state.
    pub fn look<T>(&self, look: impl FnOnce(&W) -> T) -> T {
        self.core.must_be_polled();
        self.core.with_state(false, |state: &mut W| look(state))
    }

    /// The time of the run: that of what it was last told, and so the same in every replay.
    pub fn now(&self) -> Timestamp {
        self.core.now().into()
    }

    /// A number by chance, the same in every replay.
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

    /// The client of another primitive: what generated code hands to a body that takes it.
    #[doc(hidden)]
    pub fn client<T: Primitive>(&self) -> Client<T> {
        Client::in_body()
    }

    /// Which version of a piece of the body this run goes through (R5): put it where the code is changed, and branch on what it
    /// gives. A run that comes here for the first time takes the highest of `supported` and keeps it; one that had gone past
    /// this place before the call was put there keeps the lowest. It is recorded with the run's next commit, and the same in
    /// every replay and wherever this `id` is asked for again.
    ///
    /// A run that is pinned to a version which is not supported any more stops as diverged, and says so: nothing is lost, and
    /// it goes on with code that has it.
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

    /// The key of the run as text, with what is not UTF-8 replaced.
    pub fn key_text(&self) -> String {
        String::from_utf8_lossy(self.key()).into_owned()
    }
}

/// The steps.
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

/// The methods of [`Flow`], and `continue_as`, which every body has beside its steps: no step may have the name of one, for it would never be reached.
pub const FLOW_METHODS: &[&str] = &[
    "run",
    "try_run",
    "sleep",
    "sleep_until",
    "wait_for",
    "wait_until",
    "publish",
    "update",
    "look",
    "now",
    "random",
    "uuid",
    "key",
    "key_text",
    "clone",
    "call",
    "try_call",
    "child",
    "client",
    "permit",
    "version",
    "continue_as",
];

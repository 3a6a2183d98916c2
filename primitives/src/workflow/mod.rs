//! Workflows: a body that survives. What it awaits (steps, sleeps, events) is recorded as it ends; after a crash the body is replayed
//! on what was recorded, and goes on.
//!
//! A **run** is one key of a workflow. [`what_happens_when`] answers what becomes of it when the process dies, code is changed, time runs
//! out or something comes twice.
//!
//! ```
//! use drystone::{Context, Event, Failure, Flow, Primitives, Services, d, testing::{Log, World}, workflow};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Event, Serialize, Deserialize)]
//! struct Approved { by: String }
//!
//! /// What queries and people see of a run.
//! #[derive(Default, Serialize, Deserialize)]
//! struct Checkout { is_charged: bool }
//!
//! #[workflow(events(Approved))]
//! impl Checkout {
//!     async fn run(flow: &Flow<Self>, cents: u64) -> Result<String, Failure> {
//!         let charge = flow.charge(cents).await?; // its own error, once its attempts are over
//!         flow.update(|checkout| checkout.is_charged = true);
//!         select! {
//!             approved = flow.wait_for::<Approved>() => Ok(format!("{charge}, approved by {}", approved.by)),
//!             _ = flow.sleep("24h") => Err("nobody answered".into()),
//!         }
//!     }
//!
//!     #[step(max_attempts = 5, backoff = "1s..1m", timeout = "30s")]
//!     async fn charge(cents: u64, payments: &Log, cx: &Context) -> Result<String, Failure> {
//!         payments.say(format!("{cents} cents for {}", cx.work_id())); // the same id in every attempt
//!         Ok(format!("{cents} cents"))
//!     }
//!
//!     async fn is_charged(&self) -> bool {
//!         self.is_charged
//!     }
//! }
//!
//! #[derive(Services)]
//! struct Deps { payments: Log }
//!
//! #[derive(Primitives)]
//! struct App { checkout: Checkout }
//!
//! # drystone::testing::block_on(async {
//! let payments = Log::default();
//! let world = World::sqlite().services(Deps { payments: payments.clone() }).start::<App>().await;
//! let order = world.client().checkout("order-9");
//! order.start(1_200).await.unwrap();
//! assert!(order.is_charged().await.unwrap());
//!
//! world.restart().await; // the process dies, and comes back
//! world.advance(d!("23h")).await;
//! order.send(Approved { by: "Ada".into() }).await.unwrap();
//! assert_eq!(order.result().await.unwrap(), "1200 cents, approved by Ada");
//! assert_eq!(payments.take().len(), 1); // charged once
//! # });
//! ```
//!
//! # What is promised
//!
//! - A step runs **at least once** and its outcome is **recorded once** (W1). Its [work id](crate::Context::work_id) is the same in every
//!   attempt and after any crash: hand it on as an idempotency key, and the effect is once, too. What the outside does not recognise may
//!   happen twice; nobody can promise more.
//! - A step with `#[step(transaction)]` writes tables of the author's in the same file, in the same transaction as its record: **exactly once**
//!   (W6). See [`sql`](crate::sql).
//! - `start` and `send` answer when what they did is durable. A run has one result, and nothing leaves an end (L1).
//! - A deadline is a point in time, fixed when it is first reached (H1). It is never early, and no replay moves it.
//! - An event is kept in order until one wait takes it (V2), also if nobody waits yet; what nobody took when its run ends is a dead letter.
//! - What cannot go on says why, keeps what it has, and goes on when it can: see [`RunStatus::stopped`].
//!
//! # The rules of a body
//!
//! A body is run again from its beginning by every replay, so it must do the same again. It **awaits only what is durable**: steps, sleeps,
//! waits, several of them, helpers of its `impl` and functions with [`#[durable]`](crate::durable). No clock, no chance, no spawning and no
//! services in it: the macro refuses what it sees, with what to write instead; what it cannot see is noticed when the body rests, and stops the
//! run. For time and chance there are [`Flow::now`], [`Flow::random`] and [`Flow::uuid`]; for code without a name of its own
//! [`Flow::run`]. What it prints or logs is printed by each replay.
//!
//! A **failure** of a step is a value: `flow.charge(..).await` is what the function returned. A [`Fault`] (it timed out or panicked in every
//! attempt, it killed the process, it cannot be recorded) fails the run, unless the body writes [`catch`](Step::catch).
//!
//! # Several at once
//!
//! - [`select!`](crate::select): the arm that ends first wins. That is recorded, and the losers leave in the same commit: their deadlines, their
//!   waits, and their steps, which are dropped where they are. `&mut step` races a step that goes on when it loses.
//! - [`join!`](crate::join) and [`join_all`] wait for all, and give what they came to in their order. They do not stop at an error: what is in
//!   there is looked at afterwards.
//! - Each arm has names of its own, so the same step may be in several; they nest.
//! - The `select!` and `join!` of a body are these, without an import; those of other crates are not durable.
//!
//! # Other entities, and children
//!
//! A body takes the clients of the app's other primitives, `stock: &Client<Stock>`, and asks by its flow:
//!
//! - `flow.call(stock.get("tea").put(2)).await` calls an entity; [`try_call`](Flow::try_call) one whose action can fail. What it changes and what
//!   it answers happen once, whatever happens to either process (M5): the call has an idempotency key, and its answer is remembered for 90 days
//!   if nobody is there to record it. If it loses a `select!`, it may still take effect.
//! - `flow.permit(line.get("stripe").acquire()).await` holds a permit of a semaphore until the body drops it or the run ends, over any crash and
//!   without a lease.
//! - `flow.child(parcels.get("one").execute(order)).await` is a run of another workflow, and its result, or how it ended without one (L6). The key is
//!   made of this run's and the name that is given, and meets no other. Its start is a part of this run's commit, its end reaches it exactly once, and
//!   thousands may be waited for together. If this run ends before, or lets it go, the child is cancelled, unless it was
//!   [abandoned](Child::abandon); a [detached](Child::detached) one is not waited for at all.
//!
//! Outside of a body `client.parcel("one").execute(order).await` starts a run, or finds the one with the same input, and waits for its result.
//!
//! # The end
//!
//! [`cancel`](Verbs::cancel) is Rust's: the body is dropped at its await. Steps that run end first, and what they came to is recorded; then the
//! `#[cancelled]` body runs, which may use steps, sleeps and the state; then the run is cancelled. [`terminate`](Verbs::terminate) is at once and
//! runs nothing. Both work on a run that is not in memory, or stopped.
//!
//! # Changing the code
//!
//! Runs outlive deployments. What comes after the point that a run has reached may be changed freely; so may options, the bodies of steps, and how
//! long a sleep takes. Where the journal and the code part, the run stops as `diverged` with a [`Divergence`]: the place, what was expected,
//! what was found, the likely edit. Nothing is executed, events are still taken in, and with code that fits it goes on by itself.
//!
//! To know before: [`history`](Verbs::history) of runs that matter, [saved](History::save) beside the tests, and
//! [`testing::replay`](crate::testing::replay) there. It executes nothing, and says where today's code would part from them.
//!
//! # Defaults and limits
//!
//! | | unless said | says |
//! |---|---|---|
//! | attempts of a step | 3, from 1 s to 1 m apart, as long as they take | `#[step(max_attempts, backoff, timeout, give_up_after, retry_if)]` |
//! | time of a transactional step | 1 s, at most 10 s | `#[step(transaction, timeout = "5s")]` |
//! | code of the body's own | 1 attempt | `flow.run(..).max_attempts(..)` |
//! | deaths of the process by one step | 5 forgiven | `Options::crashes_max` |
//! | a run that has ended is kept for | 7 days | `#[workflow(retention = "30d")]` |
//! | events queued of one type for one run | 10,000, for 7 days; then `Full`, and expired | `#[event(max_queued, expires, keep)]` |
//! | unread events when the run ends | dead letters | `#[event(on_terminated = "discard")]` |
//! | a wait without a timeout | for ever | `.timeout("24h")` |
//! | entries of a journal | 50,000; `workflow.long` at 40,000 | |
//! | operations outstanding at once | 4,096 | |
//! | an input, a result, the state | 1 MiB each, less 4 KiB | |
//! | a run in memory that nothing uses | 5 s, then its next move replays it | `Options::evict_after` |
//!
//! # What it costs
//!
//! A run of n steps is n + 1 commits; a transactional step is one transaction more, which all that wait share; an event to a run that waits is one, and so is a sleep. A run in memory goes on without a replay; one that
//! is not costs one more read, of its journal.

mod ask;
mod called;
mod child;
mod combine;
mod continue_as;
mod core;
mod divergence;
mod durable;
mod engine;
mod event;
mod fault;
mod flow;
mod generated;
mod history;
mod journal;
mod live;
mod names;
mod op;
mod options;
mod permit;
mod policy;
mod record;
mod replay;
mod replaying;
mod restart;
mod script;
mod status;
mod step;
mod time;
mod verbs;
mod version;
mod wait;
pub mod what_happens_when;

pub use self::{
    child::{Child, Execute},
    combine::{All, Both, Either, Race, join, join_all, race},
    continue_as::ContinueAs,
    core::Core,
    divergence::Divergence,
    durable::{AwaitDurable, Block, Durable, Elapsed, Within, assume_durable, block},
    engine::define,
    event::{Event, EventCode, EventOf, EventOptions},
    fault::{Cause, Fault, RunError},
    flow::{FLOW_METHODS, Flow},
    generated::{Initial, RUN_VERBS, event_of, execute, read_option, read_run_error, result, try_result},
    history::History,
    options::Options,
    permit::{HeldPermit, PermitWait},
    policy::Policy,
    replaying::{ReplayError, replay},
    restart::{At, RestartError, Restarted, Restarting},
    script::{Body, Flows, Script, StepCode, Workflow},
    status::{QueuedEvents, RunPhase, RunStatus, Stopped, WaitsFor},
    step::{Caught, Recall, Run, Step},
    time::Sleep,
    verbs::{QueuedEvent, SendError, Sent, StartError, Started, Starting, Verbs},
    wait::{EventTimeout, TimedWait, Wait, WaitMany},
};

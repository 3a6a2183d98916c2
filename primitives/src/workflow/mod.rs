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
//! What it hands to a step must be the same, too. A `HashSet` has another order in each replay, and so has what is collected from a `HashMap`: the run would stop as
//! diverged. Use a `BTreeSet`, or sort it. (The fields of a map itself are compared whatever their order.)
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
//! # The state, changed from outside
//!
//! A function of the block with `&mut self` is an **update**, called by its name on the handle: `order.set_address(address).await`. It changes the
//! state that the body sees by [`Flow::look`], and answers when that is durable. It is tried on a copy first: an `Err` changes nothing
//! and records nothing, and its caller gets it, typed. One that is taken is recorded, and applied again at the same place in every replay;
//! so it has no services, and cannot wait. The body waits for what it wants to see by
//! [`flow.wait_until(|order| order.approvals >= 2)`](Flow::wait_until). A run that has ended, is stopped or on its way out refuses updates with
//! [`Error::Refused`](crate::Error::Refused), and so may one that goes on as one generation after another without waiting for anything: ask it
//! again. A helper of the author's own with `&mut self` goes into another `impl` block.
//!
//! # Undo
//!
//! `#[step(undo = refund)]` names the step of the block that takes back what this one has done. When the run fails, by an error of its body or by
//! a fault that it does not catch, or is cancelled, all that is due is undone, one after another, the last first, with the retries that the
//! undoing step has; then the run ends as it would have, with its own error. A success undoes nothing, and neither does `terminate`.
//!
//! - `async fn refund(charge: Charge, ..)` takes what the step returned: it is due for every success that is recorded.
//! - `async fn refund(card: Card, total: Money, charge: Option<Charge>, ..)` takes what the step took, and what it returned if that is known: it is
//!   due as well where nobody knows what became of it. It timed out, panicked, killed the process or could not be recorded; it was
//!   let go while it ran, because it lost a `select!`, its run ended, or was cancelled without waiting for it.
//!
//! Meanwhile the run is [`Undoing`](RunPhase::Undoing). An undo that fails for good keeps no other back:
//! [`RunStatus::undos_failed`] names it, and `workflow.undo_failed` tells listeners. What is done by the `#[cancelled]` body is not undone.
//!
//! # Long steps
//!
//! A step may take a [`Heartbeat`], and say by it that it is alive and how far it is; its next attempt goes on from there.
//!
//! # The end
//!
//! [`cancel`](Verbs::cancel) is Rust's: the body is dropped at its await. Steps that run end first, and what they came to is recorded; then what is
//! due is undone; then the `#[cancelled]` body runs, which may use steps, sleeps and the state; then the run is cancelled.
//! [`cancel_abandoning_steps`](Verbs::cancel_abandoning_steps) does not wait for steps: they are dropped, and what became of them is unknown. [`terminate`](Verbs::terminate) is at once and
//! runs nothing. All work on a run that is not in memory, paused, or stopped.
//!
//! # To rest, and to begin anew
//!
//! [`pause`](Verbs::pause) holds a run: steps that run end and are recorded, and nothing begins, fires or is taken until [`resume`](Verbs::resume). Events are
//! queued, updates are taken. What fell due meanwhile is due then, or later by the pause with [`resume_shifted`](Verbs::resume_shifted).
//!
//! A run may go through several **generations** under one key:
//!
//! - `flow.continue_as(..).await`, with the parameters of `run`, ends this one and begins the next, in one commit. Its journal is empty and its state is
//!   initial, so that a run can go on for ever; see [`ContinueAs`].
//! - [`restart`](Verbs::restart) does it from outside, with the same input, and `restart_with(..)` with another; also to a run that has ended.
//! - `restart_from(|at| at.charge(2))` keeps what was recorded before the second `charge`, and goes on there;
//!   `at.charge(2).with(receipt)` says what that step has returned, and it is not executed.
//!
//! Events that nobody took stay, unless [`drop_events`](crate::Call::drop_events) is said. What the old generation waited for and ran is let go, its awaited children
//! are cancelled, its permits come back; what comes of it later is not taken, and counted ([`RunStatus::late`]). It is not undone: what it did stands.
//!
//! # By the clock on the wall
//!
//! With the feature `cron` a workflow may have a schedule: `#[workflow(cron = "0 9 * * MON", zone = "Europe/Berlin", overlap = "skip")]`, and a body that takes
//! a `Tick`: `async fn run(flow: &Flow<Self>, tick: Tick)`. `client.report("eu").schedule()` schedules a key, for as long as nobody calls `unschedule()`. At each time
//! a run is started, once, under a key that follows from it: `eu@2026-11-16T08:00:00Z`. It is a run like any other; `tick.scheduled_for` is the time that it stands
//! for, whenever it begins, and `tick.schedule` is `eu`. The schedule itself is an entity, and no run.
//!
//! - A time that comes while the run before still goes: `overlap = "skip"` (unless said) leaves it out and counts it; `"queue"` starts it when that has
//!   ended, in whatever way, and at most 100 wait; `"parallel"` starts it all the same. A run that is stopped (`diverged`) or parked still goes.
//! - Times that passed while nothing ran: `missed = "once"` (unless said) makes up for all with one run, which stands for the last; `"skip"` and `"backfill"`
//!   do what they do for [`continuous`](crate::kinds::continuous).
//! - `schedule_status()` says when the next is, how many were started and skipped, which one goes and which wait.
//! - With another expression, times are counted from when it is there. Runs that go are not touched.
//!
//! # Changing the code
//!
//! Runs outlive deployments. What comes after the point that a run has reached may be changed freely; so may options, the bodies of steps, and how
//! long a sleep takes. Where the journal and the code part, the run stops as `diverged` with a [`Divergence`]: the place, what was expected,
//! what was found, the likely edit. Nothing is executed, events are still taken in, and with code that fits it goes on by itself.
//!
//! [`flow.version("fees", 1..=2)`](Flow::version) keeps both ways in the code: runs that had gone past that place take the old one, others the new one.
//!
//! To know before: [`history`](Verbs::history) of runs that matter, [saved](History::save) in a folder beside the tests, and there one line,
//! [`testing::replay_all`](crate::testing::replay_all). It executes nothing, and says of each file where today's code would part from it:
//!
//! ```no_run
//! # use drystone::{Flow, workflow};
//! # #[derive(Default, serde::Serialize, serde::Deserialize)] struct Checkout;
//! # #[workflow] impl Checkout { async fn run(flow: &Flow<Self>) {} }
//! // #[test]
//! // fn running_checkouts_go_on_with_this_code() {
//! drystone::testing::replay_all::<Checkout>("tests/histories/checkout").unwrap();
//! // }
//! ```
//!
//! # Testing it
//!
//! [`testing::World`](crate::testing::World) runs the app with a clock that moves by hand. [`testing::crash_everywhere`](crate::testing::crash_everywhere) runs a
//! test again with a crash before and after each of its commits, and finds the step that charges twice and the body that does not do the same again.
//!
//! # Defaults and limits
//!
//! | | unless said | says |
//! |---|---|---|
//! | attempts of a step | 3, from 1 s to 1 m apart, as long as they take | `#[step(max_attempts, backoff, timeout, give_up_after, retry_if, heartbeat)]` |
//! | time of a transactional step | 1 s, at most 10 s | `#[step(transaction, timeout = "5s")]` |
//! | code of the body's own | 1 attempt | `flow.run(..).max_attempts(..)` |
//! | deaths of the process with one run | 8 forgiven, the last 6 after a control each | `Options::crashes_max` |
//! | a run that has ended is kept for | 7 days | `#[workflow(retention = "30d")]` |
//! | events queued of one type for one run | 10,000, for 7 days; then `Full`, and expired | `#[event(max_queued, expires, keep)]` |
//! | unread events when the run ends | dead letters | `#[event(on_terminated = "discard")]` |
//! | a wait without a timeout | for ever | `.timeout("24h")` |
//! | times of a schedule that wait for a run to end | 100; then skipped | |
//! | entries of a journal | 50,000; `workflow.long` at 40,000 | |
//! | bytes of a journal | 64 MiB; `workflow.long` at four fifths | |
//! | operations outstanding at once | 4,096; `workflow.wide` at 3,276 | |
//! | an input, a result, the state | 1 MiB each, less 4 KiB | |
//! | what a heartbeat says | 64 KiB, stored once a second | |
//! | a run in memory that nothing uses | 5 s, then its next move replays it | `Options::evict_after` |
//!
//! # What it costs
//!
//! A run of n steps is n + 1 commits; a transactional step is one transaction more, which all that wait share; an event to a run that waits is one, and so is a sleep. A run in memory goes on without a replay; one that
//! is not costs one more read, of its journal.

mod ask;
mod brief;
mod called;
mod child;
mod combine;
mod continue_as;
mod core;
mod divergence;
mod durable;
mod engine;
mod event;
mod event_key;
mod fault;
mod flow;
mod generated;
mod heartbeat;
mod history;
mod journal;
mod live;
mod names;
mod nudge;
mod op;
mod options;
mod pending;
mod permit;
#[cfg(feature = "cron")]
mod plan;
mod policy;
mod record;
mod replay;
mod replay_all;
mod replaying;
mod restart;
mod script;
mod status;
mod step;
#[cfg(feature = "cron")]
mod tick;
mod time;
mod undo;
mod until;
mod update;
mod verbs;
mod version;
mod wait;
#[cfg(feature = "cron")]
mod wall;
pub mod what_happens_when;
mod written;

#[cfg(feature = "cron")]
pub use self::tick::{IsTick, ScheduleStatus, Tick, takes_tick};
pub(crate) use self::{brief::entries_in, heartbeat::Heart, record::Parent as Waiter};
pub use self::{
    called::CannotFail,
    child::{Child, Execute, Executes},
    combine::{All, Both, Either, Race, join, join_all, race},
    continue_as::ContinueAs,
    core::Core,
    divergence::Divergence,
    durable::{AwaitDurable, Block, Durable, Elapsed, Within, assume_durable, block},
    engine::define,
    event::{AnyKey, Event, EventCode, EventOf, EventOptions, KeyedTopic, TopicEvent},
    event_key::{KeyOf, Several, key_of_fields},
    fault::{Cause, Fault, RunError},
    flow::{FLOW_METHODS, Flow},
    generated::{
        Initial, RUN_VERBS, at_once, event_of, execute, is_named_once, read_option, read_run_error, recorded,
        recorded_result, result, try_result,
    },
    heartbeat::Heartbeat,
    history::History,
    options::Options,
    permit::{CaughtPermit, HeldPermit, PermitWait},
    policy::Policy,
    replay_all::{Misfit, ReplayAllError, replay_all},
    replaying::{ReplayError, replay},
    restart::{At, RestartError, Restarted, Restarting},
    script::{Body, Flows, Script, StepCode, Workflow},
    status::{QueuedEvents, RunPhase, RunStatus, Stopped, WaitsFor},
    step::{Caught, Plain, Recall, Run, Step},
    time::Sleep,
    undo::{FailedUndo, UndoCode, UndoTakes},
    until::WaitUntil,
    verbs::{EventsPage, QueuedEvent, SendError, Sent, StartError, Started, Starting, Verbs},
    wait::{EventTimeout, IsSaid, Said, TimedWait, Wait, WaitMany, WithoutItsKey},
};

//! Workflows: an async body whose progress survives a crash. Each step, sleep and event that the body
//! awaits is recorded when it ends. After a crash the body is replayed from these records, and resumes
//! where it stopped.
//!
//! A **run** is one key of a workflow. [`what_happens_when`] says what happens to a run when the process
//! dies, the code changes, time runs out or something comes twice.
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
//! - A step runs **at least once** and its outcome is **recorded once** (W1). The [work
//!   id](crate::Context::work_id) of a step is the same in every attempt and after every crash. Pass it to
//!   other systems as an idempotency key, and the effect happens once, too. A system that ignores the key
//!   may see the effect twice; no library can prevent that.
//! - A step with `#[step(transaction)]` writes the author's tables in the same file, in the same
//!   transaction as its record: **exactly once** (W6). See [`sql`](crate::sql).
//! - `start` and `send` answer when their effect is durable. A generation of a run ends once, with one
//!   result (L1).
//! - A deadline is a point in time, fixed when the body first reaches it (H1). It is never early, and no
//!   replay moves it.
//! - Events are queued in order until a wait takes them (V2), also while no wait exists. Events that are
//!   unread when their run ends become dead letters by default.
//! - A run that cannot continue says why, keeps everything it has, and resumes when it can: see
//!   [`RunStatus::stopped`].
//!
//! # The rules of a body
//!
//! Every replay runs the body again from its beginning, so the body must do the same each time. It **awaits
//! only durable futures**: steps, sleeps, waits, combinations of these, helpers of its `impl` and functions
//! with [`#[durable]`](crate::durable). A body uses no clock, no randomness, no spawned tasks and no
//! services. The macro refuses whatever it can see, and says what to write instead. Everything else is
//! noticed when the body rests, and stops the run. For time and random values there are [`Flow::now`],
//! [`Flow::random`] and [`Flow::uuid`]; for code without a name of its own there is [`Flow::run`]. Every
//! replay prints and logs again what the body prints and logs.
//!
//! The inputs of steps must be the same in every replay, too. A `HashSet` has another order in each replay,
//! and so has a list collected from a `HashMap`: the run would stop as diverged. Use a `BTreeSet`, or sort
//! the list. (The fields of a map itself are compared in any order.)
//!
//! A **failure** of a step is a value: `flow.charge(..).await` returns what the function returned. A
//! [`Fault`] (the last attempt timed out, panicked or was silent, or the outcome cannot be recorded) fails
//! the run, unless the body writes [`catch`](Step::catch).
//!
//! # Several at once
//!
//! - [`select!`](crate::select): the arm that ends first wins. One commit records the winner and releases
//!   the losers, with all deadlines, waits and steps. Running steps of a loser are dropped where they are.
//!   `&mut step` races a step that continues when it loses.
//! - [`join!`](crate::join) and [`join_all`] wait for all arms and return the outputs in order. They do not
//!   stop at an error: the body looks at the results afterwards.
//! - Each arm has its own names, so several arms may call the same step. Arms may be nested.
//! - In a body, `select!` and `join!` are the macros of this crate, without an import. Those of other
//!   crates are not durable.
//!
//! # Other entities, and children
//!
//! A body takes the clients of the app's other primitives as parameters, `stock: &Client<Stock>`, and calls
//! them through its flow:
//!
//! - `flow.call(stock.get("tea").put(2)).await` calls an entity; [`try_call`](Flow::try_call) calls an
//!   action that can fail. The changes and the answer of the call happen once, whatever happens to either
//!   process (M5): the call has an idempotency key, and its answer is remembered for 90 days in case the
//!   run cannot record it at once. A call that loses a `select!` may still take effect.
//! - `flow.permit(line.get("stripe").acquire()).await` holds a permit of a semaphore until the body drops
//!   it or the run ends, across crashes and without a lease.
//! - `flow.child(parcels.get("one").execute(order)).await` runs another workflow, and returns its result,
//!   or how it ended without a result (L6). The key of the child is made of this run's key and the given
//!   name, and meets no other key. The child starts in this run's commit, and its end reaches this run
//!   exactly once. Thousands of children may be awaited together. If this run ends first or releases the
//!   child, the child is cancelled, unless it was [abandoned](Child::abandon). A
//!   [detached](Child::detached) child is not awaited at all.
//!
//! Outside a body, `client.parcel("one").execute(order).await` starts a run, or finds the run with the same
//! input, and waits for its result.
//!
//! # The state, changed from outside
//!
//! A function of the block with `&mut self` is an **update**. Callers call it by its name on the handle:
//! `order.set_address(address).await`. An update changes the state that the body sees by [`Flow::look`],
//! and answers when the change is durable. An update is first tried on a copy of the state: an `Err`
//! changes and records nothing, and the caller gets the typed error. An accepted update is recorded, and
//! every replay applies it again at the same place. For this reason an update has no services and cannot
//! wait. The body waits for a change of its state by
//! [`flow.wait_until(|order| order.approvals >= 2)`](Flow::wait_until).
//!
//! A run that has ended, is ending or is stopped refuses updates with
//! [`Error::Refused`](crate::Error::Refused). A run that continues as one generation after another, without
//! waiting for anything, may refuse as well: ask again. Helpers of your own with `&mut self` belong in
//! another `impl` block.
//!
//! # Undo
//!
//! `#[step(undo = refund)]` names the step of the block that reverses this step. When the run fails (by an
//! error of its body or an uncaught fault) or is cancelled, the due undos run one after another, the last
//! first, with the retries of the undoing step. Then the run ends with its own error, as it would have
//! without undos. A success undoes nothing, and neither does `terminate`.
//!
//! - `async fn refund(charge: Charge, ..)` takes the output of the step. This undo is due for every
//!   recorded success.
//! - `async fn refund(card: Card, total: Money, charge: Option<Charge>, ..)` takes the inputs of the step,
//!   and its output if known. This undo is also due if the outcome of the step is unknown: the step
//!   timed out, panicked or could not be recorded, or it was released while it ran, because it lost a
//!   `select!`, its run ended, or a cancel did not wait for it.
//!
//! Meanwhile the run is [`Undoing`](RunPhase::Undoing). An undo that fails for good does not stop the other
//! undos: [`RunStatus::undos_failed`] lists it, and listeners get `workflow.undo_failed`. Steps of the
//! `#[cancelled]` body are not undone.
//!
//! # Long steps
//!
//! A step may take a [`Heartbeat`] to report that it is alive, and its progress. The next attempt continues
//! from there.
//!
//! # The end
//!
//! [`cancel`](Verbs::cancel) works like cancelling a future: the body is dropped at its await. Running
//! steps end first, and their outcomes are recorded; then the due undos run; then the `#[cancelled]` body
//! runs, which may use steps, sleeps and the state; then the run is cancelled.
//! [`cancel_abandoning_steps`](Verbs::cancel_abandoning_steps) does not wait for steps: they are dropped,
//! and their outcomes are unknown. [`terminate`](Verbs::terminate) ends the run at once and runs nothing.
//! All three work on a run that is paused, stopped, or not in memory.
//!
//! # To rest, and to begin anew
//!
//! [`pause`](Verbs::pause) holds a run. Running steps end and are recorded. No step begins, no timer fires
//! and no event is taken until [`resume`](Verbs::resume). Events are queued, and updates are accepted.
//! Deadlines that passed during the pause are due at `resume`; [`resume_shifted`](Verbs::resume_shifted)
//! moves them by the length of the pause.
//!
//! A run may go through several **generations** under one key:
//!
//! - `flow.continue_as(..).await`, with the parameters of `run`, ends this generation and begins the next,
//!   in one commit. The next generation has an empty journal and the initial state, so a run can continue
//!   forever; see [`ContinueAs`].
//! - [`restart`](Verbs::restart) begins a new generation from outside with the same input, and
//!   `restart_with(..)` with another input. Both also work on a run that has ended.
//! - `restart_from(|at| at.charge(2))` keeps the records before the second `charge`, and resumes there.
//!   `at.charge(2).with(receipt)` gives the result of that step, which is then not executed.
//!
//! Unread events stay queued, unless [`drop_events`](crate::Call::drop_events) is set. The waits and the
//! running steps of the old generation are released, its awaited children are cancelled, and its permits
//! come back. Late results of the old generation are dropped and counted ([`RunStatus::late`]). The old
//! generation is not undone: its effects stand.
//!
//! # By the clock on the wall
//!
//! With the feature `cron` a workflow may have a schedule:
//! `#[workflow(cron = "0 9 * * MON", zone = "Europe/Berlin", overlap = "skip")]`, with a body that takes a
//! `Tick`: `async fn run(flow: &Flow<Self>, tick: Tick)`. `client.report("eu").schedule()` schedules a key
//! until `unschedule()` is called. At each time of the schedule one run starts, under a key made of the
//! schedule's key and the time: `eu@2026-11-16T08:00:00Z`. The run is like any other run.
//! `tick.scheduled_for` is the scheduled time, whenever the run begins, and `tick.schedule` is `eu`. The
//! schedule itself is an entity, but not a run.
//!
//! - If the previous run is still going at a scheduled time, `overlap = "skip"` (default) skips and counts
//!   the time. `"queue"` starts the run when the previous run has ended in any way; at most 100 times are
//!   queued. `"parallel"` starts the run anyway. A run that is stopped (`diverged`) or parked counts as
//!   going.
//! - Times that passed while nothing ran: `missed = "once"` (default) starts a single run, for the last of
//!   these times. `"skip"` and `"backfill"` work as for [`continuous`](crate::kinds::continuous).
//! - `schedule_status()` shows the next time, how many runs were started and skipped, which run is going,
//!   and which times are queued.
//! - A changed expression applies from the moment it is deployed. Existing runs are not affected.
//!
//! # Changing the code
//!
//! Runs outlive deployments. You may freely change the code after the point that a run has reached, as well
//! as options, the code of steps, and the length of sleeps. Where the journal and the code differ, the run
//! stops as `diverged` with a [`Divergence`]: the place, what was expected, what was found, and the likely
//! edit. Nothing is executed, and events are still accepted. Code that fits resumes the run by itself.
//!
//! [`flow.version("fees", 1..=2)`](Flow::version) keeps both branches in the code: runs that were past that
//! place take the old branch, and all other runs take the new one.
//!
//! To find out before a deployment: take the [`history`](Verbs::history) of important runs,
//! [saved](History::save) in a folder beside the tests, and add a test with one line,
//! [`testing::replay_all`](crate::testing::replay_all). It executes nothing, and names for each file the
//! place where today's code would diverge:
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
//! [`testing::World`](crate::testing::World) runs the app on a clock that the test moves by hand.
//! [`testing::crash_everywhere`](crate::testing::crash_everywhere) runs a test again with a crash before
//! and after each of its commits. It finds a step that charges twice, and a body that is not deterministic.
//!
//! # Defaults and limits
//!
//! | | default | set by |
//! |---|---|---|
//! | attempts of a step | 3, 1 s to 1 m apart, no timeout | `#[step(max_attempts, backoff, timeout, ..)]` |
//! | time of a transactional step | 1 s, at most 10 s | `#[step(transaction, timeout = "5s")]` |
//! | attempts of `flow.run` | 1 | `flow.run(..).max_attempts(..)` |
//! | deaths of the process with one run | 8 forgiven; the 9th holds the run | `Options::crashes_max` |
//! | retention of a run that has ended | 7 days | `#[workflow(retention = "30d")]` |
//! | queued events of a type | 10,000 (then `Full`), for 7 days | `#[event(max_queued, expires, ..)]` |
//! | unread events when the run ends | dead letters | `#[event(on_terminated = "discard")]` |
//! | a wait without a timeout | forever | `.timeout("24h")` |
//! | times of a schedule that wait for a run to end | 100; further times are skipped | |
//! | entries of a journal | 50,000; `workflow.long` at 40,000 | |
//! | bytes of a journal | 64 MiB; `workflow.long` at four fifths | |
//! | operations outstanding at once | 4,096; `workflow.wide` at 3,276 | |
//! | an input, a result, the state | 1 MiB each, less 4 KiB | |
//! | progress reported by a heartbeat | 64 KiB, stored once a second | |
//! | time in memory of an unused run | 5 s, then its next move replays it | `Options::evict_after` |
//!
//! # What it costs
//!
//! A run of n steps is n + 1 commits. A transactional step adds one transaction, which all waiting steps
//! share. An event to a waiting run is one commit, and so is a sleep. A run in memory continues without a
//! replay; any other run costs one more read, of its journal.

mod body;
mod client;
mod definition;
mod engine;
mod record;
mod replay;
mod testing;
pub mod what_happens_when;

#[cfg(feature = "cron")]
pub use self::definition::tick::{IsTick, ScheduleStatus, Tick, takes_tick};
pub(crate) use self::{body::heartbeat::Heart, record::inline_journal::entries_in};
pub use self::{
    body::{
        call::CannotFail,
        child::{Child, Execute, Executes},
        combine::{All, Both, Either, Race, join, join_all, race},
        continue_as::ContinueAs,
        durable::{AwaitDurable, Block, Durable, Elapsed, Within, assume_durable, block},
        flow::Flow,
        heartbeat::Heartbeat,
        permit::{CaughtPermit, HeldPermit, PermitWait},
        sleep::Sleep,
        state_wait::WaitUntil,
        step::{Caught, Plain, Recall, Run, Step},
        wait::{EventTimeout, TimedWait, Wait, WaitMany},
    },
    client::{
        fault::{Cause, Fault, RunError},
        handle::{EventsPage, QueuedEvent, SendError, Sent, StartError, Started, Starting, Verbs},
        history::History,
        restart::{At, RestartError, Restarted, Restarting},
        status::{QueuedEvents, RunPhase, RunStatus, Stopped, WaitsFor},
    },
    definition::{
        generated::{
            Initial, at_once, event_of, execute, is_named_once, read_option, read_run_error, recorded, recorded_result,
            result, try_result,
        },
        options::Options,
        policy::Policy,
        script::{Body, Flows, Script, StepCode, Workflow},
    },
    engine::define,
    record::undo::{FailedUndo, UndoCode, UndoTakes},
    replay::{core::Core, divergence::Divergence},
    testing::{
        replay::{ReplayError, replay},
        replay_all::{Misfit, ReplayAllError, replay_all},
    },
};
pub use crate::event::{
    AnyKey, Event, EventCode, EventOf, EventOptions, KeyedTopic, TopicEvent,
    key::{IsSaid, KeyOf, Said, Several, WithoutItsKey, key_of_fields},
};
pub use drystone_syntax::names::{FLOW_METHODS, RUN_VERBS};

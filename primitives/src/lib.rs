//! Typed, durable building blocks for Rust, embedded in your program: there is no server to run.
//!
//! State that must survive is a struct; `#[primitive]` on its `impl` block chooses how it behaves. A process
//! that must run to its end, step by step, is a [`#[workflow]`](macro@workflow). An app lists its primitives
//! and workflows, and its typed client has one method for each of them. All state is kept in one SQLite
//! file, and everything resumes after a crash.
//!
//! ```
//! use drystone::{Context, Never, Primitives, d, primitive, testing::World};
//! use serde::{Deserialize, Serialize};
//!
//! /// A cart that reminds its owner.
//! #[derive(Default, Serialize, Deserialize)]
//! struct Cart {
//!     items: Vec<String>,
//!     reminders: u32,
//! }
//!
//! #[primitive(object)]
//! impl Cart {
//!     /// Adds an item and returns how many items the cart has.
//!     async fn put(&mut self, item: String, cx: &Context) -> usize {
//!         self.items.push(item);
//!         cx.alarm_in("3d");
//!         self.items.len()
//!     }
//!
//!     #[alarm]
//!     async fn remind(&mut self) -> Result<(), Never> {
//!         self.reminders += 1;
//!         Ok(())
//!     }
//! }
//!
//! #[derive(Primitives)]
//! struct App {
//!     cart: Cart,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let world = World::memory().start::<App>().await; // a real app: Runtime::sqlite("app.db").start::<App>().await?
//! let anna = world.client().cart("anna");
//! assert_eq!(anna.put("an apple".into()).await?, 1);
//! world.advance(d!("3d")).await;
//! assert_eq!(anna.state().await?.unwrap().reminders, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Choosing a primitive
//!
//! | you want | kind | you write | callers use |
//! |---|---|---|---|
//! | state with actions, perhaps an alarm | [`object`](kinds::object) | actions, `#[alarm]` | the actions |
//! | work that repeats on a schedule | [`continuous`](kinds::continuous) | `#[tick]` | `start`, `stop`, `resume`, `trigger` |
//! | items collected and handled together | [`buffer`](kinds::buffer) | `#[flush]`, perhaps `#[reduce]` | `add`, `flush`, `clear` |
//! | items handled one by one until they succeed | [`queue`](kinds::queue) | `#[process]` | `enqueue`, `pause`, `drain`, `stats` |
//! | at most n at a time, or n per second | [`semaphore`](kinds::semaphore) | nothing | `acquire`, `try_acquire`, `stats` |
//! | a process of several steps, over hours or days | [workflow](mod@workflow) | a body, `#[step]`s | `start`, `send`, `result`, `cancel` |
//! | another behaviour | [your own kind](kind) | its hooks | its verbs |
//!
//! [`recipes`] shows patterns such as debounce, throttle, singleton and concurrency per key.
//!
//! Every entity has [`start`](Handle::start), [`start_with`](Handle::start_with),
//! [`replace`](Handle::replace), [`state`](Handle::state), [`status`](Handle::status),
//! [`destroy`](Handle::destroy), [`explain`](Handle::explain), [`view`](Handle::view) and
//! [`unpark`](Handle::unpark).
//!
//! # What a function in the `impl` is
//!
//! - `async fn` with `&self` **reads**; with `&mut self` it **writes**. Writes to one key run one at a time,
//!   in order of arrival. A change is durable when the call answers. If the function returns an error, none
//!   of its changes are kept.
//! - Owned parameters are the **input** and need serde. `&T` is a **service** of the app
//!   ([`Services`](macro@Services)), also `&dyn Trait` (with async methods: see [`BoxFuture`]).
//!   `&`[`Context`] gives key, time, attempt, work id and the alarm. `&`[`Client`]`<Other>` calls another
//!   primitive.
//! - The error of an action reaches its caller, so it needs serde or is a [`Failure`]; `?` turns any error
//!   into a `Failure`. The error of a hook reaches no caller and can be any error type.
//! - A key is **bound** by its first write, by `#[create]`, by `start()` or by `start_with(state)`; a read
//!   never binds it. Functions with these attributes begin and end an entity:
//!   - `#[create] async fn subscribe(plan: Plan, billing: &dyn Billing, cx: &Context) -> Result<Self, E>` is
//!     a constructor and a method of the handle. On an unbound key it makes the state from its input; the
//!     alarm and events that it sets are part of the same commit. On a bound key it does not run, and
//!     answers as `start_with` does: see [`Started`].
//!   - `#[init] async fn new(config: &Config, cx: &Context) -> Self` makes the first state of a key from
//!     services, for calls that bring no state. Without an `#[init]` the state comes from `Default`, if the
//!     struct has it.
//!   - `#[destroy]` runs last, when the entity ends.
//! - Each primitive of an app has keys of its own: `cart("7")` and `user("7")` are two entities. With
//!   [`shared_keys`](Builder::shared_keys) they are one key, and the second call is refused. The store
//!   records the choice.
//! - A hook with `&mut self` holds the struct while it runs. A hook with `&self` does not hold it: the hook
//!   returns a value, and `#[apply] fn apply(&mut self, value: T)` then puts the value into the struct.
//!
//! # What a function in a `#[workflow]` impl is
//!
//! - `async fn run(flow: &Flow<Self>, input: T, ..) -> Result<R, E>` is the **body**. It awaits durable
//!   futures only: its steps as `flow.charge(..)`, `flow.sleep("24h")`, `flow.wait_for::<Approved>()`, and
//!   `select!`, `join!`, [`join_all`] of them. Its owned parameters are the parameters of `start`.
//! - `#[step] async fn charge(card: Card, payments: &Payments, cx: &Context) -> Result<Charge, PayError>`
//!   **acts**: a step has services and no `self`. It runs at least once, and its result is recorded once.
//! - `#[step(transaction)] fn book(cents: u64, sql: &mut Transaction<'_>) -> Result<(), Failure>` writes
//!   **tables of your own**, in the same file and exactly once: see [`sql`].
//! - `async fn` with `&self` is a **query** on the stored state. The struct is the state that a run shows,
//!   and its body changes the state by [`Flow::update`]. The struct needs `Default`, because every replay
//!   begins with the default.
//! - `#[cancelled] async fn cleanup(flow: &Flow<Self>)` is the body of a cancelled run. Any other `async fn`
//!   with a flow is a helper of the body, and a plain `fn` is an ordinary function. Events are types with
//!   [`#[derive(Event)]`](macro@Event), listed in `#[workflow(events(..))]`.
//!
//! See [the module](mod@workflow) for the guarantees, and [`workflow::what_happens_when`] for each situation
//! in turn.
//!
//! # What is promised
//!
//! Acknowledged means durable. Code that acts outside runs at least once, with a [work id](Context::work_id)
//! that is the same over retries and restarts; its changes to its struct are kept exactly once. Alarms never
//! ring early. A panic or a hang affects only its own entity, and an entity that keeps crashing the process
//! is held back. [`testing`] runs a whole app with a clock that moves by hand. A letter and a number in
//! brackets, such as (E5), name a law; `LAWS.md` in the repository lists all laws.

mod app;
mod client;
mod context;
#[cfg(feature = "cron")]
mod cron;
mod env;
mod event;
mod generated;
mod handler;
pub mod kind;
pub mod kinds;
mod planted;
mod primitive;
pub mod recipes;
pub mod sql;
mod system;
pub mod testing;
mod values;
pub mod workflow;

pub use drystone_macros::{Event, Primitives, Services, d, durable, join, primitive, select, workflow};
pub use drystone_runtime::{self as runtime, Error};

pub use client::entities;
pub use system::{dead_letters, topics};
pub use values::literal;

pub use app::services::{BoxFuture, Provide};
pub use app::{Builder, Runtime, Start};
pub use client::call::{Call, Calling};
pub use client::entities::Entities;
pub use client::error::CallError;
pub use client::events::{Events, LifecycleEvent};
pub use client::handle::Handle;
pub use client::view::{Meta, View};
pub use context::Context;
#[cfg(feature = "cron")]
pub use cron::Cron;
pub use env::Client;
pub use event::Event;
pub use kind::Started;
pub use kinds::{
    buffer::{Batch, Folded},
    queue::Item,
    semaphore::{AcquireError, Permit},
};
#[cfg(feature = "planted")]
pub use planted::{Bug, plant};
pub use primitive::{PartOf, Primitive, Primitives};
pub use sql::{SqlError, Transaction};
pub use system::dead_letters::DeadLetters;
pub use system::topics::{PublishError, Published, Topic};
pub use values::failure::{Failure, Never};
pub use values::retry::Retry;
pub use values::schedule::Schedule;
pub use values::stored::{Stored, StoredError};
pub use values::timestamp::Timestamp;
#[cfg(feature = "cron")]
pub use workflow::Tick;
pub use workflow::{EventTimeout, Fault, Flow, Heartbeat, RunError, Workflow, assume_durable, join_all};

pub(crate) use app::registrar::Registrar;
pub(crate) use client::args::{Args, Params};
pub(crate) use client::call::{Address, Desk};
pub(crate) use env::Env;
pub(crate) use primitive::{Acts, App, OfKind, Runs};
pub(crate) use values::stored::{decode, decode_part, encode};

/// The items that macro-generated code and custom kinds use. Apps do not need them.
pub mod author {
    pub use bytes::Bytes;
    pub use drystone_runtime::Definition;

    pub use super::{
        app::{registrar::Registrar, services::Same},
        client::{
            args::{Args, Params},
            call::{Address, Desk},
        },
        env::Env,
        generated::{
            AppliedAs, Begins, Fallback, FoldedFrom, HookError, IfDefault, Outcome, Probe, Taken, WithInit,
            action_ended, applied, created, fold, folded, hook_ended, made, not_a_verb, nothing, returned, sendable,
            taken,
        },
        handler::define,
        primitive::{
            Action, Acts, App, Code, Create, Given, HookCode, HookRun, Making, OfKind, Pure, Running, Runs, TakenBy,
            Thrown,
        },
        system::topics::{publish, topic, topic_of},
        values::stored::{Codec, Fieldless, decode, encode, fieldless, stored, stored_error},
    };
    pub use drystone_syntax::names::COMMON_VERBS;
}

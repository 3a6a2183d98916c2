//! Typed, durable building blocks for Rust that stand without a server.
//!
//! State that must survive is a struct; `#[primitive]` on its `impl` says how it behaves. What must get done to the end, step
//! by step, is a [`#[workflow]`](macro@workflow). An app is the list of both; its typed client has one method for each. Everything is kept in one SQLite file, and goes on after a crash.
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
//!     /// Puts an item in; how many there are then.
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
//! | something done again and again | [`continuous`](kinds::continuous) | `#[tick]` | `start`, `stop`, `resume`, `trigger` |
//! | items collected and handled together | [`buffer`](kinds::buffer) | `#[flush]`, perhaps `#[reduce]` | `add`, `flush`, `clear` |
//! | items handled one by one, each until it succeeds | [`queue`](kinds::queue) | `#[process]` | `enqueue`, `pause`, `drain`, `stats` |
//! | so many at once, or so many per second | [`semaphore`](kinds::semaphore) | nothing | `acquire`, `try_acquire`, `stats` |
//! | several things after each other, over days, to an end | [workflow](mod@workflow) | a body, `#[step]`s | `start`, `send`, `result`, `cancel` |
//! | something else | [your own](kind) | its hooks | its verbs |
//!
//! Patterns such as debounce, throttle, singleton and concurrency per key are [`recipes`].
//!
//! Every entity has [`start`](Handle::start), [`start_with`](Handle::start_with), [`replace`](Handle::replace),
//! [`state`](Handle::state), [`status`](Handle::status), [`destroy`](Handle::destroy), [`explain`](Handle::explain),
//! [`view`](Handle::view) and [`unpark`](Handle::unpark).
//!
//! # What a function in the `impl` is
//!
//! - `async fn` with `&self` **reads**, with `&mut self` **writes**: one at a time per key, in order. What it changes is durable when the
//!   call answers; if it returns an error nothing of it is kept.
//! - Owned parameters are the **input**: they need serde. `&T` is a **service** of the app ([`Services`](macro@Services)), also
//!   `&dyn Trait` (with async methods: see [`BoxFuture`]). `&`[`Context`] gives key, time, attempt, work id and the alarm; `&`[`Client`]`<Other>` calls another primitive.
//! - An error that reaches a caller is serde, or [`Failure`], which `?` makes of any error. An error that reaches nobody (of a hook) can
//!   be anything.
//! - A key is **bound** by its first write, by `#[create]`, by `start()` or by `start_with(state)`; a read never binds it.
//!   `#[create] async fn subscribe(plan: Plan, billing: &dyn Billing, cx: &Context) -> Result<Self, E>` is a constructor, and a method of the
//!   handle: on an unbound key it makes the state from its input, with the alarm and the events it says; on a bound key it does not run, and
//!   answers as `start_with` does: see [`Started`]. `#[init] async fn new(config: &Config, cx: &Context) -> Self` makes the first state of a key
//!   for a call that brings none, from services; without it `Default` does, if there is one. `#[destroy]` is the last thing an entity does.
//! - Each primitive of an app has keys of its own: `cart("7")` and `user("7")` are two entities. With
//!   [`shared_keys`](Builder::shared_keys) they are one key, and the second call is refused. The store records the choice.
//! - A hook with `&mut self` holds the struct while it runs. One with `&self` does not: it returns a value, and
//!   `#[apply] fn apply(&mut self, value: T)` takes it in afterwards.
//!
//! # What a function in a `#[workflow]` impl is
//!
//! - `async fn run(flow: &Flow<Self>, input: T, ..) -> Result<R, E>` is the **body**. It awaits only what is durable: its steps as `flow.charge(..)`,
//!   `flow.sleep("24h")`, `flow.wait_for::<Approved>()`, and `select!`, `join!`, [`join_all`] of them. Its owned parameters are those of `start`.
//! - `#[step] async fn charge(card: Card, payments: &Payments, cx: &Context) -> Result<Charge, PayError>` **acts**: it has services and no
//!   `self`, is executed at least once, and what it returns is recorded once.
//! - `#[step(transaction)] fn book(cents: u64, sql: &mut Transaction<'_>) -> Result<(), Failure>` writes **tables of your own**, in the same file and
//!   exactly once: see [`sql`].
//! - `async fn` with `&self` is a **query** on the stored state. The struct is what a run shows; its body changes it by [`Flow::update`], and it
//!   needs `Default`, for every replay begins with it.
//! - `#[cancelled] async fn cleanup(flow: &Flow<Self>)` is the body of a run that was cancelled. Any other `async fn` with a flow is a helper of the
//!   body, and a plain `fn` is yours. Events are types with [`#[derive(Event)]`](macro@Event), listed in `#[workflow(events(..))]`.
//!
//! See [the module](mod@workflow) for what holds and [`workflow::what_happens_when`] for what happens when.
//!
//! # What is promised
//!
//! Acknowledged is durable. Code that acts outside runs at least once, with a [work id](Context::work_id) that is the same over retries
//! and restarts; what it changes in its struct is kept exactly once. Alarms never ring early. A panic, a hang or a crash is borne by its
//! own entity. [`testing`] runs all of it with a clock that moves by hand. A letter and a number in brackets, (E5), name a law: `LAWS.md`
//! in the repository has them all.

mod app;
mod args;
mod build;
mod call;
mod context;
#[cfg(feature = "cron")]
mod cron;
pub mod dead_letters;
mod definitions;
pub mod entities;
mod env;
mod error;
mod events;
mod failure;
mod file_wait;
mod generated;
mod halt;
mod handle;
mod handler;
mod inspect;
mod json;
mod key_space;
pub mod kind;
pub mod kinds;
pub mod literal;
mod planted;
mod primitive;
pub mod recipes;
mod registrar;
mod retry;
mod schedule;
mod services;
pub mod sql;
mod stored;
pub mod testing;
mod timestamp;
pub mod topics;
mod view;
pub mod workflow;

pub use drystone_macros::{Event, Primitives, Services, d, durable, join, primitive, select, workflow};
pub use drystone_runtime::{self as runtime, Error};

pub use app::{Builder, Runtime, Start};
pub use call::{Call, Calling};
pub use context::Context;
#[cfg(feature = "cron")]
pub use cron::Cron;
pub use dead_letters::DeadLetters;
pub use entities::Entities;
pub use env::Client;
pub use error::CallError;
pub use events::{Events, LifecycleEvent};
pub use failure::{Failure, Never};
pub use handle::Handle;
pub use kind::Started;
pub use kinds::{
    buffer::{Batch, Folded},
    queue::Item,
    semaphore::{AcquireError, Permit},
};
#[cfg(feature = "planted")]
pub use planted::{Bug, plant};
pub use primitive::{PartOf, Primitive, Primitives};
pub use retry::Retry;
pub use schedule::Schedule;
pub use services::{BoxFuture, Provide};
pub use sql::{SqlError, Transaction};
pub use stored::{Stored, StoredError};
pub use timestamp::Timestamp;
pub use topics::{PublishError, Published, Topic};
pub use view::{Meta, View};
#[cfg(feature = "cron")]
pub use workflow::Tick;
pub use workflow::{Event, EventTimeout, Fault, Flow, Heartbeat, RunError, Workflow, assume_durable, join_all};

pub(crate) use args::{Args, Params};
pub(crate) use call::{Address, Desk};
pub(crate) use env::Env;
pub(crate) use primitive::{Acts, App, OfKind, Runs};
pub(crate) use registrar::Registrar;
pub(crate) use stored::{decode, decode_part, encode};

/// What the code that the macros make is written with, and what a kind of one's own names. Authors of apps need nothing of
/// it.
pub mod author {
    pub use bytes::Bytes;
    pub use drystone_runtime::Definition;

    pub use crate::{
        args::{Args, Params},
        call::{Address, Desk},
        env::Env,
        generated::{
            AppliedAs, Begins, Fallback, FoldedFrom, HookError, IfDefault, Outcome, Probe, Taken, WithInit,
            action_ended, applied, created, fold, folded, hook_ended, made, not_a_verb, nothing, returned, sendable,
            taken,
        },
        handler::{COMMON_VERBS, define},
        primitive::{
            Action, Acts, App, Code, Create, Given, HookCode, HookRun, Making, OfKind, Pure, Running, Runs, TakenBy,
            Thrown,
        },
        registrar::Registrar,
        services::Same,
        stored::{Codec, Fieldless, decode, encode, fieldless, stored, stored_error},
        topics::{publish, topic, topic_of},
    };
}

//! A whole app in a test, with a clock that moves by hand (X1).
//!
//! A [`World`] runs the app in this process, on memory or on a SQLite file, on the thread of the test and in
//! its runtime. Time stands still until the test lets it pass. [`advance`](World::advance) moves from one
//! due time to the next, and returns when nothing is left to do. An hour takes only as long as the work in
//! it.
//!
//! ```
//! use drystone::{Context, Primitives, Services, d, primitive, testing::{Log, Moment, World}};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Default, Serialize, Deserialize)]
//! struct Cart {
//!     items: Vec<String>,
//! }
//!
//! #[primitive(object)]
//! impl Cart {
//!     async fn put(&mut self, item: String, cx: &Context) -> usize {
//!         cx.alarm_in(d!("1h"));
//!         self.items.push(item);
//!         self.items.len()
//!     }
//!
//!     #[alarm]
//!     async fn abandoned(&mut self, mail: &Log, cx: &Context) -> Result<(), std::io::Error> {
//!         mail.say(format!("{}, you left {}", cx.key_text(), self.items.join(", ")));
//!         Ok(())
//!     }
//! }
//!
//! #[derive(Primitives)]
//! struct App {
//!     cart: Cart,
//! }
//!
//! #[derive(Services)]
//! struct Fakes {
//!     mail: Log, // a fake that only writes a log
//! }
//!
//! # drystone::testing::block_on(async {
//! // #[tokio::test]
//! // async fn an_abandoned_cart_is_remembered() {
//! let mail = Log::default();
//! let world = World::memory().services(Fakes { mail: mail.clone() }).start::<App>().await;
//! world.client().cart("ada").put("tea".into()).await.unwrap();
//! world.advance(d!("59m")).await;
//! assert!(mail.take().is_empty());
//!
//! world.crash_at_commit(1, Moment::Before); // the mail goes out, then the process dies
//! world.advance(d!("1m")).await;
//! assert!(world.is_dead());
//! world.restart().await;
//! assert_eq!(mail.take(), ["ada, you left tea", "ada, you left tea"]); // at least once (A2)
//! # });
//! ```
//!
//! # What holds here
//! - While the test's own code runs, the world stands still; while the test awaits something of the world,
//!   the world runs. A call is answered when nothing is left to do at that time: after `put(..).await`, all
//!   immediate consequences of the call have happened.
//! - Nothing is random, and the keys that `start_new` makes are the same every time: a test on one thread
//!   (`#[tokio::test]`, or [`block_on`] in a plain `#[test]`) does the same in each run. A world also works on
//!   several threads; then the order in which they ask decides.
//! - The world does not wait for code that waits for something else than the world: a [`Latch`], a real
//!   timer, a socket. Time passes without that code. Fakes that take time get it from [`Setup::clock`].
//! - A test that would wait forever panics and says why: if code spins, or if nothing moves for a while of
//!   real time.
//! - The kernel is the real one. Only invisible chores run once a day: renewing leases that nobody else
//!   wants, sweeping, looking for code that blocks.
//!
//! # A crash at every commit
//! [`crash_everywhere`] takes the body of such a test and runs it with a crash before and after each of its
//! commits, with everything forgotten before every turn, and with every call made twice. It reports the
//! first run with a different result, and what had happened until then. The transaction of a transactional
//! step is such a commit; in this case the test runs on SQLite.
//!
//! Code that blocks its thread, such as `std::thread::sleep`, blocks the test.

mod clock;
mod crash_everywhere;
mod difference;
mod latch;
mod log;
mod machine;
mod setup;
mod store;
mod trace;
mod trial;
mod world;

use drystone_runtime::Registry;

use crate::{App, Error, Transaction};

pub use clock::Clock;
pub use crash_everywhere::{Survived, crash_everywhere};
pub use difference::{CrashError, Difference};
pub use drystone_runtime::driver::block_on;
pub use latch::Latch;
pub use log::Log;
pub use machine::driver::WorldDriver;
pub use machine::executor::{Executor, Process};
pub use setup::{Begin, Setup};
pub use store::{Fault, Moment};
pub use trial::Disturbance;
pub use world::World;

pub use crate::workflow::{Misfit, ReplayAllError, ReplayError, replay, replay_all};

/// Runs code in a transaction on an empty database in memory, and forgets its writes. So a transactional
/// step can be tested as a plain function.
///
/// ```
/// # use drystone::{SqlError, Transaction, testing};
/// # struct Sale;
/// # impl Sale {
/// #     fn book(cents: u64, sql: &mut Transaction<'_>) -> Result<usize, SqlError> {
/// #         sql.execute("INSERT INTO ledger VALUES (?1)", (cents,))
/// #     }
/// # }
/// testing::transaction(|sql| {
///     sql.execute("CREATE TABLE ledger (cents INTEGER NOT NULL)", ()).unwrap();
///     assert_eq!(Sale::book(42, sql), Ok(1));
/// });
/// ```
pub fn transaction<T>(code: impl FnOnce(&mut Transaction<'_>) -> T) -> T {
    match drystone_runtime::store::Sqlite::rehearse(|statements| code(&mut Transaction::new(statements))) {
        Ok(value) => value,
        Err(error) => panic!("no database in memory: {error}"),
    }
}

/// Returns the definitions of an app with these services, for a kernel that the caller runs. The definitions
/// of the dead letters and topics are included.
pub fn registry<D: Send + Sync + 'static, A: App<D>>(services: D) -> Result<Registry, Error> {
    crate::app::registry::<D, A>(services, false)
}

/// The same as [`registry`], with [shared keys](crate::Builder::shared_keys).
pub fn registry_with_shared_keys<D: Send + Sync + 'static, A: App<D>>(services: D) -> Result<Registry, Error> {
    crate::app::registry::<D, A>(services, true)
}

/// Returns the definition of all topics with other slice sizes than those of an app. The commit that
/// publishes looks at `first` watchers, and each commit after it at `next` (T5). So a simulator sees many
/// slices with few watchers.
#[doc(hidden)]
pub fn topics_in_slices(first: u32, next: u32) -> drystone_runtime::Definition {
    crate::system::topics::in_slices(crate::system::topics::Slices { first, next })
}

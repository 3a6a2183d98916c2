//! Recipes for well-known patterns, each a few lines with the existing kinds. Every recipe runs as a test.
//!
//! # Debounce: once, when it has been quiet for a while
//!
//! A buffer whose deadline moves with every item, and which keeps only the last item.
//!
//! ```
//! use drystone::{Folded, Never, Primitives, d, primitive, testing::World};
//!
//! /// A search index, and the versions of the page that it was given.
//! #[derive(Default, serde::Serialize, serde::Deserialize)]
//! struct Index(Vec<u32>);
//!
//! #[primitive(buffer, max_wait = "2s", reset_on_add, max_items = 10_000)]
//! impl Index {
//!     #[reduce]
//!     fn last(kept: &mut u32, version: u32) {
//!         *kept = version;
//!     }
//!
//!     #[flush]
//!     async fn update(&mut self, page: Folded<u32>) -> Result<(), Never> {
//!         self.0.push(page.value);
//!         Ok(())
//!     }
//! }
//!
//! #[derive(Primitives)]
//! struct App {
//!     index: Index,
//! }
//!
//! # drystone::testing::block_on(async {
//! let world = World::memory().start::<App>().await;
//! let page = world.client().index("home");
//! for version in 1..=5 {
//!     page.add(version).await.unwrap();
//!     world.advance(d!("1s")).await; // never quiet for two seconds
//! }
//! world.advance(d!("2s")).await;
//! assert_eq!(page.state().await.unwrap().unwrap().0, [5]);
//! # });
//! ```
//!
//! # Throttle: at most once in a while, with the latest
//!
//! The same buffer without `reset_on_add`: the first item sets the time, and the last item is handled. For
//! calls that must not be merged, a [rate limit](crate::kinds::semaphore) makes callers wait instead.
//!
//! ```
//! use drystone::{Folded, Never, Primitives, d, primitive, testing::World};
//!
//! /// A dashboard that is redrawn every ten seconds at most.
//! #[derive(Default, serde::Serialize, serde::Deserialize)]
//! struct Dashboard(Vec<u32>);
//!
//! #[primitive(buffer, max_wait = "10s", max_items = 1_000_000, max_stored = 1_000_000)]
//! impl Dashboard {
//!     #[reduce]
//!     fn last(kept: &mut u32, value: u32) {
//!         *kept = value;
//!     }
//!
//!     #[flush]
//!     async fn draw(&mut self, values: Folded<u32>) -> Result<(), Never> {
//!         self.0.push(values.value);
//!         Ok(())
//!     }
//! }
//!
//! #[derive(Primitives)]
//! struct App {
//!     dashboard: Dashboard,
//! }
//!
//! # drystone::testing::block_on(async {
//! let world = World::memory().start::<App>().await;
//! let sales = world.client().dashboard("sales");
//! for value in 0..25 {
//!     sales.add(value).await.unwrap();
//!     world.advance(d!("1s")).await;
//! }
//! assert_eq!(sales.state().await.unwrap().unwrap().0, [9, 19]);
//! # });
//! ```
//!
//! # Singleton: one at a time, everywhere
//!
//! A semaphore with one permit is a lock. If its holder crashes, the lock is free when the lease ends. Its
//! fencing token shows the order of holders to other systems.
//!
//! ```
//! use drystone::{Primitives, primitive, testing::World};
//!
//! #[primitive(semaphore, permits = 1, lease = "30s")]
//! struct Migration;
//!
//! #[derive(Primitives)]
//! struct App {
//!     migration: Migration,
//! }
//!
//! # drystone::testing::block_on(async {
//! let world = World::memory().start::<App>().await;
//! let lock = world.client().migration("2026-11");
//! let permit = lock.try_acquire().await.unwrap().expect("nobody holds it");
//! assert!(lock.try_acquire().await.unwrap().is_none());
//! permit.release().await.unwrap();
//! assert!(lock.try_acquire().await.unwrap().is_some());
//! # });
//! ```
//!
//! For a *job* that must not be queued twice, set a dedup key:
//! `Enqueue::new().dedup("report-2026-11", d!("1d"))`.
//!
//! # Concurrency per key: so many for each customer
//!
//! A queue is a key, and `concurrency` is per key: give each customer a queue, and no customer waits for
//! another.
//!
//! ```
//! use drystone::{Item, Primitives, Services, primitive, testing::{Latch, World}};
//!
//! #[derive(Default, serde::Serialize, serde::Deserialize)]
//! struct Exports;
//!
//! #[primitive(queue, concurrency = 2)]
//! impl Exports {
//!     #[process]
//!     async fn export(&self, _item: Item<u32>, slow: &Latch) -> Result<(), String> {
//!         slow.clone().wait().await;
//!         Ok(())
//!     }
//! }
//!
//! #[derive(Services)]
//! struct Deps {
//!     slow: Latch,
//! }
//!
//! #[derive(Primitives)]
//! struct App {
//!     exports: Exports,
//! }
//!
//! # drystone::testing::block_on(async {
//! let slow = Latch::default();
//! let world = World::memory().services(Deps { slow: slow.clone() }).start::<App>().await;
//! for customer in ["anna", "bob"] {
//!     world.client().exports(customer).enqueue_many([1, 2, 3]).await.unwrap();
//! }
//! for customer in ["anna", "bob"] {
//!     let stats = world.client().exports(customer).stats().await.unwrap();
//!     assert_eq!((stats.running, stats.waiting), (2, 1));
//! }
//! slow.open();
//! world.client().exports("bob").drain().await.unwrap();
//! # });
//! ```
//!
//! To limit all customers together, let the code take a permit of a semaphore:
//! `async fn export(&self, item: Item<u32>, limit: &Client<Limit>)` with
//! `let _permit = limit.get("all").acquire().await?;`.
//!
//! # One after another, exactly once at every hop
//!
//! A message is part of its sender's commit and is taken in its receiver's commit (M1). So
//! `billing.send(billing.get("all").enqueue_many(batch.items))` in a flush enqueues the batch once, if and
//! only if the flush succeeds. See the example `pipeline`.

//! Topics: events for every run that waits for them (T).
//!
//! An event with `#[event(topic)]` can be published: by `client.publish(event)`, by `flow.publish(event)` in
//! a body, or by `cx.publish(event)` in any other code. The topic delivers the event to runs that wait for
//! it with `flow.wait_for::<Paid>()`, as if it had been sent to each of them. The publisher need not know
//! these runs.
//!
//! ```
//! use drystone::{Event, Flow, Primitives, d, testing::World, workflow};
//! use serde::{Deserialize, Serialize};
//!
//! /// Money has come for an order: every run that waits for this order gets the event.
//! #[derive(Event, Serialize, Deserialize)]
//! #[event(topic, key = order)]
//! struct Paid { order: String, cents: u64 }
//!
//! #[derive(Default, Serialize, Deserialize)]
//! struct Shipping;
//!
//! #[workflow(events(Paid))]
//! impl Shipping {
//!     async fn run(flow: &Flow<Self>, order: String) -> u64 {
//!         let paid = flow.wait_for::<Paid>().key(order).await;
//!         paid.cents
//!     }
//! }
//!
//! #[derive(Primitives)]
//! struct App { shipping: Shipping }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let world = World::memory().start::<App>().await;
//! let run = world.client().shipping("parcel-1");
//! run.start("order-9".into()).await.unwrap();
//! let published = world.client().publish(Paid { order: "order-9".into(), cents: 1200 }).await.unwrap();
//! assert_eq!((published.number, published.waiting), (1, 1));
//! assert_eq!(run.result().await.unwrap(), 1200);
//! # }
//! ```
//!
//! A topic is an ordinary entity. Each value of the fields named by `key` has a topic of its own. An event
//! exists from the commit that publishes it and gives it the next number. This commit costs the same however
//! many runs wait: the runs are notified in slices, each in a commit of its own.
//!
//! | option | default | |
//! |---|---|---|
//! | `deliver` | `"all"` | `"all"` is a log: every wait gets the event. `"one"` is a work queue: the longest waiting wait gets it |
//! | `from` | `"wait"` | where a wait begins to read a log: with what is published after the wait began (`"wait"`), after its run began (`"created"`), or with the oldest kept event (`"start"`) |
//! | `keep_for` | `"7d"` | how long events are kept. Expired events of a log are removed and counted; an expired event of a work queue that was not taken becomes a dead letter |
//! | `max_pending` | 10,000 | of a work queue, how many events wait to be taken: beyond that, publishing is refused. Of a log, how many events are kept: beyond that, the oldest is removed and counted |
//! | `key` | none | the field by which events of this type are told apart, or several fields, `key = (shop, order)`. Each key has a topic of its own |
//!
//! - A run sees each event of a log once, in order. Events that were sent to the run directly come first
//!   (T6).
//! - An event that was published before the deadline of a wait wins over the deadline, whenever it is
//!   delivered (T4).
//! - If an event of a work queue comes to a run that has ended or no longer waits, the run gives the event
//!   back, and the next wait gets it.
//! - Lost events are counted in the topic's [status](TopicStatus), and listeners are notified
//!   (`topic.expired`, `topic.trimmed`). A topic that has nothing left but these counts stays for another
//!   `keep_for`. Then the topic is removed with its counts, and numbers begin again.
//! - [`Topic`] shows the waits, the published events, and their deliveries. [`which_event_goes_where`] has a
//!   picture.

mod client;
mod expiring;
mod handler;
mod looking;
mod passing;
mod publishing;
mod record;
#[cfg(test)]
mod tests;
mod turn;
mod watching;
pub mod which_event_goes_where;
pub(crate) mod wire;

use std::sync::Arc;

use bytes::Bytes;
use drystone_runtime::{Definition, Name, Registry};

pub(crate) use self::{passing::Slices, publishing::EVENT_BYTES_MAX};
pub use client::{
    Deliveries, Delivery, Place, PublishError, Published, PublishedEvent, Topic, TopicStatus, WatcherShown, Watchers,
};
#[doc(hidden)]
pub use client::{publish, topic, topic_of};

/// The definition of all topics.
pub(crate) const DEFINITION: Name = Name::new("drystone:topics");

/// The space of the keys of topics.
const SPACE: Name = DEFINITION;

/// Registers the definition of all topics.
pub(crate) fn registered(registry: Registry) -> Registry {
    registry.with(in_slices(Slices::SHIPPED))
}

/// Returns the definition of all topics, with slices of these sizes.
pub(crate) fn in_slices(slices: Slices) -> Definition {
    Definition {
        name: DEFINITION,
        kind: Name::new("topic"),
        space: SPACE,
        config: Bytes::from_static(b"{}"),
        handler: Arc::new(handler::Topics(slices)),
    }
}

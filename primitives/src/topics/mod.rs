//! Topics: events to whoever waits (T).
//!
//! An event with `#[event(topic)]` can be published, by `client.publish(event)`, by `flow.publish(event)` in a body, by
//! `cx.publish(event)` in any other code. It goes to runs that wait for it with `flow.wait_for::<Paid>()`, as if it had been sent to each
//! of them; nobody need know who they are.
//!
//! ```
//! use drystone::{Event, Flow, Primitives, d, testing::World, workflow};
//! use serde::{Deserialize, Serialize};
//!
//! /// Money has come for an order: all who wait for this order hear of it.
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
//! A topic is an ordinary entity, one for each key: that of the fields which `key` names. An event exists from the commit that publishes
//! it, which gives it the next number; that costs the same whoever waits, and those who wait are told in slices, each a commit.
//!
//! | option | default | |
//! |---|---|---|
//! | `deliver` | `"all"` | to all who wait, a log; or `"one"`, to the one who waits longest, a work queue |
//! | `from` | `"wait"` | of a log: a wait takes what is published after it; or after its run began, `"created"`; or the oldest that is kept, `"start"` |
//! | `keep_for` | `"7d"` | how long events are kept; what nobody has got by then, of those for one, is a dead letter; of a log it is gone, counted |
//! | `max_pending` | 10,000 | how many events of a topic wait for the one who takes them; then publishing is refused. Of a log: how many are kept; the oldest goes, counted |
//! | `key` | none | a field by which events of this type are told apart, or several, `key = (shop, order)`: a topic for each |
//!
//! - A run sees an event of a log once, in order. What was sent to it directly comes first (T6).
//! - An event that was published before the deadline of a wait wins over it, whenever it is delivered (T4).
//! - A run that waits for an event for one, and is gone or goes on when it comes, gives it back, and the next gets it.
//! - What is lost is counted in the topic's [status](TopicStatus), and told as it happens (`topic.expired`, `topic.trimmed`). A topic that has
//!   nothing else left is there for another `keep_for` with its counts; then it is gone with them, and numbers begin anew.
//! - [`Topic`] shows who waits, what was published, and who got it. [`which_event_goes_where`] has a picture.

mod client;
mod expiring;
mod handler;
mod looking;
mod options;
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

pub(crate) use self::{
    options::{Deliver, From, TopicOptions},
    passing::Slices,
    publishing::EVENT_BYTES_MAX,
};
pub use client::{
    Deliveries, Delivery, Place, PublishError, Published, PublishedEvent, Topic, TopicStatus, WatcherShown, Watchers,
};
#[doc(hidden)]
pub use client::{publish, topic, topic_of};

/// The definition of all topics.
pub(crate) const DEFINITION: Name = Name::new("drystone:topics");

/// The space of their keys.
const SPACE: Name = DEFINITION;

/// With topics.
pub(crate) fn registered(registry: Registry) -> Registry {
    registry.with(in_slices(Slices::SHIPPED))
}

/// The definition of all topics.
pub(crate) fn in_slices(slices: Slices) -> Definition {
    Definition {
        name: DEFINITION,
        kind: Name::new("topic"),
        space: SPACE,
        config: Bytes::from_static(b"{}"),
        handler: Arc::new(handler::Topics(slices)),
    }
}

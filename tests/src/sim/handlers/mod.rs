//! Toys: simple kinds, written against the kernel's public `Handler` trait. Toys record all inputs, so the
//! durable state shows the whole course of events: how often, in what order, and when.

mod alarmist;
mod caller;
pub mod codec;
mod counter;
mod letters;
mod line;
mod relay;
mod stage;
mod ticker;
mod uid;
mod worker;

use std::sync::Arc;

use bytes::Bytes;
use drystone_runtime::{Definition, Error, Handler, Key, Next, Registry, Reply, Ticket, To};

pub use alarmist::Alarms;
pub use caller::{Visit, Way};
pub use counter::{List, OBITUARY};
pub use letters::Pile;
pub use line::Queue;
pub use relay::{Kind, Post};
pub use stage::{Fate, Stage};
pub use ticker::{Beat, Ticks};
pub use uid::Uid;
pub use worker::{End, Ended, Job};

use super::drawing::roster::SPACE;

/// The registry of one process with all toys.
pub fn registry(stage: &Stage) -> Registry {
    let toys: [(&'static str, Arc<dyn Handler>); 8] = [
        ("counter", Arc::new(counter::Counter(stage.clone()))),
        ("relay", Arc::new(relay::Relay(stage.clone()))),
        ("alarmist", Arc::new(alarmist::Alarmist)),
        ("ticker", Arc::new(ticker::Ticker(stage.clone()))),
        ("worker", Arc::new(worker::Worker(stage.clone()))),
        ("line", Arc::new(line::Line)),
        ("caller", Arc::new(caller::Caller(stage.clone()))),
        ("letters", Arc::new(letters::Letters(stage.clone()))),
    ];
    let registry = toys.into_iter().fold(Registry::new(), |registry, (name, handler)| {
        registry.with(Definition { name: name.into(), kind: name.into(), space: SPACE, config: Bytes::new(), handler })
    });
    registry.dead_letters("letters", stage.world.cast.letters().clone())
}

/// The reply to a caller. A message has no ticket and so gets no reply.
fn answer(ticket: Option<Ticket>, reply: Reply) -> Vec<(To, Reply)> {
    ticket.map(|ticket| (To::Ticket(ticket), reply)).into_iter().collect()
}

fn malformed(verb: &str) -> Next {
    Next::Refuse(Error::Malformed { verb: verb.to_owned(), reason: "not a toy's input".to_owned() })
}

fn unknown_verb(definition: &str, verb: &str) -> Next {
    let (definition, verb) = (definition.to_owned(), verb.to_owned());
    Next::Refuse(Error::UnknownVerb { definition, verb, known: Vec::new() })
}

/// The refusal on an unbound key. A handler does not get the key there, so the error has a placeholder.
fn not_bound() -> Next {
    Next::Refuse(Error::NotBound { key: Key { space: SPACE, key: Bytes::from_static(b"?") } })
}

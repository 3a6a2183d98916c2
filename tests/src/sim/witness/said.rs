//! What topics and runs say to one another, and to the dead letters, as far as it is about an event or a wait.

use std::collections::BTreeMap;

use drystone_runtime::{
    DeadLetter, MessageId, Millis,
    store::{Outgoing, Write},
};
use serde::Deserialize;

use super::topics::{By, Delivered, Numbered, Wait};
use crate::sim::authors::LETTERS;

/// What a message says.
#[derive(Debug)]
pub(super) enum Said {
    /// An event is for a wait.
    Delivered(Delivered),
    /// An event goes back to its topic.
    Declined(u64),
    /// An event is to be published.
    Published(u64),
    /// An event is dead.
    Buried(u64),
    /// A message is dead, and what it carried with it: its receiver refused it as often as it is tried.
    Died(u64),
    /// A run begins to wait.
    Watch(Watch),
    /// A wait is over, or its time is up.
    Leave(Leave),
    /// Nothing more will come for a wait.
    Left(By),
}

/// A run begins to wait.
#[derive(Debug, Deserialize)]
pub(super) struct Watch {
    /// The wait.
    pub wait: Wait,
    /// Where it begins to read.
    pub cursor: Cursor,
}

/// A wait is over.
#[derive(Debug, Deserialize)]
pub(super) struct Leave {
    /// The wait.
    pub wait: Wait,
    /// Whether it is told when it has left.
    pub is_answered: bool,
}

/// Where a wait begins to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cursor {
    Next,
    After(Seen),
    Since(i64),
    Oldest,
}

/// Which event of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Seen {
    pub birth: i64,
    pub number: u64,
}

#[derive(Deserialize)]
struct Carried {
    event: Numbered,
}

#[derive(Deserialize)]
struct Dead {
    payload: Numbered,
}

#[derive(Deserialize)]
struct Left {
    to: By,
}

/// Messages under way, and when they were sent.
#[derive(Default)]
pub(super) struct Post(BTreeMap<MessageId, (Said, Millis)>);

/// What one write takes and sends.
#[derive(Default)]
pub(super) struct Exchange {
    /// Messages that it takes, and when they were sent.
    pub taken: Vec<(Said, Millis)>,
    /// Messages that it sends.
    pub sent: Vec<MessageId>,
}

impl Said {
    fn of(sent: &Outgoing) -> Option<Self> {
        if sent.verb == "letter" {
            let letter = DeadLetter::decode(&sent.body)?;
            return Self::read(&letter.verb, &letter.body)?.event().map(Self::Died);
        }
        Self::read(&sent.verb, &sent.body).filter(|said| !matches!(said, Self::Buried(_)) || sent.to == LETTERS)
    }

    fn read(verb: &str, body: &[u8]) -> Option<Self> {
        Some(match verb {
            "topic:event" => Self::Delivered(serde_json::from_slice(body).ok()?),
            "topic:declined" => Self::Declined(serde_json::from_slice::<Carried>(body).ok()?.event.number),
            "publish" => Self::Published(published_in(body)?),
            "event" => Self::Buried(serde_json::from_slice::<[Dead; 1]>(body).ok()?[0].payload.number),
            "topic:watch" => Self::Watch(serde_json::from_slice(body).ok()?),
            "topic:leave" => Self::Leave(serde_json::from_slice(body).ok()?),
            "topic:left" => Self::Left(serde_json::from_slice::<Left>(body).ok()?.to),
            _ => return None,
        })
    }

    /// The event that it carries.
    pub(super) fn event(&self) -> Option<u64> {
        match self {
            Self::Delivered(delivered) => Some(delivered.event.number),
            Self::Declined(value) | Self::Published(value) | Self::Buried(value) | Self::Died(value) => Some(*value),
            Self::Watch(_) | Self::Leave(_) | Self::Left(_) => None,
        }
    }
}

/// The event in what is to be published.
pub(crate) fn published_in(body: &[u8]) -> Option<u64> {
    serde_json::from_slice::<[Carried; 1]>(body).ok().map(|[carried]| carried.event.number)
}

impl Post {
    /// A write takes messages and sends others.
    pub(super) fn moves(&mut self, write: &Write, now: Millis) -> Exchange {
        let taken = write.taken.iter().filter_map(|id| self.0.remove(id)).collect();
        let said = write.sent.iter().filter_map(|sent| Some((sent.id, (Said::of(sent)?, now))));
        let said: Vec<_> = said.collect();
        let sent = said.iter().map(|(id, _)| *id).collect();
        self.0.extend(said);
        Exchange { taken, sent }
    }

    /// What a write has sent.
    pub(super) fn sent(&self, exchange: &Exchange) -> impl Iterator<Item = &Said> {
        exchange.sent.iter().filter_map(|id| self.0.get(id)).map(|(said, _)| said)
    }
}

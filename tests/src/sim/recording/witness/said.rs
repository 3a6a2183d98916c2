//! The messages between topics, runs and the dead letters, as far as they carry an event or concern a wait.

use std::collections::BTreeMap;

use drystone_runtime::{
    DeadLetter, MessageId, Millis,
    store::{Outgoing, Write},
};
use serde::Deserialize;

use super::topics::{By, Delivered, Numbered, Wait};
use crate::sim::apps::LETTERS;

/// A message.
#[derive(Debug)]
pub(super) enum Said {
    /// Delivers an event to a wait.
    Delivered(Delivered),
    /// Returns an event to its topic.
    Declined(u64),
    /// Publishes an event.
    Published(u64),
    /// Sends an event to the dead letters.
    Buried(u64),
    /// The dead letter of a message that its receiver refused at every try. The event in the message died
    /// with it.
    Died(u64),
    /// Begins a wait.
    Watch(Watch),
    /// Ends a wait, or says that its deadline has passed.
    Leave(Leave),
    /// Tells a run that nothing more will come for a wait.
    Left(By),
}

/// The beginning of a wait.
#[derive(Debug, Deserialize)]
pub(super) struct Watch {
    /// The wait.
    pub wait: Wait,
    /// The place from which the wait reads.
    pub cursor: Cursor,
}

/// The end of a wait.
#[derive(Debug, Deserialize)]
pub(super) struct Leave {
    /// The wait.
    pub wait: Wait,
    /// Whether the topic must answer this.
    pub is_answered: bool,
}

/// The place from which a wait reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cursor {
    Next,
    After(Seen),
    Since(i64),
    Oldest,
}

/// An event of a topic, by the topic's birth and the event's number.
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

/// The messages that are on their way, with the times of sending.
#[derive(Default)]
pub(super) struct Post(BTreeMap<MessageId, (Said, Millis)>);

/// The messages taken and sent by a write.
#[derive(Default)]
pub(super) struct Exchange {
    /// The messages that the write takes, with the times of sending.
    pub taken: Vec<(Said, Millis)>,
    /// The messages that the write sends.
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

    /// The event in the message.
    pub(super) fn event(&self) -> Option<u64> {
        match self {
            Self::Delivered(delivered) => Some(delivered.event.number),
            Self::Declined(value) | Self::Published(value) | Self::Buried(value) | Self::Died(value) => Some(*value),
            Self::Watch(_) | Self::Leave(_) | Self::Left(_) => None,
        }
    }
}

/// The event in a message that publishes.
pub(crate) fn published_in(body: &[u8]) -> Option<u64> {
    serde_json::from_slice::<[Carried; 1]>(body).ok().map(|[carried]| carried.event.number)
}

impl Post {
    /// Takes the messages of a write: some are taken, others sent.
    pub(super) fn moves(&mut self, write: &Write, now: Millis) -> Exchange {
        let taken = write.taken.iter().filter_map(|id| self.0.remove(id)).collect();
        let said = write.sent.iter().filter_map(|sent| Some((sent.id, (Said::of(sent)?, now))));
        let said: Vec<_> = said.collect();
        let sent = said.iter().map(|(id, _)| *id).collect();
        self.0.extend(said);
        Exchange { taken, sent }
    }

    /// The messages that a write has sent.
    pub(super) fn sent(&self, exchange: &Exchange) -> impl Iterator<Item = &Said> {
        exchange.sent.iter().filter_map(|id| self.0.get(id)).map(|(said, _)| said)
    }
}

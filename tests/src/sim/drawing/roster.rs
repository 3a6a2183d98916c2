//! The cast of a history: every key that callers and messages may address, by number.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use drystone_runtime::{Key, Name, Partition};

use super::parameters::{PARTITIONS, Traffic};
use crate::sim::{apps::LETTERS, recording::log::lock};

/// The key space of the simulated app.
pub const SPACE: Name = Name::new("app");

/// The number of topics of an event that has a key.
pub const SHELVES: u8 = 2;

/// The part that a member of the cast plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Keeps a list of what was added.
    Counter,
    /// Sends, takes and forwards messages.
    Relay,
    /// Sets alarms.
    Alarmist,
    /// Runs a piece of work at every alarm.
    Ticker,
    /// Runs pieces of work.
    Worker,
    /// Lets one caller in at a time.
    Line,
    /// Calls other entities of the same role.
    Caller,
    /// A relay with a turn that kills the process.
    Doomed,
    /// A key without an entity; no message can bind it.
    Nobody,
    /// The entity that takes the dead letters of toys.
    Letters,
    /// A continuous primitive at a fixed rate.
    Pulse,
    /// A continuous primitive with a fixed delay, and an `#[apply]`.
    Drip,
    /// A continuous primitive that ticks by the wall clock.
    Chime,
    /// A buffer.
    Basket,
    /// A buffer in strict order.
    Strict,
    /// A buffer with a `#[reduce]`.
    Heap,
    /// A buffer whose flush is a transaction.
    Chest,
    /// An object with an alarm.
    Bell,
    /// A queue.
    Mail,
    /// A queue in strict order.
    Steps,
    /// A queue with an `#[apply]`.
    Tally,
    /// The entity that takes the dead letters of primitives.
    Box,
    /// A semaphore.
    Gate,
    /// A workflow.
    Errand,
    /// A workflow that waits for published events.
    Listener,
    /// A topic. Delivers to all waits, from the time of the wait.
    News,
    /// A topic. Delivers to all waits, from the oldest kept event.
    Notice,
    /// A topic. Delivers each event to a single wait.
    Job,
    /// A topic. Delivers to all waits, from the start of the run. Keeps few events.
    Bulletin,
    /// A topic with a key. Delivers each event to a single wait. Keeps few events per key.
    Task,
    /// An object that workflows call.
    Till,
}

impl Role {
    /// The definition of the keys of this role.
    pub fn definition(self) -> Name {
        Name::new(match self {
            Self::Counter => "counter",
            Self::Relay | Self::Doomed => "relay",
            Self::Alarmist => "alarmist",
            Self::Ticker => "ticker",
            Self::Worker | Self::Nobody => "worker",
            Self::Line => "line",
            Self::Caller => "caller",
            Self::Letters => "letters",
            Self::Pulse => "pulse",
            Self::Drip => "drip",
            Self::Chime => "chime",
            Self::Basket => "basket",
            Self::Strict => "strict",
            Self::Heap => "heap",
            Self::Chest => "chest",
            Self::Bell => "bell",
            Self::Mail => "mail",
            Self::Steps => "steps",
            Self::Tally => "tally",
            Self::Box => "drystone:dead_letters",
            Self::Gate => "gate",
            Self::Errand => "errand",
            Self::Listener => "listener",
            Self::News | Self::Notice | Self::Job | Self::Bulletin | Self::Task => "drystone:topics",
            Self::Till => "till",
        })
    }

    /// Whether the role is a continuous primitive.
    pub fn is_continuous(self) -> bool {
        matches!(self, Self::Pulse | Self::Drip | Self::Chime)
    }

    /// Whether the role is a buffer.
    pub fn is_buffer(self) -> bool {
        matches!(self, Self::Basket | Self::Strict | Self::Heap | Self::Chest)
    }

    /// Whether the role is a topic.
    pub fn is_topic(self) -> bool {
        matches!(self, Self::News | Self::Notice | Self::Job | Self::Bulletin | Self::Task)
    }

    /// Whether the role is a topic that delivers each event to one wait.
    pub fn is_for_one(self) -> bool {
        matches!(self, Self::Job | Self::Task)
    }

    /// Whether the role is a queue.
    pub fn is_queue(self) -> bool {
        matches!(self, Self::Mail | Self::Steps | Self::Tally)
    }
}

/// The place of a member in the cast.
pub type Number = u16;

/// All members: those drawn from the seed, and the children of errands, which are added as they appear.
#[derive(Debug)]
pub struct Cast {
    members: Mutex<Vec<Arc<Member>>>,
    /// The number of members drawn from the seed. They come first.
    drawn: usize,
    letters: Key,
}

/// One member.
#[derive(Clone, Debug)]
pub struct Member {
    /// The member's part.
    pub role: Role,
    /// The member's address.
    pub key: Key,
    /// The partition of the key.
    pub partition: Partition,
}

impl Cast {
    /// The cast of a history with this traffic.
    pub fn new(traffic: &Traffic) -> Self {
        let mut members = Vec::new();
        for (role, count) in [
            (Role::Letters, 1),
            (Role::Counter, traffic.counters),
            (Role::Relay, traffic.relays),
            (Role::Alarmist, traffic.alarmists),
            (Role::Ticker, traffic.tickers),
            (Role::Worker, traffic.workers),
            (Role::Line, traffic.lines),
            (Role::Caller, traffic.callers),
            (Role::Doomed, usize::from(traffic.doom && traffic.relays > 0)),
            (Role::Nobody, usize::from(traffic.poison && traffic.relays > 0)),
            (Role::Pulse, traffic.pulses),
            (Role::Drip, traffic.drips),
            (Role::Chime, traffic.chimes),
            (Role::Basket, traffic.baskets),
            (Role::Strict, traffic.stricts),
            (Role::Heap, traffic.heaps),
            (Role::Chest, traffic.chests),
            (Role::Bell, traffic.bells),
            (Role::Gate, traffic.gates),
            (Role::Mail, traffic.mails),
            (Role::Steps, traffic.steps),
            (Role::Tally, traffic.tallies),
            (Role::Errand, traffic.errands),
            (Role::Till, usize::from(traffic.errands > 0)),
            (Role::Listener, traffic.listeners),
            (Role::News, usize::from(traffic.listeners > 0)),
            (Role::Notice, usize::from(traffic.listeners > 0)),
            (Role::Job, usize::from(traffic.listeners > 0)),
            (Role::Bulletin, usize::from(traffic.listeners > 0)),
            (Role::Task, usize::from(traffic.listeners > 0) * usize::from(SHELVES)),
            (Role::Box, usize::from(traffic.has_letters())),
        ] {
            members.extend((0..count).map(|index| Arc::new(Member::drawn(role, index))));
        }
        let (drawn, letters) = (members.len(), members[0].key.clone());
        Self { members: Mutex::new(members), drawn, letters }
    }

    /// The key that takes the dead letters of toys.
    pub fn letters(&self) -> &Key {
        &self.letters
    }

    /// The member of this number.
    pub fn member(&self, number: Number) -> Arc<Member> {
        lock(&self.members)[usize::from(number)].clone()
    }

    /// Returns the number of this key. The first time a child of an errand is asked for, it becomes a
    /// member.
    pub fn number(&self, key: &Key) -> Option<Number> {
        let mut members = lock(&self.members);
        if let Some(place) = members.iter().position(|member| member.key == *key) {
            return Some(place as Number);
        }
        let parent = parent(key)?;
        let is_parent = |member: &Arc<Member>| member.role == Role::Errand && member.key.key == parent;
        if !members[..self.drawn].iter().any(is_parent) {
            return None;
        }
        members.push(Arc::new(Member::new(Role::Errand, key.clone())));
        Some((members.len() - 1) as Number)
    }

    /// The numbers of all members with this role.
    pub fn with(&self, role: Role) -> Vec<Number> {
        self.iter().filter(|(_, member)| member.role == role).map(|(number, _)| number).collect()
    }

    /// All members with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Number, Arc<Member>)> + use<> {
        let members = lock(&self.members).clone();
        members.into_iter().enumerate().map(|(place, member)| (place as Number, member))
    }

    /// The members drawn from the seed.
    pub fn drawn(&self) -> impl Iterator<Item = (Number, Arc<Member>)> + use<> {
        self.iter().take(self.drawn)
    }

    /// The children of errands.
    pub fn children(&self) -> Vec<Number> {
        self.iter().skip(self.drawn).map(|(number, _)| number).collect()
    }
}

impl Member {
    fn drawn(role: Role, index: usize) -> Self {
        let text = || format!("{role:?}-{index}").to_lowercase();
        let key = match role {
            Role::Box => LETTERS,
            Role::Task => Key { space: role.definition(), key: Bytes::from(format!("{role:?}/{index}")) },
            role if role.is_topic() => Key { space: role.definition(), key: Bytes::from(format!("{role:?}")) },
            _ => Key { space: SPACE, key: Bytes::from(text()) },
        };
        Self::new(role, key)
    }

    fn new(role: Role, key: Key) -> Self {
        let partition = key.partition(PARTITIONS);
        Self { role, key, partition }
    }
}

/// The key of the run that started this family: the part of a child's key before the first `/`.
fn parent(key: &Key) -> Option<&[u8]> {
    let place = key.key.iter().position(|byte| *byte == b'/').filter(|_| key.space == SPACE)?;
    Some(&key.key[..place])
}

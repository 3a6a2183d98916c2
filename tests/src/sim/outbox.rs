//! What authors' transactions send: each message has a number, and its transaction writes a row with the same number (M6).

use std::{collections::BTreeMap, sync::Mutex};

use serde::Deserialize;
use serde_json::Value;

use super::{cast::Number, chronicle::lock, witness::published_in};

/// How the row of a message is written.
pub const SENT: &str = "INSERT INTO sent VALUES (?1)";

/// The number of a message. It consists of the sending transaction and the place of the message in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posted {
    /// The transaction: the number of a caller's, or what an execution of a step returns.
    pub transaction: u64,
    /// Its place, from 0.
    pub place: u8,
}

/// Neither numbers of callers nor those of messages between toys begin with these bits.
const POSTED: u64 = 0b01 << 62;

impl Posted {
    /// As a number that nothing else has.
    pub fn number(self) -> u64 {
        POSTED | self.transaction << 8 | u64::from(self.place)
    }

    /// From a number, if it is that of such a message.
    pub fn of(number: u64) -> Option<Self> {
        let transaction = (number & !(0b11 << 62)) >> 8;
        (number >> 62 == 0b01).then_some(Self { transaction, place: number as u8 })
    }
}

/// The number in a message that a transaction has sent.
pub fn posted_in(verb: &str, body: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Numbered {
        number: u64,
    }
    let number = match verb {
        "enqueue" => serde_json::from_slice::<([u64; 1], Value)>(body).ok().map(|([number], _)| number),
        "start" => serde_json::from_slice::<[Numbered; 1]>(body).ok().map(|[trip]| trip.number),
        "send" => serde_json::from_slice::<(Value, Numbered)>(body).ok().map(|(_, event)| event.number),
        "publish" => published_in(body),
        // Of toys.
        "add" | "run" | "slow" | "pass" => body.first_chunk().map(|number| u64::from_be_bytes(*number)),
        _ => None,
    };
    number.filter(|number| Posted::of(*number).is_some())
}

/// How a transaction ends, when it has written its rows and sent its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nobody knows.
    Unknown,
    /// It is kept.
    Kept,
    /// It was rolled back, or never run.
    NotKept,
}

/// All that transactions were to send, whether or not they were kept.
#[derive(Default)]
pub struct Outbox {
    sent: Mutex<BTreeMap<u64, Number>>,
    verdicts: Mutex<BTreeMap<u64, Verdict>>,
    booked: Mutex<BTreeMap<u64, Number>>,
}

impl Outbox {
    /// A transaction is about to send this.
    pub fn sends(&self, posted: Posted, to: Number) {
        lock(&self.sent).insert(posted.number(), to);
    }

    /// What a caller was told of its transaction, or knows of it.
    pub fn ends(&self, transaction: u64, verdict: Verdict) {
        lock(&self.verdicts).insert(transaction, verdict);
    }

    /// A transactional hook is about to write a row with this value.
    pub fn books(&self, value: u64, member: Number) {
        lock(&self.booked).insert(value, member);
    }

    /// Every row that a hook was to write, and whose hook.
    pub fn booked(&self) -> Vec<(u64, Number)> {
        lock(&self.booked).iter().map(|(value, member)| (*value, *member)).collect()
    }

    /// Every message, and who is to get it.
    pub fn all(&self) -> Vec<(Posted, Number)> {
        lock(&self.sent).iter().filter_map(|(number, to)| Some((Posted::of(*number)?, *to))).collect()
    }

    /// What is known of a transaction of a caller's.
    pub fn verdict(&self, transaction: u64) -> Verdict {
        lock(&self.verdicts).get(&transaction).copied().unwrap_or(Verdict::Unknown)
    }
}

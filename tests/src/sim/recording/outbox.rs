//! The messages of authors' transactions. Each message has a number, and its transaction writes a row with
//! the same number (M6).

use std::{collections::BTreeMap, sync::Mutex};

use serde::Deserialize;
use serde_json::Value;

use super::{log::lock, witness::published_in};
use crate::sim::drawing::roster::Number;

/// The statement that writes the row of a message.
pub const SENT: &str = "INSERT INTO sent VALUES (?1)";

/// The number of a message. It consists of the sending transaction and the place of the message in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posted {
    /// The number of the transaction: a caller's number, or the value that an execution of a step returns.
    pub transaction: u64,
    /// The place of the message within its transaction, from 0.
    pub place: u8,
}

/// The leading bits of these numbers. Neither callers' numbers nor numbers of messages between toys begin
/// with them.
const POSTED: u64 = 0b01 << 62;

impl Posted {
    /// Encodes the pair as a number that is unique in the history.
    pub fn number(self) -> u64 {
        POSTED | self.transaction << 8 | u64::from(self.place)
    }

    /// Decodes a number. Returns `None` unless the number belongs to a message of a transaction.
    pub fn of(number: u64) -> Option<Self> {
        let transaction = (number & !(0b11 << 62)) >> 8;
        (number >> 62 == 0b01).then_some(Self { transaction, place: number as u8 })
    }
}

/// Returns the number in a message that a transaction has sent.
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
        // The verbs of toys.
        "add" | "run" | "slow" | "pass" => body.first_chunk().map(|number| u64::from_be_bytes(*number)),
        _ => None,
    };
    number.filter(|number| Posted::of(*number).is_some())
}

/// The known outcome of a transaction that has written its rows and sent its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The outcome is unknown.
    Unknown,
    /// The transaction was committed.
    Kept,
    /// The transaction was rolled back or never ran.
    NotKept,
}

/// All messages that transactions tried to send, whether or not the transactions were kept.
#[derive(Default)]
pub struct Outbox {
    sent: Mutex<BTreeMap<u64, Number>>,
    verdicts: Mutex<BTreeMap<u64, Verdict>>,
    booked: Mutex<BTreeMap<u64, Number>>,
}

impl Outbox {
    /// Notes a message that a transaction is about to send.
    pub fn sends(&self, posted: Posted, to: Number) {
        lock(&self.sent).insert(posted.number(), to);
    }

    /// Notes the outcome of a transaction.
    pub fn ends(&self, transaction: u64, verdict: Verdict) {
        lock(&self.verdicts).insert(transaction, verdict);
    }

    /// Notes that a transactional hook of this member is about to write a row with this value.
    pub fn books(&self, value: u64, member: Number) {
        lock(&self.booked).insert(value, member);
    }

    /// Every row that a hook tried to write, with the member of the hook.
    pub fn booked(&self) -> Vec<(u64, Number)> {
        lock(&self.booked).iter().map(|(value, member)| (*value, *member)).collect()
    }

    /// Every message with its receiver.
    pub fn all(&self) -> Vec<(Posted, Number)> {
        lock(&self.sent).iter().filter_map(|(number, to)| Some((Posted::of(*number)?, *to))).collect()
    }

    /// The known outcome of a caller's transaction.
    pub fn verdict(&self, transaction: u64) -> Verdict {
        lock(&self.verdicts).get(&transaction).copied().unwrap_or(Verdict::Unknown)
    }
}

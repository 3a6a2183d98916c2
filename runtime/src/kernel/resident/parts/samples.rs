//! Values for the unit tests of the parts.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::{
    Borrow, Crashes, Entity, Epoch, Fingerprint, Key, MessageId, Millis, Outcome, Reply, Status, Ticket, Version, Work,
    kernel::{
        api::pending_call::{Asked, Caller, Pending},
        resident::source::{End, Origin},
    },
    store::Letter,
};

pub(super) fn key(text: &str) -> Key {
    Key::new("app", Bytes::copy_from_slice(text.as_bytes())).unwrap()
}

pub(super) fn ticket(number: u64) -> Ticket {
    Ticket { epoch: Epoch(1), number }
}

/// A call, and the place where its caller gets the answer.
pub(super) fn call_of(number: u64, borrow: Borrow) -> (Pending, oneshot::Receiver<Reply>) {
    let (caller, answer) = Caller::new(key("k"));
    let pending = Pending {
        definition: "d".into(),
        verb: "v".into(),
        body: Bytes::new(),
        ticket: ticket(number),
        once: None,
        borrow,
        impure: false,
        chain: [].into(),
        caller,
    };
    (pending, answer)
}

pub(super) fn call(number: u64) -> Pending {
    call_of(number, Borrow::Exclusive).0
}

pub(super) fn call_once(number: u64, once: &str) -> Pending {
    let once = Bytes::copy_from_slice(once.as_bytes());
    Pending { once: Some(Asked { once, hash: 1, remember_for: None, is_new: false }), ..call(number) }
}

pub(super) fn letter(from: &str, version: u64) -> Letter {
    Letter {
        id: MessageId { version: Version(version), index: 0 },
        from: key(from),
        definition: "d".into(),
        verb: "v".into(),
        body: Bytes::new(),
        attempts: 0,
        at: Millis(0),
        mark: None,
    }
}

pub(super) fn work(id: &'static str, borrow: Borrow) -> Work {
    Work { borrow, ..Work::new(id) }
}

pub(super) fn end(work: Work) -> End {
    End { work, outcome: Outcome::TimedOut, origin: Origin::Listed, attempts: 0 }
}

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A resting entity with a version.
pub(super) fn entity(version: Version) -> Entity {
    Entity {
        id: version,
        key: key("k"),
        kind: "kind".into(),
        definition: "d".into(),
        version,
        status: Status::resting("bound"),
        config: Fingerprint::default(),
        active: false,
        head: Bytes::new(),
        state: Bytes::new(),
        alarm: None,
        crashes: Crashes::NONE,
        suspect: None,
        parked: None,
        created_at: Millis(0),
        updated_at: Millis(0),
    }
}

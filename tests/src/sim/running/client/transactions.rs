//! Transactions of callers, outside all entities: they write rows and send messages to any member.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use drystone::kinds::queue::Enqueue;
use drystone_runtime::{
    Error, Message, Name, Outcome,
    store::sql::{ScriptCode, Scripted, SqlFault, SqlValue},
};
use serde_json::json;

use super::{Client, topics::options};
use crate::sim::{
    apps::Enqueued,
    check,
    drawing::roster::{Number, Role},
    faults::panics::on_purpose,
    handlers::{Kind, codec::pack},
    recording::{
        log::Class,
        outbox::{Posted, SENT, Verdict},
    },
    running::{
        process::{NoAnswer, Processes},
        world::World,
    },
    workflows::Booking,
};

/// A message and its number.
struct Letter {
    number: u64,
    message: Message,
}

/// The roles that may get a message. A topic that can be full is not among them: an event that such a topic
/// refuses dies, and is in no place meanwhile.
const RECEIVERS: [Role; 10] = [
    Role::Counter,
    Role::Relay,
    Role::Mail,
    Role::Steps,
    Role::Tally,
    Role::Errand,
    Role::News,
    Role::Notice,
    Role::Job,
    Role::Bulletin,
];

impl Client {
    /// Makes a transaction whose end is drawn. It is not retried: a transaction whose answer was lost may
    /// have been committed.
    pub(super) async fn transact(&mut self) {
        let transaction = self.number();
        let letters: Vec<_> =
            (0..self.chance.between(1, 4) as u8).map(|place| self.letter(Posted { transaction, place })).collect();
        let end = self.chance.pick(&[Booking::Well, Booking::Well, Booking::Well, Booking::Fails, Booking::Panics]);
        if end != Booking::Well {
            self.world.outbox.ends(transaction, Verdict::NotKept);
        }
        let process = self.chance.index(self.world.processes.count());
        let (world, code) = (self.world.clone(), code(letters, end));
        let answer = Processes::ask(&self.world, process, async move |kernel| {
            let answer = kernel.transact(Duration::from_secs(1), code).await;
            told(&world, transaction, end, &answer);
            answer
        });
        let answer = answer.await;
        self.world
            .chronicle
            .note(|| format!("client {} transacts {transaction:x} in k{process}: {answer:?}", self.name));
        if matches!(answer, Err(NoAnswer::Died) | Ok(Err(_))) {
            self.world.chronicle.sometimes("nobody knows what became of a transaction");
        }
    }

    fn letter(&mut self, posted: Posted) -> Letter {
        let members: Vec<_> = self.world.cast.drawn().map(|(number, member)| (number, member.role)).collect();
        let receivers: Vec<_> = members.into_iter().filter(|(_, role)| RECEIVERS.contains(role)).collect();
        let (to, role) = self.chance.pick(&receivers);
        let number = posted.number();
        self.world.outbox.sends(posted, to);
        let (verb, body) = match role {
            Role::Counter => (self.chance.pick(&["add", "run", "slow"]), pack(&[number])),
            Role::Relay => ("pass", pack(&[number, 0, Kind::Plain as u64])),
            Role::Errand => self.errand_asked(number),
            role if role.is_topic() => ("publish", publish(role, number)),
            _ => ("enqueue", self.enqueues(to, number)),
        };
        let member = self.world.cast.member(to);
        let message = Message { to: member.key.clone(), definition: role.definition(), verb: Name::new(verb), body };
        Letter { number, message }
    }

    /// Draws the start of a run, or an event for one.
    fn errand_asked(&mut self, number: u64) -> (&'static str, Bytes) {
        if self.chance.permille(300) {
            let mut trip = self.trip();
            trip.number = number;
            return ("start", Bytes::from(json!([trip]).to_string()));
        }
        let kind = self.kind();
        ("send", Bytes::from(self.event_numbered(number, kind).to_string()))
    }

    fn enqueues(&self, member: Number, number: u64) -> Bytes {
        let from = self.world.chronicle.moment();
        let enqueued = Enqueued { member, priority: 0, delay_ms: 0, from, until: None };
        self.world.recorder.queued.asks(&[number], &enqueued);
        Bytes::from(json!([[number], Enqueue::new()]).to_string())
    }
}

fn publish(role: Role, number: u64) -> Bytes {
    let topic = json!({ "event": format!("{role:?}"), "key": null });
    let event = json!({ "number": number, "shelf": null });
    Bytes::from(json!([{ "topic": topic, "options": options(role), "event": event }]).to_string())
}

fn code(letters: Vec<Letter>, end: Booking) -> ScriptCode {
    let refused = |fault: SqlFault| Box::new(Outcome::refused(fault.message));
    Arc::new(move |statements| {
        for Letter { number, message } in &letters {
            statements.execute(SENT, &[SqlValue::Integer(number.cast_signed())]).map_err(refused)?;
            statements.send(message.clone()).map_err(refused)?;
        }
        match end {
            Booking::Well => Ok(Bytes::new()),
            Booking::Fails => Err(Box::new(Outcome::Failed(Bytes::from_static(b"as drawn")))),
            Booking::Panics => on_purpose("as drawn"),
        }
    })
}

/// Checks an answer in the same poll in which the kernel returns it: everything that it tells must already
/// be durable (E4).
fn told(world: &World, transaction: u64, end: Booking, answer: &Result<Scripted, Error>) {
    let (verdict, is_just) = match answer {
        Ok(Scripted::Done(_)) => (Verdict::Kept, end == Booking::Well),
        Ok(Scripted::Ended(Outcome::Failed(_))) => (Verdict::NotKept, end == Booking::Fails),
        Ok(Scripted::Ended(Outcome::Panicked(_))) => (Verdict::NotKept, end == Booking::Panics),
        Ok(Scripted::Ended(_) | Scripted::Gone) => (Verdict::NotKept, false),
        Ok(Scripted::Fenced) | Err(Error::NotOwner { .. }) => (Verdict::NotKept, true),
        Err(_) => return,
    };
    world
        .chronicle
        .check(is_just, Class::Broken, "M6", || format!("{transaction:x} was to end {end:?}, and came to {answer:?}"));
    match answer {
        Ok(Scripted::Done(_)) => world.chronicle.sometimes("a transaction beside all entities was kept"),
        Ok(Scripted::Ended(_)) => world.chronicle.sometimes("a transaction beside all entities was rolled back"),
        _ => world.chronicle.sometimes("a transaction beside all entities had no owner"),
    }
    check::transacted(world, transaction, verdict);
}

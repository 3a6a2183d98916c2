//! S1, S2, S5: in every commit the record of a semaphore agrees with its rows, and the permits that are out
//! fit. A caller that has left keeps nothing.

use std::{collections::BTreeSet, sync::Mutex};

use drystone::Timestamp;
use drystone_runtime::{Commit, Entity, Input, Millis, Reply, RowKey, Ticket, To};

use crate::sim::{
    apps::{
        PERMITS,
        heads::{self, Gating, Permit},
    },
    drawing::roster::Number,
    handlers::Stage,
    recording::{
        log::{Chronicle, Class, lock},
        witness::Lanes,
    },
};

/// Compares the record of a semaphore with its rows.
pub fn inspect_gate(chronicle: &Chronicle, entity: &Entity, lanes: &Lanes, now: Millis) {
    let Some(record) = heads::record::<Gating>(&entity.head) else {
        return chronicle.violation(Class::Broken, "S5", format!("{} has no record", entity.key));
    };
    let rows = |lane: &str| lanes.own(&(entity.id, lane.to_owned().into())).into_iter().flatten();
    let permits: Vec<Permit> = rows("held").filter_map(|(_, row)| serde_json::from_slice(row).ok()).collect();
    let weight = |permits: &[Permit]| permits.iter().map(|permit| permit.weight).sum::<u64>();
    let check = |holds, law, message: &dyn Fn() -> String| {
        chronicle.check(holds, Class::Broken, law, || format!("{} {}", entity.key, message()));
    };
    check(record.used == weight(&permits), "S2", &|| format!("counts {} and has {permits:?}", record.used));
    check(rows("until").count() == permits.len(), "S2", &|| format!("has other ends than {permits:?}"));
    let out: Vec<Permit> = permits.into_iter().filter(|permit| permit.until > Timestamp::from(now)).collect();
    check(weight(&out) <= PERMITS, "S5", &|| format!("has given {out:?} at {now}"));
    let line = rows(&format!("line/{}", record.epoch)).count() as u64;
    check(line == record.waiting, "S1", &|| format!("counts {} who wait and has {line}", record.waiting));
    let woken = entity.alarm.is_some() || entity.parked.is_some() || (record.used, record.waiting) == (0, 0);
    check(woken, "S2", &|| format!("is never woken: {record:?}"));
}

/// The rows of tickets that turns have removed. A caller that leaves after that has no row.
#[derive(Default)]
pub struct Left(Mutex<BTreeSet<(Number, RowKey)>>);

/// Checks a turn of a semaphore.
pub(super) fn turned_gate(stage: &Stage, member: Number, entity: &Entity, input: &Input, now: Millis, commit: &Commit) {
    let is_of_a_ticket = |lane: &str| lane == "held" || lane.starts_with("line/");
    let taken = commit.remove.iter().filter(|(lane, _)| is_of_a_ticket(lane)).map(|(_, row)| (member, row.clone()));
    lock(&stage.world.left.0).extend(taken);
    match input {
        Input::Call { verb, ticket, .. } if verb == "try_acquire" => tried(stage, entity, *ticket, commit),
        Input::Gone { ticket } => left(stage, member, entity, *ticket, now, commit),
        _ => {}
    }
    let from_line = commit.replies.iter().any(|(to, reply)| match input {
        Input::Call { ticket, .. } => *to != To::Ticket(*ticket) && reply.is_ok(),
        _ => reply.is_ok(),
    });
    if from_line {
        stage.world.chronicle.sometimes("a permit went to one who waited");
    }
    if commit.emit.iter().any(|told| told.name == "semaphore.expired") {
        stage.world.chronicle.sometimes("a permit ended with its lease");
    }
}

/// Checks that `try_acquire` gives no permit while another caller waits for one (S1).
fn tried(stage: &Stage, entity: &Entity, ticket: Ticket, commit: &Commit) {
    let Some(after) = heads::record::<Gating>(commit.head.as_ref().unwrap_or(&entity.head)) else { return };
    let was_given = |(to, reply): &(To, Reply)| {
        *to == To::Ticket(ticket) && reply.as_ref().is_ok_and(|bytes| bytes.as_ref() != b"null")
    };
    let given = commit.replies.iter().any(was_given);
    stage.world.chronicle.check(!given || after.waiting == 0, Class::Broken, "S1", || {
        format!("{} gave {ticket:?} a permit while {} waited", entity.key, after.waiting)
    });
}

/// Checks that a caller who has left keeps neither a place in line nor a permit: this turn or an earlier
/// turn took both back, or the caller had neither.
fn left(stage: &Stage, member: Number, entity: &Entity, ticket: Ticket, now: Millis, commit: &Commit) {
    let key = [&ticket.epoch.0.to_be_bytes()[..], &ticket.number.to_be_bytes()[..]].concat();
    if commit.remove.iter().any(|(_, row)| *row == key) {
        stage.world.chronicle.sometimes("one who left was forgotten by a semaphore");
    }
    if lock(&stage.world.left.0).contains(&(member, key.clone().into())) {
        return;
    }
    let durable = stage.world.witness.durable();
    let permit = durable.lanes().own(&(entity.id, "held".into())).and_then(|rows| rows.get(key.as_slice()));
    let permit = permit.and_then(|row| serde_json::from_slice::<Permit>(row).ok());
    let keeps = permit.filter(|permit| permit.until > Timestamp::from(now));
    stage.world.chronicle.check(keeps.is_none(), Class::Broken, "S1", || {
        format!("{} lets {ticket:?}, who left, keep {keeps:?}", entity.key)
    });
}

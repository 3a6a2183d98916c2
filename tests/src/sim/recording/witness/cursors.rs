//! The waits of log topics: none is forgotten, and each gets the first event after its cursor (T2, T4, T6).

use std::collections::BTreeMap;

use drystone_runtime::{RowKey, store::After};
use serde::Deserialize;

use super::{
    said::{Cursor, Exchange, Leave, Post, Said},
    topics::{By, Delivered, Kept, Wait, Watcher, number_in, rows},
    whereabouts::Writing,
};
use crate::sim::recording::log::Class;

/// How long the logs of these histories keep events.
const KEEP_FOR_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// The cursors of the waits of logs: the place from which each wait reads.
#[derive(Default)]
pub(super) struct Cursors(BTreeMap<By, Cursor>);

/// The messages about waits that a topic took and sent in one write.
#[derive(Default)]
struct Heard<'a> {
    delivered: Vec<&'a Delivered>,
    left: Vec<&'a By>,
    leaves: Vec<&'a Leave>,
    came: Vec<&'a Wait>,
}

#[derive(Deserialize)]
struct Birth {
    birth: i64,
}

impl Cursors {
    pub(super) fn applied(&mut self, writing: &Writing<'_>, post: &Post, exchange: &Exchange) {
        let mut heard = Heard::default();
        for (said, _) in &exchange.taken {
            match said {
                Said::Watch(watch) => {
                    self.0.insert(watch.wait.by.clone(), watch.cursor);
                    heard.came.push(&watch.wait);
                }
                Said::Leave(leave) => heard.leaves.push(leave),
                _ => {}
            }
        }
        for said in post.sent(exchange) {
            match said {
                Said::Delivered(delivered) => heard.delivered.push(delivered),
                Said::Left(by) => heard.left.push(by),
                _ => {}
            }
        }
        heard.none_is_forgotten(writing);
        if !writing.role.is_for_one() {
            self.first_behind(writing, &heard);
            heard.nothing_was_due(writing);
        }
    }

    /// Checks that a new wait of a log gets the first kept event that its run has not seen (T2).
    fn first_behind(&self, writing: &Writing<'_>, heard: &Heard<'_>) {
        let Some(birth) = writing.birth() else { return };
        let log = rows::<Kept>(writing.before, writing.id, "log");
        let stays = |key: &RowKey| writing.write.rows.get(&("log".into(), key.clone())).is_none_or(Option::is_some);
        let log: Vec<(u64, i64)> =
            log.iter().filter(|(key, _)| stays(key)).map(|(key, kept)| (number_in(key), kept.at)).collect();
        let first = |wait: &Wait| {
            let cursor = self.0.get(&wait.by).copied()?;
            let first = log.iter().find(|(number, at)| cursor.is_before(birth, *number, *at));
            first.filter(|(_, at)| wait.until.is_none_or(|until| *at < until)).map(|(number, _)| *number)
        };
        for wait in &heard.came {
            let (first, after) = (first(wait), heard.after(writing, wait));
            let given = heard.delivered.iter().find(|delivered| delivered.to == wait.by);
            let is_passed = first.is_some_and(|first| match given {
                Some(given) => first < given.seen.number,
                None => after.is_some_and(|after| first <= after),
            });
            writing.chronicle.check(!is_passed, Class::Lost, "T2", || {
                format!("{} has {first:?} for {wait:?}, and gives it {given:?}", writing.write.key)
            });
            let cursor = self.0.get(&wait.by);
            let is_seen = given.zip(cursor).is_some_and(|(given, cursor)| {
                *cursor != Cursor::Next && !cursor.is_before(birth, given.seen.number, given.at)
            });
            writing.chronicle.check(!is_seen, Class::Broken, "T2", || {
                format!("{} gives {given:?} to {wait:?}, which reads from {cursor:?}", writing.write.key)
            });
        }
    }
}

impl Cursor {
    /// Whether an event comes after this cursor.
    fn is_before(self, of: i64, number: u64, at: i64) -> bool {
        match self {
            Self::Next => false,
            Self::After(seen) => seen.birth != of || number > seen.number,
            Self::Since(time) => at >= time,
            Self::Oldest => true,
        }
    }
}

impl Heard<'_> {
    /// Checks that no wait is forgotten (T4, T6): a wait stays until it gets an event or leaves, a new wait
    /// is listed, and a wait that asks for an answer to its leaving gets one.
    fn none_is_forgotten(&self, writing: &Writing<'_>) {
        let is_told = |by: &By| self.delivered.iter().any(|delivered| delivered.to == *by);
        let leaves = |by: &By| self.leaves.iter().any(|leave| leave.wait.by == *by);
        for (_, body) in writing.gone().into_iter().filter(|(lane, _)| **lane == *"watchers") {
            let Ok(Watcher { wait, .. }) = serde_json::from_slice(body) else { continue };
            let waits = self.after(writing, &wait).is_some();
            writing.chronicle.check(waits || is_told(&wait.by) || leaves(&wait.by), Class::Lost, "T4 T6", || {
                format!("{} forgets {wait:?}", writing.write.key)
            });
        }
        for wait in &self.came {
            let waits = self.after(writing, wait).is_some();
            writing.chronicle.check(waits || is_told(&wait.by) || leaves(&wait.by), Class::Lost, "T4 T6", || {
                format!("{} does not know {wait:?}, which came", writing.write.key)
            });
        }
        for Leave { wait, .. } in self.leaves.iter().filter(|leave| leave.is_answered) {
            let is_answered = self.left.contains(&&wait.by) || is_told(&wait.by);
            writing.chronicle.check(is_answered, Class::Stuck, "T4", || {
                format!("{} does not answer {wait:?}, which leaves", writing.write.key)
            });
        }
    }

    /// Checks a topic's answer that nothing more will come for a wait (T4): no kept event was published
    /// while the wait was listed and before its deadline. A wait that got the event in the same write,
    /// before it left, has missed nothing.
    fn nothing_was_due(&self, writing: &Writing<'_>) {
        if self.left.is_empty() {
            return;
        }
        let log = rows::<Kept>(writing.before, writing.id, "log");
        for (_, body) in writing.gone().into_iter().filter(|(lane, _)| **lane == *"watchers") {
            let Ok(Watcher { wait, after }) = serde_json::from_slice(body) else { continue };
            let is_due = |(key, kept): &(&RowKey, &Kept)| {
                let in_time = wait.until.is_none_or(|until| kept.at < until);
                in_time && number_in(key) > after && kept.at + KEEP_FOR_MS > writing.now.0
            };
            let is_told = self.delivered.iter().any(|delivered| delivered.to == wait.by);
            let due = log.iter().find(is_due).filter(|_| self.left.contains(&&wait.by) && !is_told);
            writing.chronicle.check(due.is_none(), Class::Lost, "T4", || {
                format!("{} lets {wait:?} go, and has {due:?} for it", writing.write.key)
            });
        }
    }

    /// The `after` number of a wait that is listed after the write.
    fn after(&self, writing: &Writing<'_>, wait: &Wait) -> Option<u64> {
        let put = writing.write.rows.iter().filter(|((lane, _), _)| **lane == *"watchers");
        let put = put.filter(|_| matches!(writing.write.after, After::Entity(_)));
        let mut put = put.filter_map(|(_, body)| serde_json::from_slice::<Watcher>(body.as_ref()?).ok());
        put.find(|watcher| watcher.wait.by == wait.by).map(|watcher| watcher.after)
    }
}

impl Writing<'_> {
    /// The birth of the topic, which tells its numbers from those of an earlier topic of the same key.
    fn birth(&self) -> Option<i64> {
        match &self.write.after {
            After::Entity(entity) => serde_json::from_slice::<Birth>(&entity.head).ok().map(|record| record.birth),
            _ => None,
        }
    }

    /// The number of rows in a lane after the write.
    pub(super) fn rows_after(&self, lane: &str) -> u64 {
        let before = self.before.own(&(self.id, lane.to_owned().into()));
        let is_there = |key: &RowKey| before.is_some_and(|rows| rows.contains_key(key));
        let count = before.map_or(0, |rows| rows.len() as u64);
        let is_dropped = self.write.drop.iter().any(|gone| *gone.lane == *lane);
        let rows = self.write.rows.iter().filter(|((of, _), _)| **of == *lane);
        rows.fold(if is_dropped { 0 } else { count }, |count, ((_, key), body)| match (is_there(key), body.is_some()) {
            (false, true) => count + 1,
            (true, false) => count - 1,
            _ => count,
        })
    }
}

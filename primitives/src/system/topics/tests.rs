//! A topic alone, turn by turn: cases with messages that were in flight for long, and the size of commits.

use std::collections::BTreeMap;

use drystone_runtime::{
    Change, Commit, Entity, Epoch, Fingerprint, Handler, Hot, Input, Key, MessageId, Millis, Next, Range, Row, Rows,
    Status, Ticket, Version,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    record::{GIVEN, GIVEN_MIN, Kept, LOG, PENDING, Record},
    wire::{Cursor, DECLINED, Declined, Delivered, MOVE, PUBLISH, Publish, TopicName, WATCH, Wait, WaitAddress, Watch},
    *,
};
use crate::{
    decode, encode,
    event::topic::{Deliver, TopicOptions},
};

const ONE: TopicOptions = TopicOptions { deliver: Deliver::One, ..TopicOptions::NEW };

const NOW: i64 = 1_700_000_000_000;

fn topic() -> TopicName {
    TopicName::new("Job", None)
}

fn event(number: u32) -> Box<RawValue> {
    decode(number.to_string().as_bytes()).unwrap()
}

/// Returns a wait of the run with this number.
fn wait(number: u32, until: Option<i64>) -> Wait {
    let by = serde_json::json!({
        "space": "app", "key": format!("run-{number}"), "definition": "worker", "op": "wait:Job#1", "generation": 1, "seed": 1,
    });
    Wait { by: serde_json::from_value::<WaitAddress>(by).unwrap(), since: NOW, until }
}

/// A topic in memory.
struct Shelf {
    now: Millis,
    options: TopicOptions,
    entity: Option<Entity>,
    rows: BTreeMap<(Name, Bytes), Bytes>,
    /// How often rows were read.
    reads: usize,
}

impl Shelf {
    fn new(options: TopicOptions) -> Self {
        Self { now: Millis(NOW), options, entity: None, rows: BTreeMap::new(), reads: 0 }
    }

    fn publish(&mut self, event: Box<RawValue>) -> Commit {
        let body = encode(&[Publish { topic: topic(), options: self.options, event }]).unwrap();
        self.turn(&Input::Call {
            verb: Name::new(PUBLISH),
            body,
            ticket: Ticket { epoch: Epoch(1), number: 1 },
            once: None,
        })
    }

    /// Sends a message to the topic.
    fn say(&mut self, verb: &'static str, said: &impl Serialize) -> Commit {
        let (from, id) = (topic().address().unwrap(), MessageId { version: Version(1), index: 0 });
        self.turn(&Input::Message { from, id, verb: Name::new(verb), body: encode(said).unwrap() })
    }

    /// Registers a wait of the run with this number.
    fn watch(&mut self, number: u32, until: Option<i64>) -> Commit {
        self.watch_from(Cursor::Next, wait(number, until))
    }

    fn watch_from(&mut self, cursor: Cursor, wait: Wait) -> Commit {
        self.say(WATCH, &Watch { topic: topic(), options: self.options, wait, cursor })
    }

    /// Rings the alarm for as long as it is due. Returns the commits.
    fn ring(&mut self) -> Vec<Commit> {
        let mut commits = Vec::new();
        while let Some(at) = self.entity.as_ref().and_then(|entity| entity.alarm).filter(|at| *at <= self.now) {
            commits.push(self.turn(&Input::Alarm { at }));
        }
        commits
    }

    /// Registers waits whose deadline passes while their runs are paused, and publishes events after that.
    /// Then the deadlines are moved, so that a single pass has all waits and events.
    fn meet(&mut self, events: &[Box<RawValue>]) -> Vec<Commit> {
        let count = u32::try_from(events.len()).unwrap();
        for number in 0..count {
            self.watch(number, Some(NOW + 1));
        }
        self.now = Millis(NOW + 1_000);
        for event in events {
            self.publish(event.clone());
            self.ring();
        }
        assert_eq!((self.record().pending, self.record().watching), (u64::from(count), u64::from(count)));
        for number in 0..count {
            self.say(MOVE, &wait(number, Some(NOW + 60_000)));
        }
        self.reads = 0;
        let commits = self.ring();
        assert_eq!((self.record().pending, self.record().watching), (0, 0));
        commits
    }

    /// Takes a turn, again and again until it has the rows that it needs.
    fn turn(&mut self, input: &Input) -> Commit {
        let (key, mut read) = (topic().address().unwrap(), Vec::new());
        loop {
            let rows = Rows::of(read.clone());
            let next = handler::Topics(Slices::SHIPPED).turn(
                &mut Hot::default(),
                &key,
                self.entity.as_ref(),
                &rows,
                input,
                drystone_runtime::Now { at: self.now, mark: drystone_runtime::Mark::new(1) },
            );
            match next {
                Next::Read(ranges) => {
                    self.reads += 1;
                    read.extend(ranges.into_iter().map(|range| (range.clone(), self.read(&range))));
                }
                Next::Commit(commit) => return self.apply(commit),
                other => panic!("{other:?}"),
            }
        }
    }

    fn read(&self, range: &Range) -> Vec<Row> {
        let from = (range.lane.clone(), range.from.clone().unwrap_or_default());
        let rows = self.rows.range(from..).take_while(|((lane, _), _)| *lane == range.lane);
        let row = |((lane, key), body): (&(Name, Bytes), &Bytes)| Row {
            lane: lane.clone(),
            key: key.clone(),
            body: body.clone(),
        };
        rows.take(range.limit as usize).map(row).collect()
    }

    fn apply(&mut self, commit: Commit) -> Commit {
        for row in &commit.put {
            self.rows.insert((row.lane.clone(), row.key.clone()), row.body.clone());
        }
        for row in &commit.remove {
            self.rows.remove(row);
        }
        if commit.destroy {
            self.entity = None;
            return commit;
        }
        let entity = self.entity.get_or_insert_with(|| bound(topic().address().unwrap()));
        entity.head = commit.head.clone().unwrap_or_else(|| entity.head.clone());
        entity.alarm = match commit.alarm {
            Change::Keep => entity.alarm,
            Change::Clear => None,
            Change::Set(at) => Some(at),
        };
        commit
    }

    fn record(&self) -> Record {
        decode(&self.entity.as_ref().unwrap().head).unwrap()
    }

    /// Returns the events of a lane, by number.
    fn events(&self, lane: &Name) -> Vec<(u64, String)> {
        let own = self.rows.iter().filter(|((of, _), _)| of == lane);
        own.map(|((_, key), body)| (record::number_in(key), decode::<Kept>(body).unwrap().event.get().to_owned()))
            .collect()
    }
}

fn bound(key: Key) -> Entity {
    Entity {
        id: Version(1),
        key,
        kind: Name::new("topic"),
        definition: DEFINITION,
        version: Version(1),
        status: Status::resting("open"),
        config: Fingerprint(0),
        active: false,
        head: Bytes::new(),
        state: Bytes::new(),
        alarm: None,
        crashes: drystone_runtime::Crashes::NONE,
        suspect: None,
        parked: None,
        created_at: Millis(NOW),
        updated_at: Millis(NOW),
    }
}

/// T3, T1
#[test]
fn what_comes_back_to_a_topic_that_was_gone_meanwhile_takes_the_place_of_nobody() {
    let mut shelf = Shelf::new(ONE);
    shelf.publish(event(7));
    let came_back = |birth| Declined { topic: topic(), options: ONE, birth, number: 1, at: NOW - 5, event: event(8) };
    shelf.say(DECLINED, &came_back(NOW - 9));
    assert_eq!(shelf.events(&PENDING), [(1, "7".to_owned()), (2, "8".to_owned())]);
    assert_eq!((shelf.record().last, shelf.record().pending), (2, 2));
    let mut own = Shelf::new(ONE);
    own.say(DECLINED, &came_back(NOW));
    assert_eq!((own.events(&PENDING), own.events(&LOG)), (vec![(1, "8".to_owned())], Vec::new()));
}

/// Returns the size of a commit as K3 limits it: changes, and bytes.
fn size(commit: &Commit) -> (usize, usize) {
    let put: usize = commit.put.iter().map(|row| row.key.len() + row.body.len()).sum();
    let sent: usize = commit.send.iter().map(|message| message.body.len()).sum();
    let head = commit.head.as_ref().map_or(0, Bytes::len);
    (commit.put.len() + commit.remove.len() + commit.send.len(), put + sent + head)
}

/// T3, T5, K3
#[test]
fn two_hundred_events_that_meet_two_hundred_who_wait_are_given_in_slices_and_read_seldom() {
    let mut shelf = Shelf::new(ONE);
    let events: Vec<_> = (0..200).map(event).collect();
    let commits = shelf.meet(&events);
    let changes: Vec<_> = commits.iter().map(|commit| size(commit).0).collect();
    assert!(changes.iter().all(|changes| *changes < 900), "{changes:?}");
    assert!(shelf.reads < 30, "{} reads", shelf.reads);
    assert_eq!(shelf.events(&LOG).len(), 200);
    let sent: usize = commits.iter().map(|commit| commit.send.len()).sum();
    assert_eq!(sent, 200, "one for each");
}

/// T3, T5, K3
#[test]
fn long_events_that_meet_those_who_wait_are_given_in_slices() {
    let mut shelf = Shelf::new(ONE);
    let long = serde_json::to_string(&"x".repeat(900 << 10)).unwrap();
    let events = vec![RawValue::from_string(long).unwrap(); 3];
    let bytes: Vec<_> = shelf.meet(&events).iter().map(|commit| size(commit).1).collect();
    assert!(bytes.iter().all(|bytes| *bytes < 4 << 20), "{bytes:?}");
}

/// T3, T1
#[test]
fn who_got_what_is_bounded_and_what_somebody_has_taken_is_not_lost() {
    let mut shelf = Shelf::new(TopicOptions { max_pending: 3, ..ONE });
    let mut told = Vec::new();
    for number in 0..1_500 {
        shelf.watch(number, None);
        told.extend(shelf.publish(event(number)).emit);
        shelf.ring();
    }
    let (record, rows) = (shelf.record(), shelf.rows.keys().filter(|(lane, _)| *lane == GIVEN).count() as u64);
    assert_eq!((record.given, record.logged, record.trimmed), (rows, 3, 0));
    assert!(rows <= GIVEN_MIN, "{rows}");
    assert!(told.iter().all(|told| told.name == "topic.published"), "somebody has each of them");
}

/// T2
#[test]
fn a_log_that_grew_too_long_while_it_was_told_is_as_long_as_it_may_be_again() {
    let mut shelf = Shelf::new(TopicOptions { max_pending: 5, ..TopicOptions::NEW });
    for number in 0..300 {
        shelf.watch(number, None);
    }
    for number in 0..9 {
        shelf.publish(event(number));
    }
    assert_eq!(shelf.record().logged, 9, "somebody who waited is still to have the first");
    shelf.ring();
    for number in 9..14 {
        shelf.publish(event(number));
    }
    let record = shelf.record();
    assert_eq!((record.logged, record.trimmed, shelf.events(&LOG).len()), (5, 9, 5));
}

/// T2
#[test]
fn what_is_kept_no_longer_and_was_not_swept_yet_is_for_no_wait_that_comes() {
    let mut shelf = Shelf::new(TopicOptions::NEW);
    shelf.publish(event(1));
    shelf.now = Millis(NOW + i64::try_from(TopicOptions::NEW.keep_for_ms).unwrap() - 1);
    shelf.publish(event(2));
    assert_eq!(shelf.watch_from(Cursor::Oldest, wait(1, None)).send.len(), 1, "the first, which is kept still");
    shelf.now = Millis(shelf.now.0 + 1);
    for cursor in [Cursor::Oldest, Cursor::Since(NOW)] {
        let commit = shelf.watch_from(cursor, wait(2, None));
        let sent: Vec<_> =
            commit.send.iter().map(|message| decode::<Delivered>(&message.body).unwrap().seen.number).collect();
        assert_eq!(sent, [2], "a run that has seen the first may have forgotten it");
    }
}

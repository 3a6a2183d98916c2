//! One entity of one kind in memory, for tests: turns, alarm, lanes and work as the kernel has them. After
//! every turn it checks the rules that hold for every kind.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drystone_runtime::{
    Change, Commit, Entity, Epoch, Fingerprint, Key, Lifecycle, Mark, Message, Millis, Name, Now, Phase, Range, Reply,
    Row, Rows, Status, Ticket, To, Version,
};

use super::{Answer, Author, Done, Ended, Kind, Piece, Shown, Started, Stop, Turn, turn::Fold};
use crate::{
    author::Given,
    decode, encode,
    primitive::{Code, HookCode, HookRun},
};

/// The entity, and everything that was seen of it.
pub(crate) struct World<K: Kind> {
    pub(crate) kind: K,
    pub(crate) now: Millis,
    pub(crate) entity: Option<Entity>,
    pub(crate) author: Author,
    lanes: BTreeMap<Name, BTreeMap<Bytes, Bytes>>,
    held: BTreeMap<(Version, Name), BTreeMap<Bytes, Bytes>>,
    gone: BTreeSet<Name>,
    key: Key,
    /// The running pieces.
    pub(crate) running: Vec<Piece>,
    /// Every piece and attempt that has ended. None may end twice.
    ended: BTreeSet<(String, u32)>,
    /// Number, attempt and time of every start.
    pub(crate) started: Vec<(u64, u32, Millis)>,
    pub(crate) sent: Vec<Message>,
    pub(crate) told: Vec<Lifecycle>,
    pub(crate) answered: Vec<(Name, Bytes)>,
    /// The ticket of the last caller.
    pub(crate) ticket: Ticket,
    /// The callers that are held.
    pub(crate) waiting: BTreeSet<Ticket>,
    /// The answers that held callers got.
    pub(crate) heard: Vec<(Ticket, Reply)>,
    /// The callers that were answered after they had left.
    unheard: Vec<Ticket>,
    /// Commits that wrote something.
    pub(crate) commits: usize,
    /// The alarm that has rung and is still set.
    rung: Option<Millis>,
}

const NO_CODE: Code = Code {
    actions: &[],
    hooks: &[
        HookCode { name: "tick", writes: true, applies: false, transaction: false },
        HookCode { name: "flush", writes: true, applies: false, transaction: false },
        HookCode { name: "process", writes: false, applies: false, transaction: false },
        HookCode { name: "alarm", writes: true, applies: false, transaction: false },
    ],
    creates: &[],
    init: None,
    destroy_transaction: false,
    has_destroy: false,
    has_reduce: false,
};

const FOLDING: Code = Code { has_reduce: true, ..NO_CODE };

impl<K: Kind> World<K> {
    fn moment(&self) -> Now {
        Now { at: self.now, mark: Mark::new(1) }
    }

    pub(crate) fn new(kind: K) -> Self {
        let author =
            Author { code: NO_CODE, reduce: |_, _| Err("it does not fold".to_owned()), check_item: |_| Ok(()) };
        Self {
            kind,
            now: Millis(1_000_000),
            entity: None,
            author,
            lanes: BTreeMap::new(),
            held: BTreeMap::new(),
            gone: BTreeSet::new(),
            key: Key::new("app", "a").unwrap(),
            running: Vec::new(),
            ended: BTreeSet::new(),
            started: Vec::new(),
            sent: Vec::new(),
            told: Vec::new(),
            answered: Vec::new(),
            ticket: Ticket { epoch: Epoch(1), number: 0 },
            waiting: BTreeSet::new(),
            heard: Vec::new(),
            unheard: Vec::new(),
            commits: 0,
            rung: None,
        }
    }

    pub(crate) fn folding(kind: K, reduce: Fold) -> Self {
        let world = Self::new(kind);
        Self { author: Author { code: FOLDING, reduce, ..world.author }, ..world }
    }

    pub(crate) fn start(&mut self) -> Started {
        if self.entity.is_none() {
            self.bind(|_, _| Ok(())).unwrap();
            return Started::Started;
        }
        self.turn(|kind, turn| Ok(kind.restart(turn))).unwrap()
    }

    /// Calls a verb, which binds the key if nothing is bound.
    pub(crate) fn call(&mut self, verb: &str, body: &str) -> Result<Answer, Stop> {
        self.ticket.number += 1;
        let ask = |kind: &K, turn: &mut Turn<'_, K::Record>| kind.verb(turn, verb, body.as_bytes());
        let answer = if self.entity.is_none() {
            assert!(K::BINDING.contains(&verb), "nothing is bound");
            self.bind(ask)
        } else {
            self.turn_for(Some(self.ticket), ask)
        };
        if matches!(answer, Ok(Answer::Held(_))) {
            self.waiting.insert(self.ticket);
        }
        answer
    }

    /// Lets a held caller leave, or miss its answer.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        self.waiting.remove(&ticket);
        self.turn(|kind, turn| kind.gone(turn, ticket)).unwrap();
    }

    /// Calls a verb that answers at once.
    pub(crate) fn ask<T: crate::Stored>(&mut self, verb: &str, body: &str) -> T {
        match self.call(verb, body).unwrap() {
            Answer::Now(bytes) => decode(&bytes).unwrap(),
            Answer::Held(name) => panic!("held under {name}"),
        }
    }

    /// Lets time pass. Alarms ring when they are due.
    pub(crate) fn pass(&mut self, millis: u64) {
        let until = Millis(self.now.0 + millis as i64);
        while let Some(due) = self.alarm().filter(|due| *due <= until && self.rung != Some(*due)) {
            self.now = self.now.max(due);
            self.ring();
        }
        self.now = until;
    }

    /// Lets time pass with late alarms: they ring when time passes again.
    pub(crate) fn lag(&mut self, millis: u64) {
        self.now = Millis(self.now.0 + millis as i64);
    }

    /// Kills the process, lets time pass, and starts it again.
    pub(crate) fn crash(&mut self, millis: u64) {
        self.running.clear();
        self.waiting.clear();
        self.ticket.epoch.0 += 1;
        self.now = Millis(self.now.0 + millis as i64);
        self.rung = None;
        self.tend();
        self.pass(0);
    }

    fn ring(&mut self) {
        self.rung = self.alarm();
        self.turn(Kind::alarm).unwrap();
    }

    /// Ends the first running piece.
    pub(crate) fn end(&mut self, ended: Ended) {
        self.end_at(0, ended);
    }

    /// Ends one of the running pieces.
    #[expect(clippy::needless_pass_by_value, reason = "an end is handed over")]
    pub(crate) fn end_at(&mut self, index: usize, ended: Ended) {
        let piece = self.running.remove(index);
        assert!(self.ended.insert((piece.name(), piece.attempt)), "{} ends twice", piece.name());
        let done = Done { hook: piece.hook.to_owned(), number: piece.number, attempt: piece.attempt };
        self.turn(|kind, turn| kind.done(turn, &done, ended.clone())).unwrap();
        self.pass(0);
    }

    /// Sets or clears the alarm, as an action of the author.
    pub(crate) fn set_alarm(&mut self, at: Option<Millis>) {
        self.turn(|kind, turn| {
            kind.alarm_set(turn);
            turn.said_alarm(at.map_or(Change::Clear, Change::Set));
            Ok(())
        })
        .unwrap();
        self.pass(0);
    }

    pub(crate) fn fail(&mut self) {
        self.end(Ended::Failed("no".into()));
    }

    pub(crate) fn destroy(&mut self) {
        let ends = |_: &K, turn: &mut Turn<'_, K::Record>| {
            turn.destroy();
            Ok(())
        };
        self.turn(ends).unwrap();
    }

    pub(crate) fn change(&mut self, kind: K) {
        self.kind = kind;
        if self.entity.is_some() {
            self.running.clear();
            // Changed code means another process, in which a due alarm rings again.
            self.rung = None;
            self.turn(Kind::changed).unwrap();
            self.pass(0);
        }
    }

    pub(crate) fn alarm(&self) -> Option<Millis> {
        self.entity.as_ref().and_then(|entity| entity.alarm)
    }

    pub(crate) fn record(&self) -> K::Record {
        self.entity.as_ref().map(|entity| decode(&entity.head).unwrap()).unwrap_or_default()
    }

    pub(crate) fn status(&self) -> K::Status {
        let record = self.record();
        let status = self.kind.status(&self.shown(&record));
        decode(&encode(&status).unwrap()).unwrap()
    }

    /// Returns the time that a running piece stands for.
    pub(crate) fn scheduled_for(&self) -> Option<crate::Timestamp> {
        let record = self.record();
        self.kind.scheduled_for(&self.shown(&record))
    }

    /// Returns the input of the code of a piece.
    pub(crate) fn given(&self, piece: &Piece) -> Given {
        let empty = BTreeMap::new();
        let rows = piece.items.as_ref().map_or(&empty, |items| {
            let lane = Name::from(items.lane.clone());
            let found = match items.of {
                Some(of) => self.held.get(&(Version(of), lane)),
                None => self.lanes.get(&lane),
            };
            found.unwrap_or(&empty)
        });
        let only = piece.items.as_ref().and_then(|items| items.row.as_ref());
        let is_given = |key: &Bytes| only.is_none_or(|only| key == only);
        let rows: Vec<Bytes> = rows.iter().filter(|(key, _)| is_given(key)).map(|(_, row)| row.clone()).collect();
        let mark = piece.mark.or_else(|| rows.first().and_then(|row| K::mark_in(row)));
        let id = crate::context::marked_id("thing-7", mark, &piece.name());
        let run = Some(HookRun { id, number: piece.number, attempt: piece.attempt });
        Given { body: piece.told.clone(), rows, run }
    }

    /// Returns the rows of a lane.
    pub(crate) fn lane(&self, lane: &str) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        self.lanes.get(&Name::from(lane.to_owned())).into_iter().flatten()
    }

    /// Returns all rows of the entity itself.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Bytes> {
        self.lanes.values().flat_map(BTreeMap::values)
    }

    /// Returns all rows that are held for another entity.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Bytes> {
        self.held.values().flat_map(BTreeMap::values)
    }

    fn shown<'a>(&'a self, record: &'a K::Record) -> Shown<'a, K::Record> {
        let entity = self.entity.as_ref().expect("it is bound");
        Shown {
            id: entity.id,
            definition: &entity.definition,
            record,
            word: &entity.status.word,
            alarm: entity.alarm.map(Into::into),
            now: self.now.into(),
        }
    }

    fn bind<V>(&mut self, then: impl FnOnce(&K, &mut Turn<'_, K::Record>) -> Result<V, Stop>) -> Result<V, Stop> {
        let (rows, key) = (Rows::default(), self.key.clone());
        let mut turn =
            Turn::new(K::Record::default(), self.moment(), &key, None, &rows, self.author).asked_by(Some(self.ticket));
        self.kind.born(&mut turn);
        let value = then(&self.kind, &mut turn)?;
        let Turn { record, commit, .. } = turn;
        let id = Version(self.commits as u64 + 7);
        self.entity = Some(Entity {
            id,
            key,
            kind: Name::new(K::NAME),
            definition: Name::new("thing"),
            version: id,
            status: Status::resting("bound"),
            config: Fingerprint(0),
            active: false,
            head: Bytes::new(),
            state: Bytes::from_static(b"{\"the\":\"state\"}"),
            alarm: None,
            crashes: drystone_runtime::Crashes::NONE,
            suspect: None,
            parked: None,
            created_at: self.now,
            updated_at: self.now,
        });
        self.apply(&record, commit);
        Ok(value)
    }

    fn turn<V>(&mut self, take: impl Fn(&K, &mut Turn<'_, K::Record>) -> Result<V, Stop>) -> Result<V, Stop> {
        self.turn_for(None, take)
    }

    /// Takes a turn, asking again until it has the rows that it needs.
    fn turn_for<V>(
        &mut self,
        caller: Option<Ticket>,
        take: impl Fn(&K, &mut Turn<'_, K::Record>) -> Result<V, Stop>,
    ) -> Result<V, Stop> {
        let (entity, key, mut read) = (self.entity.clone(), self.key.clone(), Vec::new());
        let entity = entity.expect("it is bound");
        let (record, commit, value) = loop {
            let rows = Rows::of(read.clone());
            let turn = Turn::new(self.record(), self.moment(), &key, Some(&entity), &rows, self.author);
            let mut turn = turn.asked_by(caller);
            let value = match take(&self.kind, &mut turn) {
                Err(Stop::Read(ranges)) => {
                    read.extend(ranges.into_iter().map(|range| (range.clone(), self.read(&range))));
                    continue;
                }
                value => value?,
            };
            if turn.commit.destroy {
                self.kind.ends(&mut turn);
            }
            let Turn { record, commit, .. } = turn;
            break (record, commit, value);
        };
        self.apply(&record, commit);
        while let Some(ticket) = self.unheard.pop() {
            self.leave(ticket);
        }
        Ok(value)
    }

    fn read(&self, range: &Range) -> Vec<Row> {
        let from = range.from.clone().unwrap_or_default();
        let rows = self.lanes.get(&range.lane).into_iter().flat_map(|rows| rows.range(from.clone()..));
        let row =
            |(key, body): (&Bytes, &Bytes)| Row { lane: range.lane.clone(), key: key.clone(), body: body.clone() };
        rows.take(range.limit as usize).map(row).collect()
    }

    fn apply(&mut self, record: &K::Record, mut commit: Commit) {
        let entity = self.entity.as_mut().expect("it is bound");
        let head = encode(record).unwrap();
        commit.head = (head != entity.head).then_some(head);
        self.commits += usize::from(commit.writes());
        // An alarm that is still due after a commit rings again; after a turn that writes nothing it does
        // not.
        self.rung = self.rung.filter(|_| !commit.writes());
        entity.head = commit.head.unwrap_or_else(|| entity.head.clone());
        entity.alarm = commit.alarm.apply(entity.alarm);
        entity.status = commit.status.unwrap_or_else(|| entity.status.clone());
        let id = entity.id;
        assert!(
            commit.put.len() + commit.remove.len() + commit.drop.len() + commit.release.len() < 999,
            "too many rows"
        );
        // In the kernel's order: lanes are dropped before rows are put.
        for gone in commit.drop {
            assert!(self.gone.insert(gone.lane.clone()), "{} is dropped twice", gone.lane);
            let rows = self.lanes.remove(&gone.lane).expect("a lane that is dropped was there");
            if gone.held {
                self.held.insert((id, gone.lane), rows);
            }
        }
        for (lane, key) in commit.remove {
            let was_there = self.lanes.get_mut(&lane).and_then(|rows| rows.remove(&key)).is_some();
            assert!(was_there, "{lane} has no {key:?} to remove");
        }
        for row in commit.put {
            assert!(!self.gone.contains(&row.lane), "{} is used again", row.lane);
            self.lanes.entry(row.lane).or_default().insert(row.key, row.body);
        }
        for (of, lane) in commit.release {
            assert!(self.held.remove(&(of, lane.clone())).is_some(), "{lane} is released and was not held");
        }
        self.sent.extend(commit.send);
        self.told.extend(commit.emit);
        for (to, reply) in commit.replies {
            match to {
                To::All(name) => self.answered.push((name, reply.unwrap())),
                To::Ticket(ticket) if self.waiting.remove(&ticket) => self.heard.push((ticket, reply)),
                To::Ticket(ticket) => self.unheard.push(ticket),
            }
        }
        if commit.destroy {
            (self.entity, self.running) = (None, Vec::new());
            self.lanes.clear();
        }
        self.tend();
    }

    /// Runs the listed pieces as the kernel does. Checks that the kind drops no running piece.
    fn tend(&mut self) {
        if self.entity.is_none() {
            return;
        }
        let record = self.record();
        let shown = self.shown(&record);
        let listed: Vec<Piece> =
            self.kind.work(&shown).into_iter().map(|piece| self.kind.prepared(&shown, piece)).collect();
        let names: BTreeSet<_> = listed.iter().map(Piece::name).collect();
        assert_eq!(names.len(), listed.len(), "one twice: {listed:?}");
        for running in &self.running {
            let same = |piece: &Piece| (piece.name(), piece.attempt) == (running.name(), running.attempt);
            assert!(listed.iter().any(same), "{} is dropped while it runs; listed: {listed:?}", running.name());
        }
        for piece in &listed {
            if self.running.iter().all(|running| running.name() != piece.name()) {
                assert!(!self.ended.contains(&(piece.name(), piece.attempt)), "{} has ended", piece.name());
                self.started.push((piece.number, piece.attempt, self.now));
                self.running.push(piece.clone());
            }
        }
        let entity = self.entity.as_ref().expect("it is bound");
        let is_woken = entity.alarm.is_some() || !listed.is_empty();
        assert!(entity.status.phase != Phase::Live || is_woken, "nothing wakes it: {:?}", entity.status);
    }
}

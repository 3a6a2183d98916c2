//! A buffer against its model: after any inputs in any order, both agree, and every item is in one place.

use bytes::Bytes;
use proptest::prelude::*;

use super::{
    model::{Model, PLANS, Plan},
    *,
};
use crate::{Timestamp, author::TakenBy, decode, kind::harness::World};

#[derive(Clone, Copy, Debug)]
enum Op {
    Add,
    Flush,
    Clear,
    Pass(u64),
    Crash(u64),
    Ok,
    Fail,
    Replay,
    Change(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        12 => Just(Op::Add),
        2 => Just(Op::Flush),
        1 => Just(Op::Clear),
        5 => (0_u64..30).prop_map(Op::Pass),
        1 => (0_u64..30).prop_map(Op::Crash),
        3 => Just(Op::Ok),
        5 => Just(Op::Fail),
        2 => Just(Op::Replay),
        1 => (0_usize..PLANS.len()).prop_map(Op::Change),
    ];
    prop::collection::vec(op, 1..80)
}

/// Folds by keeping all items, so that the test sees what was folded.
fn keep_all(folded: Option<&[u8]>, item: &[u8]) -> Result<Bytes, String> {
    crate::author::fold(folded, item, |all: &mut Vec<u64>, item: u64| all.push(item))
}

struct Pair {
    world: World<Options>,
    model: Model,
    folds: bool,
    added: u64,
    /// Dead letters that were not replayed yet, with their items.
    letters: Vec<(String, Vec<u64>)>,
}

impl Pair {
    fn new(plan: Plan, folds: bool) -> Self {
        let options = plan.options();
        let mut world = if folds { World::folding(options, keep_all) } else { World::new(options) };
        world.start();
        let model = Model::new(plan, world.now.0);
        Self { world, model, folds, added: 0, letters: Vec::new() }
    }

    fn step(&mut self, op: Op) {
        let flies = self.model.flying.is_some();
        match op {
            Op::Add => self.add(),
            Op::Flush => self.flush(),
            Op::Clear => assert_eq!(self.world.ask::<usize>("clear", "[]"), self.model.clear()),
            Op::Pass(millis) => {
                self.world.pass(millis);
                self.model.pass(millis as i64);
            }
            Op::Crash(millis) => {
                self.world.crash(millis);
                self.model.now += millis as i64;
                self.model.fly();
                self.model.settle();
            }
            Op::Ok if flies => {
                self.world.end(Ended::Ok);
                self.model.ok();
            }
            Op::Fail if flies => {
                self.world.fail();
                self.model.fail();
            }
            Op::Replay => self.replay(),
            Op::Change(plan) => {
                self.world.change(PLANS[plan].options());
                (self.model.plan, self.model.flying) = (PLANS[plan], None);
                self.model.settle();
            }
            Op::Ok | Op::Fail => {}
        }
        self.collect_letters();
    }

    fn add(&mut self) {
        self.added += 1;
        let now = self.model.now;
        let added = self.world.call("add", &format!("[{}]", self.added));
        // A batch that is due is closed before the item is added.
        self.model.settle();
        let count = self.model.open.items.len() as u64;
        if !self.model.add(self.added) {
            return assert!(matches!(added, Err(Stop::Failed(_))), "{added:?}");
        }
        let Ok(Answer::Now(bytes)) = added else { panic!("{added:?}") };
        let added: Added = decode(&bytes).unwrap();
        let flushes_at = self.model.deadline().unwrap_or(now);
        assert_eq!(added, Added { buffered: count + 1, flushes_at: Timestamp::from_millis(flushes_at) });
    }

    fn flush(&mut self) {
        match (self.world.call("flush", "[]").unwrap(), self.model.flush()) {
            (Answer::Held(name), Some(number)) => assert_eq!(name, lane(number).as_str()),
            (Answer::Now(_), None) => {}
            other => panic!("{other:?}"),
        }
    }

    fn collect_letters(&mut self) {
        for message in std::mem::take(&mut self.world.sent) {
            assert_eq!((message.verb.as_str(), message.to.key.as_ref()), ("batch", b"dead-letters".as_slice()));
            let letter: serde_json::Value = serde_json::from_slice(&message.body).unwrap();
            let items = self.model.dead.last().unwrap().clone();
            assert_eq!(letter[0]["count"], items.len());
            self.letters.push((serde_json::to_string(&letter).unwrap(), items));
        }
    }

    fn replay(&mut self) {
        if self.letters.is_empty() {
            return;
        }
        let (letter, items) = self.letters.remove(0);
        let _: u64 = self.world.ask("replay_batch", &letter);
        let index = self.model.dead.iter().position(|dead| *dead == items).unwrap();
        self.model.dead.remove(index);
        self.model.replay(items);
    }

    fn items(&self, rows: impl Iterator<Item = Bytes>) -> Vec<u64> {
        let mut items: Vec<u64> = rows
            .flat_map(|row| if self.folds { decode(&row).unwrap() } else { vec![decode::<u64>(&row).unwrap()] })
            .collect();
        items.sort_unstable();
        items
    }

    fn compare(&self) {
        self.compare_flight();
        let (status, model) = (self.world.status(), &self.model);
        let time = Timestamp::from_millis;
        assert_eq!((status.open, status.flushes_at), (model.open.items.len() as u64, model.deadline().map(time)));
        assert_eq!((status.closed.batches, status.in_flight), (model.closed.len() as u64, model.flying));
        let alarm = model.deadline().into_iter().chain(model.next_try()).min();
        assert_eq!(self.world.alarm().map(|at| at.0), alarm);
        let flushed = model.flushed.iter().map(|items| items.len() as u64).sum();
        assert_eq!(status.flushed, Sum { batches: model.flushed.len() as u64, items: flushed });
        assert_eq!(status.dead, model.deaths);
        self.compare_items();
        self.compare_answers();
    }

    /// Checks that the running flush gets the items of the model's batch, in order, under one id.
    fn compare_flight(&self) {
        let Some(piece) = self.world.running.first() else { return assert_eq!(self.model.flying, None) };
        let lot = self.model.closed.iter().find(|lot| Some(lot.number) == self.model.flying).unwrap();
        let given = self.world.given(piece);
        let (number, attempt, items) = if self.folds {
            let folded = Folded::<Vec<u64>>::take(given).unwrap();
            assert_eq!(folded.count, folded.value.len() as u64);
            (folded.number, folded.attempt, folded.value)
        } else {
            let batch = Batch::<u64>::take(given).unwrap();
            (batch.number, batch.attempt, batch.items)
        };
        assert_eq!((number, attempt, &items), (lot.number, lot.attempts + 1, &lot.items));
    }

    /// Checks that every item that is not flushed or cleared is stored in one place.
    fn compare_items(&self) {
        let own = self.model.closed.iter().filter(|lot| !lot.is_replayed).chain([&self.model.open]);
        let mut own: Vec<u64> = own.flat_map(|lot| lot.items.clone()).collect();
        own.sort_unstable();
        let folded = self.world.record().open.folded.map(|folded| Bytes::copy_from_slice(folded.get().as_bytes()));
        assert_eq!(self.items(self.world.rows().cloned().chain(folded)), own);
        let replayed = self.model.closed.iter().filter(|lot| lot.is_replayed).map(|lot| &lot.items);
        let mut held: Vec<u64> = self.model.dead.iter().chain(replayed).flatten().copied().collect();
        held.sort_unstable();
        assert_eq!(self.items(self.world.held().cloned()), held);
    }

    /// Checks that the callers of `flush` are answered when their batch has ended, and not before.
    fn compare_answers(&self) {
        for (number, expected) in &self.model.waiting {
            let name = lane(*number);
            let answers: Vec<Flushed> = self
                .world
                .answered
                .iter()
                .filter(|(to, _)| *to == name.as_str())
                .map(|(_, answer)| decode(answer).unwrap())
                .collect();
            let answers: Vec<_> = answers.iter().map(|answer| (answer.count as usize, word(&answer.result))).collect();
            assert_eq!(answers, expected.iter().copied().collect::<Vec<_>>());
        }
    }
}

fn word(result: &FlushResult) -> &'static str {
    match result {
        FlushResult::Flushed => "flushed",
        FlushResult::Dead(_) => "dead",
        FlushResult::Cleared => "cleared",
    }
}

proptest! {
    // A quarter of the configured cases, because each case is dozens of turns.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    /// B1, B2, B3, B4, B5, B6, B7, B8, D2
    #[test]
    fn it_does_what_the_model_does(plan in 0..PLANS.len(), folds: bool, ops in ops()) {
        let mut pair = Pair::new(PLANS[plan], folds);
        pair.compare();
        for op in ops {
            pair.step(op);
            pair.compare();
        }
    }
}

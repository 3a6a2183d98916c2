//! A queue against its model: after any inputs in any order, both agree, and every item is in one place.

use proptest::prelude::*;

use super::{
    model::{Model, PLANS, Plan, Thing},
    *,
};
use crate::{author::TakenBy, decode, encode, kind::harness::World};

#[derive(Clone, Copy, Debug)]
enum Op {
    Enqueue { priority: u8, delay: u64, key: Option<u8> },
    Many(u64),
    Pause(bool),
    Drain,
    Pass(u64),
    Crash(u64),
    Ok(usize),
    Fail(usize),
    Replay,
    Change(usize),
}

const WINDOW: u64 = 20;

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let enqueue = (0_u8..3, prop_oneof![3 => Just(0_u64), 1 => 1_u64..25], prop::option::weighted(0.3, 0_u8..3));
    let op = prop_oneof![
        10 => enqueue.prop_map(|(priority, delay, key)| Op::Enqueue { priority, delay, key }),
        1 => (1_u64..60).prop_map(Op::Many),
        1 => any::<bool>().prop_map(Op::Pause),
        1 => Just(Op::Drain),
        5 => (0_u64..30).prop_map(Op::Pass),
        1 => (0_u64..30).prop_map(Op::Crash),
        8 => (0_usize..3).prop_map(Op::Ok),
        5 => (0_usize..3).prop_map(Op::Fail),
        2 => Just(Op::Replay),
        1 => (0_usize..PLANS.len()).prop_map(Op::Change),
    ];
    prop::collection::vec(op, 1..100)
}

struct Pair {
    world: World<Options>,
    model: Model,
    enqueued: u64,
    /// Dead letters that were not replayed yet.
    letters: Vec<serde_json::Value>,
}

impl Pair {
    fn new(plan: Plan) -> Self {
        let mut world = World::new(plan.options());
        world.start();
        let model = Model::new(plan, world.now.0);
        Self { world, model, enqueued: 0, letters: Vec::new() }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Enqueue { priority, delay, key } => self.enqueue(priority, delay, key),
            Op::Many(count) => (0..count).for_each(|_| self.enqueue(0, 0, None)),
            Op::Pause(paused) => {
                let changed: bool = self.world.ask(if paused { "pause" } else { "resume" }, "[]");
                assert_eq!(changed, std::mem::replace(&mut self.model.paused, paused) != paused);
                self.model.settle();
            }
            Op::Drain => match self.world.call("drain", "[]").unwrap() {
                Answer::Held(_) => assert!(self.model.depth() > 0),
                Answer::Now(_) => assert_eq!(self.model.depth(), 0),
            },
            Op::Pass(millis) => {
                self.world.pass(millis);
                self.model.pass(millis as i64);
            }
            Op::Crash(millis) => {
                self.world.crash(millis);
                self.model.now += millis as i64;
                self.model.settle();
            }
            Op::Ok(index) => self.end(index, Ended::Ok),
            Op::Fail(index) => self.end(index, Ended::Failed("no".into())),
            Op::Replay => self.replay(),
            Op::Change(plan) => {
                self.world.change(PLANS[plan].options());
                self.model.plan = PLANS[plan];
                self.model.settle();
            }
        }
        self.letters.extend(std::mem::take(&mut self.world.sent).iter().map(|letter| {
            let [letter]: [serde_json::Value; 1] = decode(&letter.body).unwrap();
            letter
        }));
    }

    fn enqueue(&mut self, priority: u8, delay: u64, key: Option<u8>) {
        self.enqueued += 1;
        let mut how = Enqueue::new().priority(priority).delay(std::time::Duration::from_millis(delay));
        if let Some(key) = key {
            how = how.dedup(key.to_string(), std::time::Duration::from_millis(WINDOW));
        }
        let how = String::from_utf8(encode(&how).unwrap().to_vec()).unwrap();
        let answer = self.world.call("enqueue", &format!("[[{}],{how}]", self.enqueued));
        let before = key.and_then(|key| self.model.before(key));
        if before.is_none() && !self.model.has_room() {
            return assert!(matches!(answer, Err(Stop::Failed(_))), "{answer:?}");
        }
        let Ok(Answer::Now(bytes)) = answer else { panic!("{answer:?}") };
        let told: EnqueuedMany = decode(&bytes).unwrap();
        assert_eq!((told.first, told.is_new), (before.unwrap_or(self.model.last + 1), before.is_none()));
        if before.is_none() {
            self.model.once.retain(|(known, ..)| Some(*known) != key);
            self.model.once.extend(key.map(|key| (key, told.first, self.model.now + WINDOW as i64)));
            self.model.enqueue(self.enqueued, priority, delay as i64);
        }
    }

    fn end(&mut self, index: usize, ended: Ended) {
        if self.world.running.is_empty() {
            return;
        }
        let index = index % self.world.running.len();
        let number = self.world.running[index].number;
        match &ended {
            Ended::Ok => self.model.ok(number),
            Ended::Failed(_) => self.model.fail(number),
        }
        self.world.end_at(index, ended);
        self.model.pass(0);
    }

    fn replay(&mut self) {
        if self.letters.is_empty() || !self.model.has_room() {
            return;
        }
        let letter = self.letters.remove(0);
        let thing = self.model.dead.remove(0);
        assert_eq!((&letter["item"], &letter["attempts"]), (&thing.value.into(), &thing.failed.into()));
        let number: u64 = self.world.ask("replay_item", &format!("[{letter}]"));
        assert_eq!(number, self.model.last + 1);
        self.model.enqueue(thing.value, thing.priority, 0);
    }

    fn compare(&self) {
        let (stats, model) = (self.world.status(), &self.model);
        let count = |things: &[Thing]| things.len() as u64;
        assert_eq!((stats.waiting, stats.delayed), (count(&model.line), count(&model.delayed)));
        assert_eq!((stats.retrying, stats.running), (count(&model.retrying), count(&model.begun)));
        assert_eq!((stats.done, self.world.answered.len()), (model.done.len() as u64, model.drained));
        self.compare_running();
        self.compare_line();
        self.compare_rows();
    }

    /// Checks that the running pieces get the items of the model.
    fn compare_running(&self) {
        let mut running: Vec<(u64, u64, u32)> = self
            .world
            .running
            .iter()
            .map(|piece| {
                let item = Item::<u64>::take(self.world.given(piece)).unwrap();
                (item.number, item.value, item.attempt)
            })
            .collect();
        running.sort_unstable();
        let mut expected: Vec<_> =
            self.model.running().iter().map(|thing| (thing.number, thing.value, thing.failed + 1)).collect();
        expected.sort_unstable();
        assert_eq!(running, expected);
    }

    /// Checks that waiting items are shown in the order in which they will start.
    fn compare_line(&self) {
        let named = |class: &record::Class| class.ahead.iter().map(|place| place.number).collect::<Vec<_>>();
        for class in &self.world.record().line {
            let of_class = self.model.line.iter().filter(|thing| thing.priority == class.priority);
            let expected: Vec<u64> = of_class.map(|thing| thing.number).collect();
            assert_eq!(class.len(), expected.len() as u64);
            assert_eq!(named(class), expected[..class.ahead.len()]);
        }
    }

    /// Checks that every item that is neither processed nor dead is one row, and that all other rows belong
    /// to dedup keys.
    fn compare_rows(&self) {
        let items = self.world.rows().filter_map(|row| decode::<item::Kept>(row).ok());
        let mut items: Vec<u64> = items.map(|kept| kept.item.get().parse().unwrap()).collect();
        items.sort_unstable();
        let mut expected: Vec<u64> = self.model.stored().map(|thing| thing.value).collect();
        expected.sort_unstable();
        assert_eq!(items, expected);
        let keys = self.model.once.iter().filter(|(.., until)| *until + 60_000 > self.model.now).count();
        assert_eq!(self.world.rows().count(), items.len() + 2 * keys);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Q1, Q2, Q3, Q4, Q5
    #[test]
    fn a_queue_does_what_its_model_does(plan in 0_usize..PLANS.len(), ops in ops()) {
        let mut pair = Pair::new(PLANS[plan]);
        for op in ops {
            pair.step(op);
            pair.compare();
        }
    }
}

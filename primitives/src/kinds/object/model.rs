//! An object's alarm against a model of it: after any inputs in any order, both agree.

use drystone_runtime::Millis;
use proptest::prelude::*;

use super::*;
use crate::kind::harness::World;

#[derive(Clone, Copy, Debug)]
enum Op {
    Set(i64),
    Clear,
    Pass(u64),
    Crash(u64),
    Ok,
    Fail,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (0_i64..20).prop_map(Op::Set),
        1 => Just(Op::Clear),
        5 => (0_u64..15).prop_map(Op::Pass),
        1 => (0_u64..15).prop_map(Op::Crash),
        3 => Just(Op::Ok),
        4 => Just(Op::Fail),
    ];
    prop::collection::vec(op, 1..60)
}

const ATTEMPTS_MAX: u32 = 3;
const PAUSE: i64 = 4;

/// The model of an alarm, which is set, in flight or over.
#[derive(Debug, Default)]
struct Model {
    now: i64,
    alarm: Option<i64>,
    is_flying: bool,
    /// The failed executions of the present alarm.
    failures: u32,
    has_failed: bool,
    handled: u64,
}

impl Model {
    fn set(&mut self, at: Option<i64>) {
        (self.alarm, self.failures, self.has_failed) = (at, 0, false);
        self.fly();
    }

    fn pass(&mut self, millis: u64) {
        self.now += millis as i64;
        self.fly();
    }

    fn fly(&mut self) {
        self.is_flying = self.alarm.is_some_and(|alarm| alarm <= self.now);
    }

    fn ok(&mut self) {
        self.handled += 1;
        self.set(None);
    }

    fn fail(&mut self) {
        self.failures += 1;
        if self.failures == ATTEMPTS_MAX {
            (self.alarm, self.has_failed) = (None, true);
        } else {
            self.alarm = Some(self.now + PAUSE);
        }
        self.fly();
    }
}

fn step(world: &mut World<Options>, model: &mut Model, op: Op) {
    match op {
        // Code with `&mut self` waits while the hook holds the struct.
        Op::Set(after) if !model.is_flying => {
            world.set_alarm(Some(Millis(model.now + after)));
            model.set(Some(model.now + after));
        }
        Op::Clear if !model.is_flying => {
            world.set_alarm(None);
            model.set(None);
        }
        Op::Pass(millis) => {
            world.pass(millis);
            model.pass(millis);
        }
        Op::Crash(millis) => {
            world.crash(millis);
            model.pass(millis);
        }
        Op::Ok if model.is_flying => {
            world.end(Ended::Ok);
            model.ok();
        }
        Op::Fail if model.is_flying => {
            world.fail();
            model.fail();
        }
        _ => {}
    }
}

fn compare(world: &World<Options>, model: &Model) {
    let status = world.status();
    let attempt = world.running.first().map(|piece| piece.attempt);
    assert_eq!(attempt, model.is_flying.then_some(model.failures + 1));
    assert_eq!(status.alarm, model.alarm.map(Timestamp::from_millis));
    assert_eq!((status.failures, status.has_failed), (model.failures, model.has_failed));
    assert_eq!(world.kind.run_count(&world.record()), model.handled);
    assert_eq!(status.error.is_some(), model.failures > 0 || model.has_failed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    /// A1, A2, A3
    #[test]
    fn its_alarm_does_what_the_model_does(ops in ops()) {
        let mut world = World::new(Options::NEW.max_attempts(ATTEMPTS_MAX.into()).retry("4ms").checked());
        world.start();
        let mut model = Model { now: world.now.0, ..Model::default() };
        for op in ops {
            step(&mut world, &mut model, op);
            compare(&world, &model);
        }
    }
}

//! A continuous entity against a model of it: whatever comes in whatever order, both say the same.

use proptest::prelude::*;

use super::*;
use crate::{Timestamp, kind::harness::World};

#[derive(Clone, Copy, Debug)]
enum Op {
    Start,
    Stop,
    Trigger,
    Pass(u64),
    Crash(u64),
    Ok,
    Fail,
    Exhaust,
    Change(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        2 => Just(Op::Start),
        1 => Just(Op::Stop),
        2 => Just(Op::Trigger),
        6 => (0_u64..40).prop_map(Op::Pass),
        1 => (0_u64..40).prop_map(Op::Crash),
        4 => Just(Op::Ok),
        3 => Just(Op::Fail),
        1 => Just(Op::Exhaust),
        1 => (0_usize..PLANS.len()).prop_map(Op::Change),
    ];
    prop::collection::vec(op, 1..60)
}

/// What the model knows of the options.
#[derive(Clone, Copy, Debug)]
struct Plan {
    interval: i64,
    is_rate: bool,
    first_now: bool,
    max_attempts: u32,
    pause: i64,
    goes_on: bool,
}

const PLANS: [Plan; 4] = [
    Plan { interval: 10, is_rate: true, first_now: false, max_attempts: 3, pause: 4, goes_on: false },
    Plan { interval: 7, is_rate: true, first_now: true, max_attempts: 1, pause: 4, goes_on: true },
    Plan { interval: 5, is_rate: false, first_now: false, max_attempts: 2, pause: 15, goes_on: false },
    Plan { interval: 3, is_rate: false, first_now: true, max_attempts: 2, pause: 0, goes_on: true },
];

impl Plan {
    fn options(self) -> Options {
        let options = Options::NEW.max_attempts(self.max_attempts.into()).retry(&format!("{}ms", self.pause));
        let interval = format!("{}ms", self.interval);
        let options = if self.is_rate { options.every(&interval) } else { options.after(&interval) };
        let options = if self.first_now { options.first("now") } else { options };
        options.on_exhausted(if self.goes_on { "continue" } else { "stop" }).checked()
    }
}

/// What must be true, told apart from how it is stored: a tick in flight is a thing of its own here.
#[derive(Debug)]
struct Model {
    plan: Plan,
    now: i64,
    standing: Standing,
    /// When the next execution is due, if none is in flight.
    next: Option<i64>,
    /// The execution in flight, since it became due: number, attempt, and whether a point of the grid is its own.
    flying: Option<(u64, u32)>,
    due: i64,
    again: bool,
    number: u64,
    attempt: u32,
    base: i64,
    runs: u64,
    skipped: u64,
    failures: u32,
}

impl Model {
    fn start(&mut self) -> Started {
        if self.standing == Standing::Running {
            return Started::AlreadyRunning;
        }
        self.standing = Standing::Running;
        self.failures = 0;
        self.base = self.now;
        if self.flying.is_none() {
            self.next = Some(if self.plan.first_now { self.now } else { self.now + self.plan.interval });
        }
        self.fly();
        Started::Resumed
    }

    fn stop(&mut self) -> bool {
        let ran = self.standing == Standing::Running;
        if ran {
            self.standing = Standing::Stopped;
            self.again = false;
            if self.next.take().is_some() && self.attempt > 1 {
                self.new_tick();
            }
        }
        ran
    }

    fn trigger(&mut self) -> Triggered {
        if self.flying.is_some() {
            self.again = true;
            return Triggered::Next;
        }
        self.next = Some(self.now);
        self.fly();
        Triggered::Now
    }

    fn pass(&mut self, millis: i64) {
        let until = self.now + millis;
        if let Some(next) = self.next.filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.fly();
        }
        self.now = until;
    }

    /// What is due is in flight.
    fn fly(&mut self) {
        if let Some(next) = self.next.filter(|next| *next <= self.now) {
            (self.flying, self.due, self.next) = (Some((self.number, self.attempt)), next, None);
        }
    }

    fn new_tick(&mut self) {
        (self.number, self.attempt) = (self.number + 1, 1);
    }

    fn ok(&mut self) {
        self.runs += 1;
        self.failures = 0;
        self.tick_ended();
    }

    fn fail(&mut self, is_last: bool) {
        self.failures += 1;
        let runs = self.standing == Standing::Running;
        if runs && !is_last && self.attempt < self.plan.max_attempts {
            self.attempt += 1;
            self.flying = None;
            let pause = if std::mem::take(&mut self.again) { 0 } else { self.plan.pause };
            self.next = Some(self.now + pause);
            return self.fly();
        }
        if runs && !self.plan.goes_on {
            self.standing = Standing::Error;
        }
        self.tick_ended();
    }

    fn tick_ended(&mut self) {
        self.flying = None;
        self.new_tick();
        if self.standing == Standing::Running {
            self.next = Some(self.schedule());
        }
        if std::mem::take(&mut self.again) {
            self.next = Some(self.now);
        }
        self.fly();
    }

    /// The next point after now, found by walking.
    fn schedule(&mut self) -> i64 {
        if !self.plan.is_rate {
            self.base = self.now;
            return self.now + self.plan.interval;
        }
        let mut own = self.due >= self.base + self.plan.interval;
        while self.base + self.plan.interval <= self.now {
            self.base += self.plan.interval;
            self.skipped += u64::from(!std::mem::take(&mut own));
        }
        self.base + self.plan.interval
    }

    fn change(&mut self, plan: Plan) {
        self.plan = plan;
        if self.standing == Standing::Running && self.flying.is_none() && self.attempt == 1 {
            self.next = Some(self.base + plan.interval);
        }
        self.fly();
    }
}

fn begin(plan: Plan) -> (World<Options>, Model) {
    let mut world = World::new(plan.options());
    world.start();
    let now = world.now.0;
    let mut model = Model {
        plan,
        now,
        standing: Standing::Stopped,
        next: None,
        flying: None,
        due: 0,
        again: false,
        number: 1,
        attempt: 1,
        base: now,
        runs: 0,
        skipped: 0,
        failures: 0,
    };
    model.start();
    (world, model)
}

fn step(world: &mut World<Options>, model: &mut Model, op: Op) {
    match op {
        Op::Start => assert_eq!(world.start(), model.start()),
        Op::Stop => assert_eq!(world.ask::<bool>("stop", "[]"), model.stop()),
        Op::Trigger => assert_eq!(world.ask::<Triggered>("trigger", "[]"), model.trigger()),
        Op::Pass(millis) => {
            world.pass(millis);
            model.pass(millis as i64);
        }
        Op::Crash(millis) => {
            world.crash(millis);
            model.now += millis as i64;
            model.fly();
        }
        Op::Ok if model.flying.is_some() => {
            world.end(Ended::Ok);
            model.ok();
        }
        Op::Fail if model.flying.is_some() => {
            world.fail();
            model.fail(false);
        }
        Op::Exhaust if model.flying.is_some() => {
            world.end(Ended::Exhausted("it killed the process".into()));
            model.fail(true);
        }
        Op::Change(plan) => {
            world.change(PLANS[plan].options());
            model.change(PLANS[plan]);
        }
        Op::Ok | Op::Fail | Op::Exhaust => {}
    }
}

fn compare(world: &World<Options>, model: &Model) {
    let (status, time) = (world.status(), |millis: i64| Timestamp::from_millis(millis));
    assert_eq!(world.running.first().map(|piece| (piece.number, piece.attempt)), model.flying);
    assert_eq!(status.next_run_at, model.next.or(model.flying.map(|_| model.due)).map(time));
    assert_eq!(
        (status.status, status.run_count, status.skipped, status.consecutive_failures),
        (model.standing, model.runs, model.skipped, model.failures)
    );
    assert!(status.errors.len() <= 5);
}

proptest! {
    // A quarter of what is asked for: each case is dozens of turns.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    /// C1, C2, C3, C5, C6, A4, E11
    #[test]
    fn it_does_what_the_model_does(plan in 0..PLANS.len(), ops in ops()) {
        let (mut world, mut model) = begin(PLANS[plan]);
        compare(&world, &model);
        for op in ops {
            step(&mut world, &mut model, op);
            compare(&world, &model);
        }
    }
}

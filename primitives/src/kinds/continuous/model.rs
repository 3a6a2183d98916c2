//! A continuous entity against a model of it: after any inputs in any order, both agree.

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
        1 => (0_usize..PLANS.len()).prop_map(Op::Change),
    ];
    prop::collection::vec(op, 1..60)
}

/// The options of the model.
#[derive(Clone, Copy, Debug)]
struct Plan {
    when: When,
    interval: i64,
    first_now: bool,
    max_attempts: u32,
    pause: i64,
    goes_on: bool,
    /// The length of one step of time. A cron schedule knows nothing shorter than a second.
    scale: i64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Rate,
    Delay,
    #[cfg(feature = "cron")]
    Wall(&'static str),
}

const RATE: Plan =
    Plan { when: When::Rate, interval: 10, first_now: false, max_attempts: 3, pause: 4, goes_on: false, scale: 1 };

#[cfg(not(feature = "cron"))]
const PLANS: [Plan; 4] = FIXED;

#[cfg(feature = "cron")]
const PLANS: [Plan; 8] = [
    FIXED[0],
    FIXED[1],
    FIXED[2],
    FIXED[3],
    Plan { when: When::Wall("once"), ..WALL },
    Plan { when: When::Wall("skip"), max_attempts: 1, goes_on: true, ..WALL },
    Plan { when: When::Wall("backfill"), ..WALL },
    Plan { when: When::Wall("backfill"), interval: 3_000, first_now: true, pause: 3_500, goes_on: true, ..WALL },
];

#[cfg(feature = "cron")]
const WALL: Plan = Plan { interval: 2_000, max_attempts: 2, pause: 700, scale: 100, ..RATE };

const FIXED: [Plan; 4] = [
    RATE,
    Plan { interval: 7, first_now: true, max_attempts: 1, goes_on: true, ..RATE },
    Plan { when: When::Delay, interval: 5, max_attempts: 2, pause: 15, ..RATE },
    Plan { when: When::Delay, interval: 3, first_now: true, max_attempts: 2, pause: 0, goes_on: true, ..RATE },
];

impl Plan {
    fn options(self) -> Options {
        let options = Options::NEW.max_attempts(self.max_attempts.into()).retry(&format!("{}ms", self.pause));
        let interval = format!("{}ms", self.interval);
        let options = match self.when {
            When::Rate => options.every(&interval),
            When::Delay => options.after(&interval),
            #[cfg(feature = "cron")]
            When::Wall(missed) => options.cron(&format!("*/{} * * * * *", self.interval / 1_000)).missed(missed),
        };
        let options = if self.first_now { options.first("now") } else { options };
        options.on_exhausted(if self.goes_on { "continue" } else { "stop" }).checked()
    }

    fn missed(self) -> Option<&'static str> {
        match self.when {
            When::Rate | When::Delay => None,
            #[cfg(feature = "cron")]
            When::Wall(missed) => Some(missed),
        }
    }

    /// Returns the times by the wall clock after `after`, up to and including `until`, by walking.
    fn times(self, after: i64, until: i64) -> Vec<i64> {
        let first = after - after.rem_euclid(self.interval) + self.interval;
        (first..=until).step_by(self.interval as usize).collect()
    }

    /// Returns when the next tick is due, counted from a base.
    fn next(self, base: i64) -> i64 {
        match self.missed() {
            None => base + self.interval,
            Some(_) => self.times(base, base + self.interval)[0],
        }
    }
}

/// The model, independent of how a continuous entity is stored.
#[derive(Debug)]
struct Model {
    plan: Plan,
    now: i64,
    standing: Standing,
    /// When the next execution is due, if none is in flight.
    next: Option<i64>,
    /// The number and attempt of the execution in flight, from the moment it became due.
    flying: Option<(u64, u32)>,
    due: i64,
    /// Whether the next tick was triggered or admitted by a cron schedule, and the time that it stands for.
    asked: bool,
    admitted: bool,
    stands_for: i64,
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
        if self.flying.is_none() && self.plan.first_now {
            self.ask();
        } else if self.flying.is_none() {
            self.next = Some(self.plan.next(self.now));
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
        self.ask();
        self.fly();
        Triggered::Now
    }

    fn ask(&mut self) {
        if self.attempt == 1 {
            (self.asked, self.stands_for) = (true, self.now);
        }
        self.next = Some(self.now);
    }

    fn pass(&mut self, millis: i64) {
        let until = self.now + millis;
        if let Some(next) = self.next.filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.fly();
        }
        self.now = until;
    }

    /// Starts the next execution if it is due.
    fn fly(&mut self) {
        if let Some(next) = self.next.filter(|next| *next <= self.now) {
            if self.attempt == 1 && !self.asked && !self.admit(next) {
                return;
            }
            (self.flying, self.due, self.next) = (Some((self.number, self.attempt)), next, None);
        }
    }

    /// Decides which time a tick of the schedule stands for. Returns whether the tick may run.
    fn admit(&mut self, next: i64) -> bool {
        self.stands_for = next;
        let Some(missed) = self.plan.missed() else { return true };
        if self.standing != Standing::Running {
            self.admitted = true;
            return true;
        }
        let times = self.plan.times(self.base, self.now);
        if missed == "skip" && (times.len() > 1 || self.now - next > 60_000) {
            self.skipped += times.len() as u64;
            (self.base, self.next) = (self.now, Some(self.plan.next(self.now)));
            return false;
        }
        self.admitted = true;
        match times.as_slice() {
            [] => {}
            [first, ..] if missed == "backfill" => (self.stands_for, self.base) = (*first, *first),
            [others @ .., last] => {
                self.skipped += others.len() as u64;
                (self.stands_for, self.base) = (*last, self.now);
            }
        }
        true
    }

    fn new_tick(&mut self) {
        (self.number, self.attempt) = (self.number + 1, 1);
        (self.asked, self.admitted) = (false, false);
    }

    fn ok(&mut self) {
        self.runs += 1;
        self.failures = 0;
        self.tick_ended();
    }

    fn fail(&mut self) {
        self.failures += 1;
        let runs = self.standing == Standing::Running;
        if runs && self.attempt < self.plan.max_attempts {
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
            self.ask();
        }
        self.fly();
    }

    /// Returns the next point after now, found by walking.
    fn schedule(&mut self) -> i64 {
        if self.plan.when == When::Delay {
            self.base = self.now;
            return self.now + self.plan.interval;
        }
        if let Some(missed) = self.plan.missed() {
            if missed == "skip" {
                self.skipped += self.plan.times(self.base, self.now).len() as u64;
                self.base = self.now;
            }
            return self.plan.next(self.base);
        }
        let mut own = self.stands_for >= self.base + self.plan.interval;
        while self.base + self.plan.interval <= self.now {
            self.base += self.plan.interval;
            self.skipped += u64::from(!std::mem::take(&mut own));
        }
        self.base + self.plan.interval
    }

    fn change(&mut self, plan: Plan) {
        self.plan = plan;
        if plan.missed().is_some() && self.attempt == 1 && !self.asked && !self.admitted {
            // A cron schedule must admit a tick before it runs, and this tick was not admitted.
            self.next = self.flying.take().map(|_| self.due).or(self.next);
        }
        let is_waiting = self.flying.is_none() && self.next.is_none_or(|next| next > self.now);
        if self.standing == Standing::Running && is_waiting && self.attempt == 1 {
            self.base = if plan.missed().is_some() { self.now } else { self.base };
            self.next = Some(plan.next(self.base));
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
        asked: false,
        admitted: false,
        stands_for: 0,
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
    let scale = model.plan.scale as u64;
    match op {
        Op::Start => assert_eq!(world.start(), model.start()),
        Op::Stop => assert_eq!(world.ask::<bool>("stop", "[]"), model.stop()),
        Op::Trigger => assert_eq!(world.ask::<Triggered>("trigger", "[]"), model.trigger()),
        Op::Pass(millis) => {
            world.pass(millis * scale);
            model.pass((millis * scale) as i64);
        }
        Op::Crash(millis) => {
            world.crash(millis * scale * 3);
            model.now += (millis * scale * 3) as i64;
            model.fly();
        }
        Op::Ok if model.flying.is_some() => {
            world.end(Ended::Ok);
            model.ok();
        }
        Op::Fail if model.flying.is_some() => {
            world.fail();
            model.fail();
        }
        Op::Change(plan) => {
            world.change(PLANS[plan].options());
            model.change(PLANS[plan]);
        }
        Op::Ok | Op::Fail => {}
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
    if model.flying.is_some() {
        assert_eq!(world.scheduled_for(), Some(time(model.stands_for)));
    }
    assert_eq!(status.next_runs.first().copied(), status.next_run_at);
    assert!(status.next_runs.windows(2).all(|pair| pair[0] < pair[1]), "{status:?}");
}

proptest! {
    // A quarter of the configured cases, because each case is dozens of turns.
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

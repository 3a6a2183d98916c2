//! A semaphore against its model: after any inputs in any order, both agree, and no more is out than there
//! is.

use drystone_runtime::Ticket;
use proptest::prelude::*;

use super::{
    model::{Asked, Model, PLANS, Plan},
    permit::{Granted, Refused},
    record::{Held, ticket_in},
    *,
};
use crate::{decode, kind::harness::World};

#[derive(Clone, Copy, Debug)]
enum Op {
    Acquire(u64),
    Try(u64),
    Release(usize),
    Renew(usize),
    Leave(usize),
    Pass(u64),
    Lag(u64),
    Crash(u64),
    Change(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        10 => (1_u64..5).prop_map(Op::Acquire),
        4 => (1_u64..5).prop_map(Op::Try),
        6 => any::<usize>().prop_map(Op::Release),
        4 => any::<usize>().prop_map(Op::Renew),
        4 => any::<usize>().prop_map(Op::Leave),
        5 => (0_u64..15).prop_map(Op::Pass),
        2 => (0_u64..15).prop_map(Op::Lag),
        1 => (0_u64..15).prop_map(Op::Crash),
        1 => (0_usize..PLANS.len()).prop_map(Op::Change),
    ];
    prop::collection::vec(op, 1..80)
}

struct Pair {
    world: World<Options>,
    model: Model,
    /// All callers so far.
    asked: Vec<Ticket>,
    last_token: u64,
    /// The highest number of permits that was allowed while a permit was out.
    allowed: u64,
}

impl Pair {
    fn new(plan: Plan) -> Self {
        let mut world = World::new(plan.options());
        world.start();
        let model = Model::new(plan, world.now.0);
        Self { world, model, asked: Vec::new(), last_token: 0, allowed: plan.permits }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Acquire(weight) => self.ask("acquire", weight),
            Op::Try(weight) => self.ask("try_acquire", weight),
            Op::Release(index) => {
                let Some(ticket) = self.pick(index) else { return };
                let released: bool = self.world.ask("release", &body(ticket));
                assert_eq!(released, self.model.release(ticket));
            }
            Op::Renew(index) => {
                let Some(ticket) = self.pick(index) else { return };
                let until: Option<crate::Timestamp> = self.world.ask("renew", &body(ticket));
                assert_eq!(until.is_some(), self.model.renew(ticket));
            }
            Op::Leave(index) => {
                let Some(ticket) = self.pick(index) else { return };
                self.world.leave(ticket);
                self.model.leave(ticket);
            }
            Op::Pass(millis) => {
                self.world.pass(millis);
                self.model.pass(millis as i64);
            }
            Op::Lag(millis) => {
                self.world.lag(millis);
                self.model.now += millis as i64;
            }
            Op::Crash(millis) => {
                self.world.crash(millis);
                self.model.crash(millis as i64);
            }
            Op::Change(plan) => self.change(PLANS[plan]),
        }
        self.compare();
    }

    fn ask(&mut self, verb: &str, weight: u64) {
        let answer = self.world.call(verb, &format!("[{weight}]"));
        let ticket = self.world.ticket;
        self.asked.push(ticket);
        let expected = self.model.ask(ticket, weight, verb == "acquire");
        let came_of_it = match answer {
            Ok(Answer::Held(_)) => Asked::Waits,
            Ok(Answer::Now(bytes)) => match decode::<Option<Granted>>(&bytes).unwrap() {
                Some(granted) => {
                    self.given(granted.token);
                    Asked::Given
                }
                None => Asked::None,
            },
            Err(Stop::Failed(bytes)) => {
                assert!(matches!(decode(&bytes), Ok(Refused::TooHeavy { .. })));
                Asked::TooHeavy
            }
            Err(stop) => panic!("{stop:?}"),
        };
        assert_eq!(came_of_it, expected, "{ticket:?} wants {weight}");
    }

    fn given(&mut self, token: u64) {
        assert!(token > self.last_token, "{token} after {}", self.last_token);
        self.last_token = token;
    }

    fn change(&mut self, plan: Plan) {
        self.allowed = self.allowed.max(plan.permits);
        self.model.plan = plan;
        self.world.change(plan.options());
        if self.world.record().waiting > 0 || !self.model.line.is_empty() {
            self.model.settle();
        }
    }

    fn pick(&self, index: usize) -> Option<Ticket> {
        (!self.asked.is_empty()).then(|| self.asked[index % self.asked.len()])
    }

    fn compare(&mut self) {
        let now = self.world.now.0;
        // All waiting callers were answered, in order.
        let heard = std::mem::take(&mut self.world.heard);
        let (served, refused): (Vec<_>, Vec<_>) = heard.into_iter().partition(|(_, reply)| reply.is_ok());
        let tickets = |told: &[(Ticket, _)]| told.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>();
        assert_eq!(tickets(&served), std::mem::take(&mut self.model.served));
        assert_eq!(tickets(&refused), std::mem::take(&mut self.model.refused));
        // Rows and record agree, and the permits that are out fit (S5).
        let rows: Vec<(Ticket, Held)> =
            self.world.lane("held").map(|(key, body)| (ticket_in(key).unwrap(), decode(body).unwrap())).collect();
        let record = self.world.record();
        assert_eq!(record.used, rows.iter().map(|(_, held)| held.weight).sum::<u64>());
        assert_eq!(self.world.lane("until").count(), rows.len());
        let mut held: Vec<_> =
            rows.iter().map(|(ticket, held)| (*ticket, held.weight, held.until.as_millis())).collect();
        held.retain(|(_, _, until)| *until > now);
        let mut expected = self.model.held.clone();
        expected.retain(|(_, _, until)| *until > now);
        expected.sort_unstable();
        assert_eq!(held, expected);
        let out: u64 = held.iter().map(|(_, weight, _)| weight).sum();
        assert!(out <= self.allowed, "{out} of {}", self.allowed);
        self.allowed = self.model.plan.permits.max(out);
        // The tokens of callers that had waited.
        served.iter().for_each(|(_, reply)| {
            let granted: Option<Granted> = decode(reply.as_ref().unwrap()).unwrap();
            let token = granted.expect("who waits gets one").token;
            assert!(token <= record.token);
        });
        // The line, without the callers of an earlier owner.
        let line: Vec<_> = self.world.lane(&record.line()).map(|(key, _)| ticket_in(key).unwrap()).collect();
        assert_eq!(record.waiting, line.len() as u64);
        let line: Vec<_> = line.into_iter().filter(|ticket| ticket.epoch == self.world.ticket.epoch).collect();
        assert_eq!(line, self.model.line.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>());
        let stats: Stats = self.world.ask("stats", "[]");
        assert_eq!((stats.used, stats.holders.len()), (out, held.len().min(32)));
    }
}

fn body(ticket: Ticket) -> String {
    format!("[{},{}]", ticket.epoch.0, ticket.number)
}

proptest! {
    /// S1, S2, S3, S5
    #[test]
    fn it_does_what_its_model_does(plan in 0_usize..PLANS.len(), ops in ops()) {
        let mut pair = Pair::new(PLANS[plan]);
        for op in ops {
            pair.step(op);
        }
        // At rest all permits have come back.
        pair.step(Op::Crash(0));
        pair.step(Op::Pass(100));
        prop_assert_eq!((pair.world.record().used, pair.world.record().waiting), (0, 0));
        prop_assert_eq!(pair.world.alarm(), None);
    }
}

//! Updates: callers change the state that a body sees (L8).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Error, Failure, Flow, Primitives, Services, d,
    testing::{Latch, Log, Moment, Setup, World, replay},
    workflow,
    workflow::{RunPhase, Stopped},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum AddressError {
    Empty,
}

/// An order that ships when two people have approved it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Order {
    address: String,
    approvals: u32,
}

#[workflow]
impl Order {
    async fn run(flow: &Flow<Self>, legs: u32) -> Result<Vec<String>, Failure> {
        let mut seen = Vec::new();
        for leg in 0..legs {
            flow.pack(leg).await;
            seen.push(flow.look(|order| order.address.clone()));
        }
        flow.wait_until(|order| order.approvals >= 2).await;
        seen.push(flow.look(|order| order.address.clone()));
        Ok(seen)
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.wait_until(|order| order.approvals >= 2).await;
    }

    #[step]
    async fn pack(leg: u32, log: &Log, latch: &Latch) {
        log.say(format!("pack {leg}"));
        latch.clone().wait().await;
    }

    /// Changes the address and returns the old one.
    fn set_address(&mut self, address: String) -> Result<String, AddressError> {
        let old = std::mem::replace(&mut self.address, address);
        // The state has changed by now, and the change is rolled back.
        if self.address.is_empty() { Err(AddressError::Empty) } else { Ok(old) }
    }

    /// Counts an approval and returns the number of approvals.
    async fn approve(&mut self) -> u32 {
        self.approvals += 1;
        self.approvals
    }

    fn stumble(&mut self) {
        self.approvals = 9;
        panic!("over it");
    }

    fn fill(&mut self, bytes: usize) {
        self.address = "x".repeat(bytes);
    }

    async fn goes_to(&self) -> String {
        self.address.clone()
    }
}

/// A workflow with all remaining ways to wait for a state.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Vote {
    votes: u32,
}

#[workflow]
impl Vote {
    async fn run(flow: &Flow<Self>) -> Result<String, Failure> {
        flow.wait_until(|_| true).await;
        if let Err(elapsed) = flow.wait_until(|vote| vote.votes > 0).timeout("1h").await {
            return Ok(elapsed.to_string());
        }
        let ((), at) = join!(
            async {
                flow.sleep("1m").await;
                flow.update(|vote| vote.votes = 10);
                flow.sleep("1m").await;
            },
            async {
                flow.wait_until(|vote| vote.votes >= 10).await;
                flow.now()
            },
        );
        Ok(format!("{} minutes", (at.as_millis() - flow.now().as_millis()) / 60_000))
    }

    fn vote(&mut self) {
        self.votes += 1;
    }
}

#[derive(Primitives)]
struct App {
    order: Order,
    vote: Vote,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// L8: A replay applies it again at the same place.
#[tokio::test]
async fn an_update_changes_the_state_for_body_and_queries() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        run.start(3).await.unwrap();
        assert_eq!(run.set_address("Aachen".into()).await.unwrap(), "");
        fakes.latch.let_one_through();
        world.settle().await;
        assert_eq!(run.set_address("Bonn".into()).await.unwrap(), "Aachen");
        assert_eq!(run.goes_to().await.unwrap(), "Bonn");
        world.restart().await;
        assert_eq!(run.goes_to().await.unwrap(), "Bonn");
        fakes.latch.let_one_through();
        world.settle().await;
        assert_eq!(run.set_address("Celle".into()).await.unwrap(), "Bonn");
        fakes.latch.open();
        world.settle().await;
        world.restart().await;
        assert_eq!(run.approve().await.unwrap(), 1);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, &*status.waits_for[0].operation), (RunPhase::Suspended, "wait_until#1"));
        world.restart().await;
        assert_eq!(run.approve().await.unwrap(), 2);
        assert_eq!(run.result().await.unwrap(), ["Aachen", "Bonn", "Celle", "Celle"]);
        replay::<Order>(&run.history().await.unwrap()).unwrap();
    }
}

/// L8, E5
#[tokio::test]
async fn an_update_that_is_refused_changes_nothing_and_is_not_recorded() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().order("a");
        run.start(0).await.unwrap();
        run.set_address("Aachen".into()).await.unwrap();
        let before = (run.state().await.unwrap(), run.status().await.unwrap().unwrap().entries);
        assert_eq!(run.set_address(String::new()).await.unwrap_err().failed(), Some(AddressError::Empty));
        assert!(matches!(fault(run.stumble().await), Error::Panicked { message, .. } if message == "over it"));
        assert!(matches!(fault(run.fill(2 << 20).await), Error::Malformed { .. }));
        let untyped = world.call("order", "a", "set_address", serde_json::json!([7])).await;
        assert!(matches!(untyped, Err(Error::Malformed { .. })), "{untyped:?}");
        let after = (run.state().await.unwrap(), run.status().await.unwrap().unwrap().entries);
        assert_eq!(before, after);
        assert_eq!(run.set_address("Bonn".into()).await.unwrap(), "Aachen");
    }
}

/// L8, E12
#[tokio::test]
async fn an_update_that_is_asked_twice_with_one_idempotency_key_is_one() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().order("a");
        run.start(0).await.unwrap();
        assert_eq!(run.approve().idempotency_key("one").await.unwrap(), 1);
        world.restart().await;
        assert_eq!(run.approve().idempotency_key("one").await.unwrap(), 1);
        let empty = || run.set_address(String::new()).idempotency_key("none");
        assert_eq!(empty().await.unwrap_err().failed(), Some(AddressError::Empty));
        assert_eq!(empty().await.unwrap_err().failed(), Some(AddressError::Empty));
        assert_eq!(run.approve().idempotency_key("two").await.unwrap(), 2);
        assert_eq!(run.result().await.unwrap(), [""]);
    }
}

/// L8: It says so. Neither does a run that does not exist.
#[tokio::test]
async fn a_run_without_a_body_takes_no_update() {
    fn status(error: Error) -> String {
        match error {
            Error::Refused { verb, status, .. } => format!("{verb} {status}"),
            other => panic!("{other}"),
        }
    }
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        assert!(matches!(fault(run.approve().await), Error::NotBound { .. }));
        run.start(1).await.unwrap();
        run.cancel().await.unwrap();
        assert_eq!(status(fault(run.approve().await)), "approve cancelling");
        fakes.latch.open();
        world.settle().await;
        // The `#[cancelled]` body takes updates, too.
        assert_eq!(run.approve().await.unwrap(), 1);
        world.restart().await;
        assert_eq!(run.approve().await.unwrap(), 2);
        assert_eq!(status(fault(run.approve().await)), "approve cancelled");
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Cancelled);
    }
}

/// L8
#[tokio::test]
async fn a_body_waits_for_its_state_without_looking_again_and_again() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().vote("late");
        run.start().await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(run.result().await.unwrap(), "it did not end within 3600s");
        let run = world.client().vote("early");
        run.start().await.unwrap();
        let before = world.counts().commits;
        world.advance(d!("30m")).await;
        assert_eq!(world.counts().commits, before, "it rests");
        run.vote().await.unwrap();
        world.advance(d!("90s")).await;
        world.restart().await;
        world.advance(d!("90s")).await;
        assert_eq!(run.result().await.unwrap(), "-1 minutes");
        replay::<Vote>(&run.history().await.unwrap()).unwrap();
    }
}

/// L8, R1
#[tokio::test]
async fn a_death_at_any_commit_neither_loses_nor_doubles_an_update() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=7 {
            let (world, fakes) = started(World::sqlite()).await;
            fakes.latch.open();
            let run = world.client().order("a");
            world.crash_at_commit(n, moment);
            for _ in 0..2 {
                let _ = run.start(2).idempotency_key("start").await;
                for key in ["one", "two"] {
                    let _ = run.approve().idempotency_key(key).await;
                    if world.is_dead() {
                        world.restart().await;
                    }
                }
            }
            world.settle().await;
            let when = format!("death {moment:?} commit {n}");
            assert_eq!(run.result().await.unwrap().len(), 3, "{when}");
            assert_eq!(run.state().await.unwrap().unwrap().approvals, 2, "{when}");
            replay::<Order>(&run.history().await.unwrap()).unwrap();
        }
    }
}

mod later {
    use super::*;

    /// The same workflow without its update.
    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Order {
        address: String,
        approvals: u32,
    }

    #[workflow]
    impl Order {
        async fn run(flow: &Flow<Self>, legs: u32) -> Result<Vec<String>, Failure> {
            for leg in 0..legs {
                flow.pack(leg).await;
            }
            flow.wait_until(|order| order.approvals >= 2).await;
            Ok(Vec::new())
        }

        #[step]
        async fn pack(leg: u32, log: &Log) {
            log.say(format!("pack {leg}"));
        }

        fn nudge(&mut self) {}
    }

    #[derive(Primitives)]
    pub(super) struct App {
        order: Order,
        vote: Vote,
    }
}

/// L8, W4
#[tokio::test]
async fn a_run_whose_update_is_gone_diverges_until_it_is_back() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        run.start(0).await.unwrap();
        run.approve().await.unwrap();
        let world = world.restart_as::<later::App, _>(fakes.clone()).await.unwrap();
        let later = world.client().order("a");
        assert!(matches!(fault(later.nudge().await), Error::Refused { status, .. } if status == "diverged"));
        let stopped = later.status().await.unwrap().unwrap().stopped.unwrap();
        assert!(matches!(&stopped, Stopped::Diverged(at) if at.expected == "the update `approve`"), "{stopped:?}");
        assert!(matches!(fault(later.nudge().await), Error::Refused { status, .. } if status == "diverged"));
        let world = world.restart_as::<App, _>(fakes).await.unwrap();
        let run = world.client().order("a");
        world.settle().await;
        assert_eq!(run.approve().await.unwrap(), 2);
        assert_eq!(run.result().await.unwrap(), [""]);
    }
}

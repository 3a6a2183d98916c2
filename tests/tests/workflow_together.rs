//! Combinations of features: generations, pauses, updates, undos, children, calls and permits (L4, L5, L6,
//! L8, H2, W9, M5).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Client, Error, Event, Failure, Flow, Primitives, RunError, Services, d, primitive,
    testing::{Latch, Log, Setup, World, replay},
    workflow,
    workflow::{RestartError, RunPhase},
};
use drystone_tests::typed::{both, fault, names};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Next(u32);

/// Counts its calls.
#[derive(Default, Serialize, Deserialize)]
struct Tally(u32);

#[primitive(object)]
impl Tally {
    async fn add(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

#[primitive(semaphore, permits = 1)]
struct Seat;

/// The child of a trip.
#[derive(Default, Serialize, Deserialize)]
struct Leg;

#[workflow(events(Next))]
impl Leg {
    async fn run(flow: &Flow<Self>, span_s: u64) -> u64 {
        flow.sleep(std::time::Duration::from_secs(span_s)).await;
        flow.say(format!("leg of {span_s} s")).await;
        span_s
    }

    #[cancelled]
    async fn back(flow: &Flow<Self>) {
        flow.say("back".into()).await;
    }

    #[step]
    async fn say(what: String, log: &Log) {
        log.say(what);
    }
}

/// A part of a trip. The parts run in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Do {
    /// A step with an undo.
    Book(String),
    /// A step with an undo that takes its input. The step runs until the latch opens.
    Hold(String),
    Call,
    /// Holds a permit until the end.
    Permit,
    /// Takes a permit and gives it back.
    Borrow,
    Child(u64),
    /// A child that is abandoned after an hour.
    Abandon(u64),
    /// A detached child.
    Detach(u64),
    /// A child that is raced against a minute, and awaited again after an hour.
    Later(u64),
    Await,
    /// Waits until this many have voted.
    Votes(u32),
    Continue(Vec<Do>),
    /// Continues this many times without waiting for anything.
    Spin(u32),
    Fail,
    /// The body panics.
    Stumble,
}

/// A trip.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Trip {
    votes: u32,
}

#[workflow(events(Next))]
impl Trip {
    async fn run(
        flow: &Flow<Self>,
        plan: Vec<Do>,
        legs: &Client<Leg>,
        tallies: &Client<Tally>,
        seats: &Client<Seat>,
    ) -> Result<Vec<String>, Failure> {
        let (mut done, mut held) = (Vec::new(), Vec::new());
        for part in plan {
            match part {
                Do::Book(what) => done.push(flow.book(what).await),
                Do::Hold(what) => done.push(flow.hold(what).await),
                Do::Call => done.push(flow.call(tallies.get("t").add()).await.to_string()),
                Do::Permit => held.push(flow.permit(seats.get("s").acquire()).await),
                Do::Borrow => drop(flow.permit(seats.get("s").acquire()).await),
                Do::Child(span_s) => done.push(told(flow.child(legs.get("awaited").execute(span_s)).await)),
                Do::Abandon(span_s) => {
                    let leg = flow.child(legs.get("abandoned").execute(span_s)).abandon().within("1h").await;
                    done.push(leg.map_or_else(|late| late.to_string(), told));
                }
                Do::Detach(span_s) => {
                    flow.child(legs.get("detached").execute(span_s)).detached().await;
                }
                Do::Later(span_s) => {
                    let mut leg = flow.child(legs.get("leg").execute(span_s));
                    select! {
                        _ = &mut leg => return Err("too early".into()),
                        _ = flow.sleep("1m") => {},
                    }
                    flow.sleep("1h").await;
                    let before = flow.now();
                    done.push(told(leg.await));
                    done.push((flow.now().as_millis() - before.as_millis()).to_string());
                }
                Do::Await => done.push(flow.wait_for::<Next>().await.0.to_string()),
                Do::Votes(votes) => flow.wait_until(|trip| trip.votes >= votes).await,
                Do::Continue(next) => return flow.continue_as(next).await,
                Do::Spin(0) => {}
                Do::Spin(left) => return flow.continue_as(vec![Do::Spin(left - 1), Do::Votes(1)]).await,
                Do::Fail => return Err("no trip".into()),
                Do::Stumble => panic!("over its own plan"),
            }
        }
        Ok(done)
    }

    #[step(undo = unbook)]
    async fn book(what: String, log: &Log) -> String {
        log.say(format!("book {what}"));
        what
    }

    #[step]
    async fn unbook(what: String, log: &Log, latch: &Latch) {
        log.say(format!("unbook {what}"));
        if what == "slowly" {
            latch.clone().wait().await;
        }
    }

    #[step(undo = release)]
    async fn hold(what: String, log: &Log, latch: &Latch) -> String {
        log.say(format!("hold {what}"));
        latch.clone().wait().await;
        what
    }

    #[step]
    async fn release(what: String, held: Option<String>, log: &Log) {
        log.say(format!("release {what} {held:?}"));
    }

    /// Counts a vote and returns the number of votes.
    fn vote(&mut self) -> u32 {
        self.votes += 1;
        self.votes
    }
}

fn told(ended: Result<u64, RunError<drystone::Never>>) -> String {
    ended.map_or_else(|error| error.to_string(), |span_s| span_s.to_string())
}

#[derive(Primitives)]
struct App {
    trip: Trip,
    leg: Leg,
    tally: Tally,
    seat: Seat,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

fn book(what: &str) -> Do {
    Do::Book(what.to_owned())
}

async fn phase(run: &TripHandle) -> RunPhase {
    run.status().await.unwrap().unwrap().phase
}

/// L5, L8: exactly one generation takes the update, and nothing is parked.
#[tokio::test]
async fn an_update_that_comes_while_a_run_goes_on_as_others_is_taken_or_refused_and_harms_nothing() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        let votes = async {
            let mut taken = 0;
            for _ in 0..50 {
                match run.vote().await {
                    Ok(_) => taken += 1,
                    Err(drystone::CallError::Fault(Error::NotBound { .. } | Error::Refused { .. })) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            taken
        };
        let (begun, _) = tokio::join!(run.start(vec![Do::Spin(300)]).into_future(), votes);
        begun.unwrap();
        world.settle().await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!(status.generation, 301, "{status:?}");
        if status.phase != RunPhase::Succeeded {
            run.vote().await.unwrap();
        }
        assert_eq!(run.result().await.unwrap(), Vec::<String>::new());
        replay::<Trip>(&run.history().await.unwrap()).unwrap();
    }
}

/// L5, L8: the state begins anew, and updates see the new state.
#[tokio::test]
async fn an_update_after_a_run_has_continued_is_the_next_generations() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Await, Do::Continue(vec![Do::Votes(2)])]).await.unwrap();
        assert_eq!(run.vote().await.unwrap(), 1);
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.vote().await.unwrap(), 1);
        world.restart().await;
        assert_eq!(run.vote().await.unwrap(), 2);
        assert_eq!(phase(&run).await, RunPhase::Succeeded);
    }
}

/// H2, L8
#[tokio::test]
async fn an_update_in_a_pause_is_taken_and_what_follows_from_it_begins_at_resume() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Votes(1), book("bus")]).await.unwrap();
        assert!(run.pause().await.unwrap());
        assert_eq!(run.vote().await.unwrap(), 1);
        world.restart().await;
        world.advance(d!("1h")).await;
        assert_eq!((phase(&run).await, fakes.log.take().len()), (RunPhase::Paused, 0));
        assert!(run.resume().await.unwrap());
        assert_eq!(run.result().await.unwrap(), ["bus"]);
    }
}

/// H2, L6
#[tokio::test]
async fn a_child_that_ends_while_its_parent_is_paused_is_not_missed() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Child(60), book("bus")]).await.unwrap();
        assert!(run.pause().await.unwrap());
        world.advance(d!("1h")).await;
        assert_eq!((phase(&run).await, fakes.log.take()), (RunPhase::Paused, vec!["leg of 60 s".to_owned()]));
        world.restart().await;
        assert!(run.resume().await.unwrap());
        assert_eq!(run.result().await.unwrap(), ["60", "bus"]);
    }
}

/// H2, L5: a pause outlasts the generation in which it began.
#[tokio::test]
async fn a_run_that_continues_in_a_pause_is_still_held() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Hold("seat".into()), Do::Continue(vec![book("bus")])]).await.unwrap();
        assert!(run.pause().await.unwrap());
        fakes.latch.open();
        world.settle().await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.generation), (RunPhase::Paused, 2));
        world.restart().await;
        world.advance(d!("1h")).await;
        assert_eq!(fakes.log.take(), ["hold seat"]);
        assert!(run.resume().await.unwrap());
        assert_eq!(run.result().await.unwrap(), ["bus"]);
    }
}

/// H2, W9: a run that is ending cannot be paused.
#[tokio::test]
async fn a_run_that_is_being_undone_is_not_paused() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), book("slowly"), Do::Fail]).await.unwrap();
        world.settle().await;
        assert_eq!(phase(&run).await, RunPhase::Undoing);
        assert!(!run.pause().await.unwrap());
        assert!(matches!(fault(run.vote().await), Error::Refused { status, .. } if status == "undoing"));
        fakes.latch.open();
        assert!(run.result().await.is_err());
        assert_eq!(fakes.log.take(), ["book bus", "book slowly", "unbook slowly", "unbook bus"]);
    }
}

/// W9, H2: a cancelled run is undone even if it was paused.
#[tokio::test]
async fn a_paused_run_that_is_cancelled_is_undone() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), Do::Await]).await.unwrap();
        world.settle().await;
        assert!(run.pause().await.unwrap() && run.cancel().await.unwrap());
        world.settle().await;
        assert_eq!(phase(&run).await, RunPhase::Cancelled);
        assert_eq!(fakes.log.take(), ["book bus", "unbook bus"]);
    }
}

/// L5, W9
#[tokio::test]
async fn what_an_older_generation_did_is_not_undone_by_a_later_one() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), Do::Continue(vec![book("train"), Do::Fail])]).await.unwrap();
        assert!(run.result().await.is_err());
        assert_eq!(fakes.log.take(), ["book bus", "book train", "unbook train"]);
        run.restart_with(vec![Do::Fail]).await.unwrap();
        assert!(run.result().await.is_err());
        assert!(fakes.log.take().is_empty());
    }
}

/// L4, W9: kept steps stay due to be undone; the entries of their undos are not kept.
#[tokio::test]
async fn what_a_restart_keeps_is_due_to_be_undone() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        fakes.latch.open();
        let run = world.client().trip("a");
        run.start(vec![book("bus"), Do::Hold("seat".into()), book("train"), Do::Await, Do::Fail]).await.unwrap();
        world.settle().await;
        fakes.log.take();
        run.restart_from(|at| at.book(2)).await.unwrap();
        world.restart().await;
        run.send(Next(1)).await.unwrap();
        assert!(run.result().await.is_err());
        let undone = ["book train", "unbook train", r#"release seat Some("seat")"#, "unbook bus"];
        assert_eq!(fakes.log.take(), undone);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.generation, status.undos_left), (RunPhase::Failed, 2, 0));
        replay::<Trip>(&run.history().await.unwrap()).unwrap();
    }
}

/// L4, W9: a step that was undone cannot be kept, because it would be undone again.
#[tokio::test]
async fn a_restart_that_would_keep_what_was_undone_is_refused_and_changes_nothing() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let refuses = |run: &TripHandle, nth: u32, operation: &str| {
            let (asked, operation) = (run.restart_from(|at| at.book(nth)), operation.to_owned());
            async move {
                let refused = asked.await.unwrap_err().failed().unwrap();
                assert_eq!(refused, RestartError::Undone { operation });
            }
        };
        let run = world.client().trip("a");
        run.start(vec![book("bus"), book("slowly"), book("train"), Do::Fail]).await.unwrap();
        world.settle().await;
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Undoing);
        refuses(&run, 3, "book#2").await;
        assert!(run.terminate().await.unwrap());
        refuses(&run, 3, "book#2").await;
        assert_eq!(run.status().await.unwrap().unwrap().generation, 1);
        fakes.log.take();
        // The first step was not undone yet, so it can be kept.
        run.restart_from(|at| at.book(2)).await.unwrap();
        fakes.latch.open();
        assert!(run.result().await.is_err());
        let undone = ["book slowly", "book train", "unbook train", "unbook slowly", "unbook bus"];
        assert_eq!(fakes.log.take(), undone);
        refuses(&run, 2, "book#1").await;
        run.restart_from(|at| at.book(1)).await.unwrap();
        assert!(run.result().await.is_err());
        assert_eq!(run.status().await.unwrap().unwrap().generation, 3);
    }
}

/// L4, W9: a run that is being undone can be restarted; steps that are not undone yet stay.
#[tokio::test]
async fn a_run_that_is_being_undone_can_be_restarted() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), book("slowly"), Do::Fail]).await.unwrap();
        world.settle().await;
        fakes.log.take();
        run.restart_with(vec![book("train")]).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["train"]);
        fakes.latch.open();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["book train"]);
    }
}

/// L4
#[tokio::test]
async fn a_run_that_ended_in_any_way_can_be_restarted() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for key in ["succeeded", "failed", "cancelled", "terminated"] {
            let run = world.client().trip(key);
            run.start(vec![if key == "failed" { Do::Fail } else { Do::Await }]).await.unwrap();
            match key {
                "succeeded" => drop(run.send(Next(1)).await.unwrap()),
                "cancelled" => assert!(run.cancel().await.unwrap()),
                "terminated" => assert!(run.terminate().await.unwrap()),
                _ => {}
            }
            world.settle().await;
            assert!(phase(&run).await.has_ended(), "{key}");
            world.restart().await;
            assert_eq!(run.restart_with(vec![Do::Await]).await.unwrap().generation, 2, "{key}");
            assert_eq!(phase(&run).await, RunPhase::Suspended, "{key}");
            world.advance(d!("8d")).await;
            run.send(Next(7)).await.unwrap();
            assert_eq!(run.result().await.unwrap(), ["7"], "{key}");
        }
    }
}

/// L4, L1
#[tokio::test]
async fn a_run_that_is_stopped_can_be_restarted() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Await, Do::Stumble]).await.unwrap();
        run.send(Next(1)).await.unwrap();
        run.send(Next(2)).await.unwrap();
        assert_eq!(phase(&run).await, RunPhase::Panicked);
        run.restart_with(vec![Do::Await]).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["2"], "what it had not read");
    }
}

/// L4, M5: a permit that was given back before the step does not matter.
#[tokio::test]
async fn a_restart_keeps_what_came_after_a_permit_that_was_given_back() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Borrow, book("train"), Do::Await]).await.unwrap();
        world.settle().await;
        run.restart_from(|at| at.book(1)).await.unwrap();
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["train", "1"]);
        assert_eq!(fakes.log.take(), ["book train", "book train"]);
        let stats = world.client().seat("s").stats().await.unwrap();
        assert_eq!((stats.used, stats.waiting), (0, 0));
    }
}

/// L4, M5: the permit was given back by the restart, and may have a new holder.
#[tokio::test]
async fn a_restart_that_would_keep_a_permit_is_refused_and_changes_nothing() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), Do::Permit, book("train"), Do::Await]).await.unwrap();
        world.settle().await;
        let refused = run.restart_from(|at| at.book(2)).await.unwrap_err().failed().unwrap();
        assert!(
            matches!(&refused, RestartError::KeepsPermit { operation } if operation.contains("permit:")),
            "{refused}"
        );
        assert_eq!(world.client().seat("s").stats().await.unwrap().used, 1);
        run.restart_from(|at| at.book(1)).await.unwrap();
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["bus", "train", "1"]);
        assert_eq!(fakes.log.take(), ["book bus", "book train", "book bus", "book train"]);
        assert_eq!(world.client().seat("s").stats().await.unwrap().used, 0);
    }
}

/// L4, L6: the child of a kept entry has ended and does not begin again.
#[tokio::test]
async fn a_restart_from_a_step_begins_no_child_again_that_it_keeps() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Child(60), Do::Call, book("bus"), Do::Await]).await.unwrap();
        world.advance(d!("2m")).await;
        assert_eq!(fakes.log.take(), ["leg of 60 s", "book bus"]);
        run.restart_from(|at| at.book(1).with("train".into())).await.unwrap();
        world.advance(d!("2m")).await;
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["60", "1", "train", "1"]);
        assert!(fakes.log.take().is_empty());
        assert_eq!(world.client().tally("t").state().await.unwrap().unwrap().0, 1);
    }
}

/// L5, L6
#[tokio::test]
async fn the_end_of_an_older_generations_child_is_dropped_and_counted() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Detach(60), Do::Abandon(7_200), Do::Continue(vec![Do::Child(10_000)])]).await.unwrap();
        world.advance(d!("61m")).await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.generation, status.late, status.waits_for.len()), (2, 0, 1));
        world.advance(d!("1h")).await;
        assert_eq!(run.status().await.unwrap().unwrap().late, 1, "of the one that was abandoned");
        world.advance(d!("2h")).await;
        assert_eq!(run.result().await.unwrap(), ["10000"]);
        assert_eq!(fakes.log.take(), ["leg of 60 s", "leg of 7200 s", "leg of 10000 s"]);
    }
}

/// L4, L6
#[tokio::test]
async fn a_restart_cancels_the_child_that_was_awaited_and_has_another() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Child(3_600)]).await.unwrap();
        world.settle().await;
        run.restart().await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["back"]);
        world.advance(d!("1h")).await;
        assert_eq!(run.result().await.unwrap(), ["3600"]);
        assert_eq!(run.status().await.unwrap().unwrap().late, 1, "how the first one ended was told");
    }
}

/// L6, fA4
#[tokio::test]
async fn a_child_that_has_ended_is_there_at_once_when_it_is_awaited_again() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Later(600)]).await.unwrap();
        world.advance(d!("30m")).await;
        world.restart().await;
        world.advance(d!("31m")).await;
        assert_eq!(run.result().await.unwrap(), ["600", "0"]);
    }
}

/// L6: the key of a child follows from its name, which belongs to one child within a generation.
#[tokio::test]
async fn a_second_child_of_the_same_name_is_refused_and_the_first_is_not_touched() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Child(60), Do::Child(60), Do::Continue(vec![Do::Child(30)])]).await.unwrap();
        world.advance(d!("1m")).await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.generation, status.waits_for.len()), (2, 1), "what it was told of the second is a value");
        world.advance(d!("1m")).await;
        assert_eq!(run.result().await.unwrap(), ["30"], "in the next generation it is another");
        assert_eq!(fakes.log.take(), ["leg of 60 s", "leg of 30 s"]);
    }
}

/// L6, L9: a child that outlives its parent tells no run about its end, and makes no dead letter.
#[tokio::test]
async fn a_child_that_outlives_the_record_of_its_parent_ends_in_silence() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Detach(20 * 86_400)]).await.unwrap();
        world.advance(d!("10d")).await;
        assert!(run.status().await.unwrap().is_none());
        world.advance(d!("11d")).await;
        assert_eq!(fakes.log.take().len(), 1);
        assert!(run.status().await.unwrap().is_none());
        assert!(world.dead_letters().list(Default::default()).await.unwrap().letters.is_empty());
    }
}

/// M5, L5: a call in a later generation is a new call, not a repeat.
#[tokio::test]
async fn each_generation_calls_anew() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        let third = vec![Do::Call, Do::Await];
        run.start(vec![Do::Call, Do::Continue(vec![Do::Call, Do::Continue(third)])]).await.unwrap();
        world.settle().await;
        run.restart().await.unwrap();
        world.settle().await;
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["4", "1"]);
    }
}

/// M5, L4, L5, S5
#[tokio::test]
async fn a_permit_comes_back_with_its_generation() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let (one, two) = (world.client().trip("a"), world.client().trip("b"));
        one.start(vec![Do::Permit, Do::Await, Do::Continue(vec![Do::Await])]).await.unwrap();
        world.settle().await;
        two.start(vec![Do::Permit, Do::Await]).await.unwrap();
        world.settle().await;
        assert!(two.status().await.unwrap().unwrap().waits_for[0].operation.starts_with("permit:"));
        one.send(Next(1)).await.unwrap();
        world.settle().await;
        assert!(two.status().await.unwrap().unwrap().waits_for[0].operation.starts_with("wait:"));
        two.restart_with(vec![Do::Await]).await.unwrap();
        world.settle().await;
        assert_eq!(world.client().seat("s").stats().await.unwrap().used, 0);
        assert!(!names(&world.events()).contains(&"workflow.panicked"));
    }
}

/// The costs of an action in commits, entity writes, rows and read calls.
async fn cost(world: &World<App>, what: impl Future) -> (u64, u64, u64, u64) {
    let before = world.counts();
    what.await;
    world.settle().await;
    let after = world.counts().since(before);
    (after.commits, after.entities, after.rows, after.read_calls)
}

/// L5, L6, L8, H2, W9, M5
#[tokio::test]
async fn what_the_parts_of_a_run_cost() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let client = world.client();
        let start = |key: &'static str, plan: Vec<Do>| {
            let run = client.trip(key);
            async move { run.start(plan).await.unwrap() }
        };
        client.tally("t").add().await.unwrap();
        assert_eq!(cost(&world, start("a", vec![Do::Await])).await, (1, 1, 0, 1));
        let run = client.trip("a");
        assert_eq!(cost(&world, run.vote().into_future()).await, (1, 1, 0, 0), "an update is an entry");
        assert_eq!(cost(&world, run.pause().into_future()).await, (1, 1, 0, 0));
        assert_eq!(cost(&world, run.resume().into_future()).await, (1, 1, 0, 0));
        assert_eq!(cost(&world, run.restart().into_future()).await, (1, 1, 0, 0), "its input lies in the record");
        assert_eq!(cost(&world, start("b", vec![book("x")])).await, (2, 2, 0, 1), "a success undoes nothing");
        // The commit in which the step ends also ends the generation and begins the next one.
        assert_eq!(cost(&world, start("c", vec![book("x"), Do::Continue(vec![])])).await, (2, 2, 0, 1));
        // An undo is one commit, like the step.
        assert_eq!(cost(&world, start("d", vec![book("x"), Do::Fail])).await, (3, 3, 2, 1));
        assert_eq!(cost(&world, start("e", vec![book("x"), book("y"), Do::Fail])).await, (5, 5, 4, 2));
        // The run's start, the call, and the run's end.
        assert_eq!(cost(&world, start("f", vec![Do::Call])).await, (3, 3, 0, 2));
        // The same, and the return of the permit.
        assert_eq!(cost(&world, start("g", vec![Do::Permit])).await, (4, 4, 6, 4));
        // A child with one step, and two commits of its parent: the first begins the child, the second
        // takes its end.
        assert_eq!(cost(&world, start("h", vec![Do::Child(0)])).await, (4, 4, 0, 2));
    }
}

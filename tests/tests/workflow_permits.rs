//! Permits that runs hold, across crashes and for any length of time (M5, S5).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Client, Event, Failure, Fault, Flow, Primitives, RunError, d, primitive,
    testing::{self, Moment, World, replay},
    workflow,
    workflow::{RunPhase, RunStatus, Stopped},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[primitive(semaphore, permits = 2, lease = "30s")]
struct Line;

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go;

/// Holds a permit until an event tells it to continue without one.
#[derive(Default, Serialize, Deserialize)]
struct Holder {
    holds: bool,
}

#[workflow(events(Go))]
impl Holder {
    async fn run(flow: &Flow<Self>, weight: u64, lines: &Client<Line>) -> u64 {
        let permit = flow.permit(lines.get("line").acquire().weight(weight)).await;
        flow.update(|holder| holder.holds = true);
        flow.wait_for::<Go>().await;
        drop(permit);
        flow.update(|holder| holder.holds = false);
        flow.wait_for::<Go>().await;
        weight
    }

    async fn holds(&self) -> bool {
        self.holds
    }
}

/// Waits for a permit for a limited time.
#[derive(Default, Serialize, Deserialize)]
struct Hasty;

#[workflow]
impl Hasty {
    async fn run(flow: &Flow<Self>, lines: &Client<Line>) -> bool {
        let got = flow.permit(lines.get("line").acquire()).within("1m").await.is_ok();
        flow.sleep("1h").await;
        got
    }
}

/// Releases a permit in the same turn that asks for the permit.
#[derive(Default, Serialize, Deserialize)]
struct Fickle;

#[workflow]
impl Fickle {
    async fn run(flow: &Flow<Self>, lines: &Client<Line>) -> bool {
        flow.permit(lines.get("line").acquire()).within("0s").await.is_ok()
    }
}

/// Holds a permit, calls a primitive and runs code, under keys and names that end like the name of a step.
#[derive(Default, Serialize, Deserialize)]
struct Namesake;

#[workflow]
impl Namesake {
    async fn run(flow: &Flow<Self>, lines: &Client<Line>) -> Result<(), Failure> {
        let _permit = flow.permit(lines.get("acme/charge").acquire()).await;
        flow.run("acme/charge", async { 1 }).await;
        flow.charge(7).await;
        Err("as it must".into())
    }

    #[step(undo = refund)]
    async fn charge(cents: u32) -> u32 {
        cents
    }

    #[step]
    async fn refund(_cents: u32, _charged: Option<u32>) {}
}

#[derive(Primitives)]
struct App {
    timeout: Timeout,
    deadline: Deadline,
    once: Once,
    catcher: Catcher,
    line: Line,
    holder: Holder,
    hasty: Hasty,
    fickle: Fickle,
    namesake: Namesake,
}

async fn used(world: &World<App>) -> (u64, u64) {
    let stats = world.client().line("line").stats().await.unwrap();
    (stats.used, stats.waiting)
}

/// M5, S5
#[test]
fn a_run_holds_its_permit_over_restarts_until_it_drops_it() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.start::<App>().await;
            let client = world.client();
            for key in ["a", "b", "c"] {
                client.holder(key).start(1).await.unwrap();
                world.settle().await;
            }
            assert_eq!(used(&world).await, (2, 1));
            assert!(!client.holder("c").holds().await.unwrap());
            world.restart().await;
            world.advance(d!("3d")).await;
            assert_eq!(used(&world).await, (2, 1), "no lease ends");
            client.holder("a").send(Go).await.unwrap();
            world.settle().await;
            assert!(client.holder("c").holds().await.unwrap());
            assert_eq!(used(&world).await, (2, 0));
        });
    }
}

/// M5, S5: permits come back however their run ends.
#[test]
fn permits_come_back_with_the_end_of_their_run() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.start::<App>().await;
            let client = world.client();
            for (key, ending) in [("a", "cancel"), ("b", "terminate"), ("c", "destroy")] {
                let run = client.holder(key);
                run.start(2).await.unwrap();
                world.settle().await;
                assert_eq!(used(&world).await, (2, 0), "{ending}");
                match ending {
                    "cancel" => assert!(run.cancel().await.unwrap()),
                    "terminate" => assert!(run.terminate().await.unwrap()),
                    _ => assert!(run.destroy().await.unwrap()),
                }
                world.settle().await;
                assert_eq!(used(&world).await, (0, 0), "{ending}");
            }
        });
    }
}

/// M5: a run that stops waiting leaves the line.
#[test]
fn a_run_that_waits_no_longer_leaves_the_line() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.start::<App>().await;
            let client = world.client();
            client.holder("a").start(2).await.unwrap();
            world.settle().await;
            client.hasty("h").start().await.unwrap();
            world.settle().await;
            assert_eq!(used(&world).await, (2, 1));
            world.advance(d!("2m")).await;
            assert_eq!(used(&world).await, (2, 0));
            client.holder("a").send(Go).await.unwrap();
            world.settle().await;
            assert_eq!(used(&world).await, (0, 0));
            world.advance(d!("1h")).await;
            assert!(!client.hasty("h").result().await.unwrap());
        });
    }
}

/// M4, M5: a semaphore that is unbound or was destroyed has nothing to take back.
#[test]
fn a_permit_given_back_to_an_unbound_semaphore_is_no_dead_letter() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.start::<App>().await;
            let client = world.client();
            assert!(!client.fickle("f").execute().await.unwrap());
            world.settle().await;
            client.holder("h").start(1).await.unwrap();
            world.settle().await;
            assert_eq!(used(&world).await, (1, 0));
            client.line("line").destroy().await.unwrap();
            client.holder("h").send(Go).await.unwrap();
            world.settle().await;
            assert!(!client.holder("h").holds().await.unwrap());
            let letters = world.dead_letters().list(Default::default()).await.unwrap().letters;
            assert!(letters.is_empty(), "{letters:?}");
        });
    }
}

/// M5, S5: wherever the process dies, no more permits are out than there are, and none at the end.
#[test]
fn no_permit_is_lost_or_doubled_wherever_the_process_dies() {
    for setup in [World::memory, World::sqlite] {
        testing::block_on(async {
            for (commit, moment) in (1..14).flat_map(|commit| [(commit, Moment::Before), (commit, Moment::After)]) {
                let world = setup().start::<App>().await;
                let client = world.client();
                world.crash_at_commit(commit, moment);
                for round in 0..2 {
                    for key in ["a", "b"] {
                        let run = client.holder(key);
                        let _ = run.start_or_get(2).await;
                        let _ = run.send(Go).idempotency_key("one").await;
                        let _ = run.send(Go).idempotency_key("two").await;
                    }
                    world.settle().await;
                    if round == 0 && world.is_dead() {
                        world.restart().await;
                    }
                }
                for key in ["a", "b"] {
                    let phase = client.holder(key).status().await.unwrap().unwrap().phase;
                    assert_eq!(phase, RunPhase::Succeeded, "{key}, {commit} {moment:?}");
                }
                assert_eq!(used(&world).await, (0, 0), "{commit} {moment:?}");
            }
        });
    }
}

/// W9, M5: the name of a permit or of code does not make it a step.
#[test]
fn a_permit_whose_key_ends_like_a_step_is_not_undone() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.start::<App>().await;
            let run = world.client().namesake("a");
            let error = run.execute().await.unwrap_err().failed().unwrap();
            assert_eq!(error, RunError::Failed("as it must".into()));
            let history = run.history().await.unwrap();
            let operations: Vec<_> = history.operations().collect();
            let expected = ["permit:acme/charge#1", "run:acme/charge#1", "charge#1", "undo/charge#1/refund#1"];
            assert_eq!(operations, expected);
        });
    }
}

/// Checks that a run is stopped because an option has no effect for it, with a message of what to write.
fn says_what_to_write(status: RunStatus, word: &str) {
    let Some(Stopped::Panicked { message, .. }) = status.stopped else { panic!("{word}: {status:?}") };
    assert!(message.contains(word) && message.contains("hear"), "{word}: {message}");
}

/// Acquires a permit with a timeout of the caller.
#[derive(Default, Serialize, Deserialize)]
struct Timeout;

#[workflow]
impl Timeout {
    async fn run(flow: &Flow<Self>, lines: &Client<Line>) {
        drop(flow.permit(lines.get("line").acquire().timeout(d!("5s"))).await);
    }
}

/// M5, W7
#[test]
fn a_permit_with_a_timeout_stops_the_run() {
    testing::block_on(async {
        let world = World::memory().start::<App>().await;
        let run = world.client().timeout("a");
        run.start().await.unwrap();
        says_what_to_write(run.status().await.unwrap().unwrap(), "within");
    });
}

/// Makes a durable call with a deadline of the caller.
#[derive(Default, Serialize, Deserialize)]
struct Deadline;

#[workflow]
impl Deadline {
    async fn run(flow: &Flow<Self>, others: &Client<Namesake>) {
        flow.call(others.get("b").cancel().deadline(d!("5s"))).await;
    }
}

/// M5, W7
#[test]
fn a_durable_call_with_a_deadline_stops_the_run() {
    testing::block_on(async {
        let world = World::memory().start::<App>().await;
        let run = world.client().deadline("a");
        run.start().await.unwrap();
        says_what_to_write(run.status().await.unwrap().unwrap(), "within");
    });
}

/// Makes a durable call with an idempotency key.
#[derive(Default, Serialize, Deserialize)]
struct Once;

#[workflow]
impl Once {
    async fn run(flow: &Flow<Self>, others: &Client<Namesake>) {
        flow.call(others.get("b").cancel().idempotency_key("one")).await;
    }
}

/// M5, W7
#[test]
fn a_durable_call_with_an_idempotency_key_stops_the_run() {
    testing::block_on(async {
        let world = World::memory().start::<App>().await;
        let run = world.client().once("a");
        run.start().await.unwrap();
        says_what_to_write(run.status().await.unwrap().unwrap(), "leave it out");
    });
}

/// Asks for more permits than there are, and catches the fault.
#[derive(Default, Serialize, Deserialize)]
struct Catcher;

#[workflow]
impl Catcher {
    async fn run(flow: &Flow<Self>, lines: &Client<Line>) -> String {
        let told =
            |caught: Result<_, Fault>| caught.map_or_else(|fault| fault.cause.to_string(), |_| "held".to_owned());
        let line = lines.get("line");
        let heavy = told(flow.permit(line.acquire().weight(3)).catch().await);
        let light = told(flow.permit(line.acquire().weight(2)).catch().await);
        format!("{light}: {heavy}")
    }
}

/// M5, W3
#[test]
fn a_permit_that_ends_in_a_fault_can_be_caught() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.start::<App>().await;
            let run = world.client().catcher("a");
            let told = run.execute().await.unwrap();
            assert!(told.starts_with("held: ") && told.contains("more than all 2 permits"), "{told}");
            replay::<Catcher>(&run.history().await.unwrap()).unwrap();
            assert_eq!(used(&world).await, (0, 0));
        });
    }
}

/// S1: a weight above the number of permits is a fault of the run, which does not wait.
#[test]
fn a_permit_that_is_too_heavy_is_a_fault() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.start::<App>().await;
            let error = world.client().holder("a").execute(3).await.unwrap_err();
            let fault = match error.failed().unwrap() {
                RunError::Fault(Fault { cause, .. }) => cause.to_string(),
                other => panic!("{other:?}"),
            };
            assert!(fault.contains("more than all 2 permits"), "{fault}");
        });
    }
}

//! Runs that begin child runs and wait for them (L6).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Client, Event, Flow, Primitives, RunError, Services, d,
    testing::{self, Log, Moment, World},
    workflow,
    workflow::{RunPhase, join_all},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go;

/// A child that takes as long as its input says.
#[derive(Default, Serialize, Deserialize)]
struct Parcel;

#[workflow(events(Go))]
impl Parcel {
    async fn run(flow: &Flow<Self>, what: String) -> Result<String, String> {
        match what.as_str() {
            "broken" => return Err("it fell".into()),
            "slow" => flow.sleep("1h").await,
            "never" => {
                flow.wait_for::<Go>().await;
            }
            _ => {}
        }
        Ok(flow.ship(what).await)
    }

    #[cancelled]
    async fn returned(flow: &Flow<Self>) {
        flow.ship("back".into()).await;
    }

    #[step]
    async fn ship(what: String, log: &Log) -> String {
        log.say(what.clone());
        format!("shipped {what}")
    }
}

/// The result of a child as a text.
fn told(ended: Result<String, RunError<String>>) -> String {
    ended.unwrap_or_else(|error| format!("not: {error}"))
}

/// A parent that waits for a single child.
#[derive(Default, Serialize, Deserialize)]
struct Order;

#[workflow]
impl Order {
    async fn run(flow: &Flow<Self>, what: String, parcels: &Client<Parcel>) -> String {
        told(flow.child(parcels.get("one").execute(what)).await)
    }
}

#[derive(Primitives)]
struct App {
    parcel: Parcel,
    order: Order,
    batch: Batch,
    wide: Wide,
    hasty: Hasty,
    abandons: Abandons,
    detaches: Detaches,
}

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

async fn children(world: &World<App>) -> Vec<(String, String)> {
    let page = world.entities().of::<Parcel>().limit(1_000).await.unwrap();
    page.entities.iter().map(|view| (view.key.clone(), view.meta.status.clone())).collect()
}

/// L6
#[test]
fn a_parent_has_the_result_of_its_child_or_its_error() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.services(Fakes::default()).start::<App>().await;
            let client = world.client();
            assert_eq!(client.order("a").execute("tea".into()).await.unwrap(), "shipped tea");
            assert_eq!(client.order("b").execute("broken".into()).await.unwrap(), "not: it fell");
            let children = children(&world).await;
            assert!(children[0].0.starts_with("a/one~") && children[1].0.starts_with("b/one~"), "{children:?}");
        });
    }
}

/// A parent that waits for many children together.
#[derive(Default, Serialize, Deserialize)]
struct Batch;

#[workflow]
impl Batch {
    async fn run(flow: &Flow<Self>, count: u32, parcels: &Client<Parcel>) -> Vec<String> {
        let parcel = |number: u32| flow.child(parcels.get(number.to_string()).execute(format!("p{number}")));
        join_all((0..count).map(parcel)).await.into_iter().map(told).collect()
    }
}

/// L6
#[test]
fn hundreds_of_children_are_waited_for_together() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.services(Fakes::default()).start::<App>().await;
            let ended = world.client().batch("a").execute(450).await.unwrap();
            let expected: Vec<_> = (0..450).map(|number| format!("shipped p{number}")).collect();
            assert_eq!(ended, expected);
            assert_eq!(children(&world).await.len(), 450);
        });
    }
}

/// L6
#[test]
fn thousands_of_children_are_waited_for_together() {
    testing::block_on(async {
        let world = World::memory().services(Fakes::default()).start::<App>().await;
        let ended = world.client().batch("a").execute(2_000).await.unwrap();
        assert_eq!(ended.len(), 2_000);
        assert!(ended.iter().enumerate().all(|(number, told)| *told == format!("shipped p{number}")));
        assert_eq!(world.client().batch("a").status().await.unwrap().unwrap().entries, 2_002);
    });
}

/// A parent of many children, each with an input of two hundred bytes. Counts the right results.
#[derive(Default, Serialize, Deserialize)]
struct Wide;

#[workflow]
impl Wide {
    async fn run(flow: &Flow<Self>, count: u32, parcels: &Client<Parcel>) -> usize {
        let what = |number: u32| format!("{number:0>200}");
        let parcel = |number: u32| flow.child(parcels.get(number.to_string()).execute(what(number)));
        let ended = join_all((0..count).map(parcel)).await.into_iter().enumerate();
        let is_its = |(number, ended)| told(ended) == format!("shipped {number:0>200}");
        ended.filter(|(number, ended)| is_its((*number, ended.clone()))).count()
    }
}

/// L6, W11
#[test]
fn the_inputs_of_a_thousand_children_need_not_fit_a_record() {
    testing::block_on(async {
        let world = World::memory().services(Fakes::default()).start::<App>().await;
        let ended = world.client().wide("a").execute(1_000).await.unwrap();
        assert_eq!(ended, 1_000);
    });
}

/// L6, fA8, fA14: the process dies at every commit; a child begins once and its end is delivered once.
#[test]
fn a_childs_end_reaches_its_parent_once_wherever_the_process_dies() {
    for setup in [World::memory, World::sqlite] {
        testing::block_on(async {
            for (commit, moment) in (1..).flat_map(|commit| [(commit, Moment::Before), (commit, Moment::After)]) {
                let world = setup().services(Fakes::default()).start::<App>().await;
                let order = world.client().batch("a");
                world.crash_at_commit(commit, moment);
                let _ = order.start_or_get(3).await;
                world.settle().await;
                let has_died = world.is_dead();
                if has_died {
                    world.restart().await;
                    order.start_or_get(3).await.unwrap();
                }
                let ended = order.result().await.unwrap();
                assert_eq!(ended, ["shipped p0", "shipped p1", "shipped p2"], "{commit} {moment:?}");
                let entries = order.status().await.unwrap().unwrap().entries;
                assert_eq!((entries, children(&world).await.len()), (5, 3), "{commit} {moment:?}");
                if !has_died {
                    assert!(
                        commit > 4,
                        "it died at the start, at those of children, at their ends and its own: {commit}"
                    );
                    break;
                }
            }
        });
    }
}

/// L6: a parent that is not in memory, or whose process is down, gets the end later.
#[test]
fn a_parent_that_sleeps_is_woken_by_its_child() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.services(Fakes::default()).start::<App>().await;
            let order = world.client().order("a");
            order.start("slow".into()).await.unwrap();
            world.advance(d!("30m")).await;
            assert_eq!(order.status().await.unwrap().unwrap().phase, RunPhase::Suspended);
            world.restart().await;
            world.advance(d!("31m")).await;
            assert_eq!(order.result().await.unwrap(), "shipped slow");
        });
    }
}

/// A parent that releases its child after a minute.
#[derive(Default, Serialize, Deserialize)]
struct Hasty;

#[workflow(events(Go))]
impl Hasty {
    async fn run(flow: &Flow<Self>, parcels: &Client<Parcel>) -> String {
        let first = select! {
            ended = flow.child(parcels.get("one").execute("never".into())) => told(ended),
            _ = flow.sleep("1m") => "too late".to_owned(),
        };
        flow.wait_for::<Go>().await;
        first
    }
}

/// L6: a parent that ends or releases its child cancels it, and the child's cleanup runs.
#[test]
fn a_child_is_cancelled_with_its_parent() {
    for setup in both() {
        testing::block_on(async {
            let fakes = Fakes::default();
            let world = setup.services(fakes.clone()).start::<App>().await;
            let client = world.client();
            client.order("cancelled").start("never".into()).await.unwrap();
            assert!(client.order("cancelled").cancel().await.unwrap());
            world.settle().await;
            assert_eq!(fakes.log.take(), ["back"]);
            client.order("terminated").start("never".into()).await.unwrap();
            assert!(client.order("terminated").terminate().await.unwrap());
            world.settle().await;
            assert_eq!(fakes.log.take(), ["back"]);
            client.hasty("lost").start().await.unwrap();
            world.advance(d!("2m")).await;
            assert_eq!(fakes.log.take(), ["back"]);
            let statuses: Vec<_> = children(&world).await.into_iter().map(|(_, status)| status).collect();
            assert_eq!(statuses, ["cancelled", "cancelled", "cancelled"]);
            assert_eq!(client.hasty("lost").status().await.unwrap().unwrap().phase, RunPhase::Suspended);
        });
    }
}

/// A parent that abandons its child after a minute.
#[derive(Default, Serialize, Deserialize)]
struct Abandons;

#[workflow]
impl Abandons {
    async fn run(flow: &Flow<Self>, parcels: &Client<Parcel>) -> String {
        let child = flow.child(parcels.get("one").execute("slow".into())).abandon();
        child.within("1m").await.map_or_else(|late| late.to_string(), told)
    }
}

/// A parent with a detached child.
#[derive(Default, Serialize, Deserialize)]
struct Detaches;

#[workflow]
impl Detaches {
    async fn run(flow: &Flow<Self>, parcels: &Client<Parcel>) -> String {
        flow.child(parcels.get("one").execute("slow".into())).detached().await
    }
}

/// L6
#[test]
fn an_abandoned_and_a_detached_child_go_on_without_their_parent() {
    for setup in both() {
        testing::block_on(async {
            let fakes = Fakes::default();
            let world = setup.services(fakes.clone()).start::<App>().await;
            let client = world.client();
            client.abandons("a").start().await.unwrap();
            world.advance(d!("2m")).await;
            assert_eq!(client.abandons("a").result().await.unwrap(), "it did not end within 60s");
            let key = client.detaches("d").execute().await.unwrap();
            assert_eq!(client.parcel(&key).status().await.unwrap().unwrap().phase, RunPhase::Suspended);
            world.advance(d!("2h")).await;
            assert_eq!(fakes.log.take(), ["slow", "slow"]);
            assert_eq!(client.parcel(&key).result().await.unwrap(), "shipped slow");
        });
    }
}

/// L6: a destroyed child has ended, too.
#[test]
fn a_child_that_is_destroyed_has_ended() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.services(Fakes::default()).start::<App>().await;
            let client = world.client();
            client.order("a").start("never".into()).await.unwrap();
            world.settle().await;
            let (key, _) = children(&world).await.pop().unwrap();
            assert!(client.parcel(&key).destroy().await.unwrap());
            assert_eq!(client.order("a").result().await.unwrap(), "not: the run was terminated");
        });
    }
}

/// L6: a second run of the same key has children of its own.
#[test]
fn another_run_of_the_same_key_has_other_children() {
    for setup in both() {
        testing::block_on(async {
            let world = setup.services(Fakes::default()).start::<App>().await;
            let order = world.client().order("a");
            order.start("slow".into()).await.unwrap();
            world.settle().await;
            order.destroy().await.unwrap();
            world.advance(d!("1m")).await;
            assert_eq!(order.execute("tea".into()).await.unwrap(), "shipped tea");
            assert_eq!(children(&world).await.len(), 2);
        });
    }
}

static IS_MENDED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// A parent whose code is broken when its child ends.
#[derive(Default, Serialize, Deserialize)]
struct Broken;

#[workflow]
impl Broken {
    async fn run(flow: &Flow<Self>, parcels: &Client<Parcel>) -> String {
        let (ended, ()) = join!(flow.child(parcels.get("one").execute("slow".into())), Self::breaks(flow));
        ended.unwrap()
    }

    async fn breaks(flow: &Flow<Self>) {
        flow.sleep("1m").await;
        assert!(IS_MENDED.load(std::sync::atomic::Ordering::Relaxed), "not yet");
    }
}

#[derive(Primitives)]
struct BrokenApp {
    parcel: Parcel,
    broken: Broken,
}

/// L6: a stopped parent gets the end of its child when it resumes.
#[test]
fn a_parent_that_is_stopped_does_not_miss_its_child() {
    for setup in both() {
        IS_MENDED.store(false, std::sync::atomic::Ordering::Relaxed);
        testing::block_on(async {
            let world = setup.services(Fakes::default()).start::<BrokenApp>().await;
            let run = world.client().broken("b");
            run.start().await.unwrap();
            world.advance(d!("2h")).await;
            assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Panicked);
            world.restart().await;
            IS_MENDED.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(run.resume().await.unwrap());
            assert_eq!(run.result().await.unwrap(), "shipped slow");
        });
    }
}

//! Histories that were recorded by earlier versions: every version of Drystone replays them, and names
//! operations as they do (fF2).
//!
//! `HISTORIES=write cargo test -p drystone-tests --test workflow_histories` records them anew. A change
//! that needs this breaks every run in progress of every user. Do it only for a workflow that is added
//! here.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{collections::BTreeMap, path::PathBuf};

use drystone::{
    Event, EventTimeout, Failure, Flow, Primitives, Timestamp, d, join_all,
    testing::{World, replay_all},
    workflow,
    workflow::History,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order)]
struct Paid {
    order: String,
    cents: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Basket {
    lines: BTreeMap<String, u32>,
    note: Option<String>,
}

/// A workflow with everything that a body can ask for, each under one name.
#[derive(Default, Serialize, Deserialize)]
struct Old {
    seen: Vec<String>,
}

#[workflow(events(Paid))]
impl Old {
    async fn run(flow: &Flow<Self>, how: String) -> Result<String, Failure> {
        match how.as_str() {
            "steps" => {
                let basket = flow.pack(Basket { lines: [("b".into(), 2), ("a".into(), 1)].into(), note: None }).await;
                flow.nothing().await;
                let none = flow.none().await;
                let refused = flow.refuses(basket.lines.len() as u32).await.unwrap_err();
                let fault = flow.breaks().catch().await.unwrap_err();
                let own = flow.run("own code", async { 7 }).await;
                Ok(format!("{none:?} {refused} {} {own}", fault.step))
            }
            "time" => {
                flow.sleep("1h").await;
                flow.sleep_until(Timestamp::from_millis(0)).await;
                flow.note(flow.now().as_millis().to_string()).await;
                Ok("slept".into())
            }
            "chance" => {
                let (number, id) = (flow.random(), flow.uuid());
                Ok(flow.note(format!("{number} {id}")).await)
            }
            "events" => {
                let first = flow.wait_for::<Paid>().key("a").await;
                let late: Result<Paid, EventTimeout> = flow.wait_for::<Paid>().key("b").timeout("1m").await;
                let two = flow.wait_for::<Paid>().times(2).await;
                flow.update(|old| old.seen.extend(two.into_iter().map(|paid| paid.order)));
                Ok(format!("{} {}", first.cents, late.is_err()))
            }
            "branches" => {
                let (left, right) = join!(flow.note("left".into()), async {
                    flow.sleep("1s").await;
                    flow.note("right".into()).await
                });
                let all = join_all((0..3).map(|nth| flow.note(nth.to_string()))).await;
                let first = select! {
                    paid = flow.wait_for::<Paid>() => paid.order,
                    _ = flow.sleep("1m") => flow.note("late".into()).await,
                };
                Ok(format!("{left} {right} {all:?} {first}"))
            }
            "versions" => {
                let version = flow.version("fees", 1..=2);
                Ok(flow.note(version.to_string()).await)
            }
            _ => {
                flow.note("before".into()).await;
                flow.sleep("30d").await;
                Err("nobody cancelled it".into())
            }
        }
    }

    #[cancelled]
    async fn stop(flow: &Flow<Self>) {
        flow.note("cancelled".into()).await;
    }

    #[step]
    async fn pack(basket: Basket) -> Basket {
        basket
    }

    #[step]
    async fn nothing() {}

    #[step]
    async fn none() -> Option<u32> {
        None
    }

    #[step(max_attempts = 2, backoff = "1s")]
    async fn refuses(lines: u32) -> Result<(), Failure> {
        Err(format!("{lines} lines are too few").into())
    }

    #[step(max_attempts = 1)]
    async fn breaks() {
        panic!("it always does")
    }

    #[step]
    async fn note(text: String) -> String {
        text
    }
}

#[derive(Primitives)]
struct App {
    old: Old,
}

const ALL: [&str; 7] = ["branches", "cancelled", "chance", "events", "steps", "time", "versions"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

/// The history that the current code records.
async fn recorded(how: &str) -> History {
    let world = World::sqlite().start::<App>().await;
    let run = world.client().old("a");
    run.start(how.into()).await.unwrap();
    for order in ["a", "c", "d"] {
        let _ = run.send(Paid { order: order.into(), cents: 5 }).await;
    }
    world.advance(d!("2m")).await;
    if how == "cancelled" {
        run.cancel().await.unwrap();
    }
    world.advance(d!("1d")).await;
    assert!(run.status().await.unwrap().unwrap().phase.has_ended(), "{how}");
    run.history().await.unwrap()
}

/// W4, R5, fF2
#[tokio::test]
async fn what_was_recorded_long_ago_is_replayed_by_todays_code() {
    if std::env::var("HISTORIES").is_ok_and(|asked| asked == "write") {
        for how in ALL {
            recorded(how).await.save(folder().join(how).with_extension("json")).unwrap();
        }
    }
    assert_eq!(replay_all::<Old>(folder()).unwrap(), ALL.len());
}

/// W4, fF2
#[tokio::test]
async fn todays_code_names_what_it_does_as_it_did_long_ago() {
    for how in ALL {
        let old = History::load(folder().join(how).with_extension("json")).unwrap();
        let new = recorded(how).await;
        assert_eq!(new.operations().collect::<Vec<_>>(), old.operations().collect::<Vec<_>>(), "{how}");
    }
}

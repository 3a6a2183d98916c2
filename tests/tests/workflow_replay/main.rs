//! Code that changes under a run: the change is found at the exact step; and recorded histories as tests
//! (W4, R5, F).
//!
//! - `edits`: an edit of the code that does not fit the journal is noticed (R5, W7).
//! - `stops`: a run whose code panics or does not fit stops until other code comes (W7).
//! - `histories`: a recorded history is replayed against the code (R5).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

/// A version of a workflow, with a body of its own.
macro_rules! version {
    ($module:ident, $flow:ident, $total:ident, $body:block) => {
        mod $module {
            use super::*;

            #[derive(Default, Serialize, Deserialize)]
            pub(super) struct Order;

            #[workflow(events(Go))]
            impl Order {
                async fn run($flow: &Flow<Self>, $total: u32) -> Result<u32, Failure> $body

                #[step]
                async fn reserve(total: u32, log: &Log) -> Result<u32, Failure> {
                    log.say(format!("reserve {total}"));
                    Ok(total)
                }

                #[step]
                async fn charge(total: u32, log: &Log) -> Result<u32, Failure> {
                    log.say(format!("charge {total}"));
                    Ok(total + 1)
                }

                #[step]
                async fn ship(total: u32, log: &Log) -> Result<u32, Failure> {
                    log.say(format!("ship {total}"));
                    Ok(total + 2)
                }
            }

            #[derive(Primitives)]
            pub(super) struct App {
                order: Order,
            }
        }
    };
}

/// Starts a run of the first version, which waits for its event, then opens the world with another version.
macro_rules! deployed {
    ($module:ident) => {{
        let fakes = Fakes::default();
        let world = World::sqlite().services(fakes.clone()).start::<first::App>().await;
        world.client().order("a").start(7).await.unwrap();
        assert_eq!(fakes.log.take(), ["reserve 7", "charge 7"]);
        let world = world.restart_as::<$module::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("2d")).await;
        (world, fakes)
    }};
}

mod edits;
mod histories;
mod stops;

use std::sync::atomic::{AtomicBool, Ordering};

use drystone::{
    Event, Failure, Flow, Primitives, Services, d,
    testing::{Log, ReplayError, World, replay},
    workflow,
    workflow::{Divergence, History, RunPhase, Stopped},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go;

version!(first, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    flow.ship(charged).await
});
version!(added, flow, total, {
    let reserved = flow.reserve(total).await?;
    flow.ship(1).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    flow.ship(charged).await
});
version!(reordered, flow, total, {
    let charged = flow.charge(total).await?;
    let reserved = flow.reserve(charged).await?;
    flow.wait_for::<Go>().await;
    flow.ship(reserved).await
});
version!(another_input, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved * 2).await?;
    flow.wait_for::<Go>().await;
    flow.ship(charged).await
});
version!(removed, flow, total, {
    let reserved = flow.reserve(total).await?;
    flow.wait_for::<Go>().await;
    flow.ship(reserved).await
});
version!(another_wait, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.sleep("1h").await;
    flow.ship(charged).await
});
version!(ends_early, flow, total, {
    let reserved = flow.reserve(total).await?;
    flow.charge(reserved).await
});
version!(branched, flow, total, {
    let (reserved, charged) = join!(async { flow.reserve(total).await }, async { flow.charge(total).await });
    reserved?;
    flow.wait_for::<Go>().await;
    flow.ship(charged?).await
});
version!(panics, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    assert_eq!(charged, 0, "not this time");
    flow.wait_for::<Go>().await;
    flow.ship(charged).await
});
version!(fixed, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    flow.ship(charged + 100).await
});

fn diverged(stopped: Option<Stopped>) -> Divergence {
    match stopped {
        Some(Stopped::Diverged(divergence)) => divergence,
        other => panic!("not diverged: {other:?}"),
    }
}

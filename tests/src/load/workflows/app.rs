//! The measured workflows, as an author writes them.

use drystone::{Client, Event, Flow, Primitives, Timestamp, join_all, workflow};
use serde::{Deserialize, Serialize};

/// A sequence of steps that do nothing.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::load) struct Nops;

#[workflow]
impl Nops {
    async fn run(flow: &Flow<Self>, steps: u32) -> u32 {
        let mut done = 0;
        for number in 0..steps {
            done += flow.nop(number).await.min(1);
        }
        done
    }

    #[step]
    async fn nop(n: u32) -> u32 {
        n
    }
}

/// The event that a run waits for.
#[derive(Event, Serialize, Deserialize)]
pub(in crate::load) struct Go;

/// Some steps, and then a wait for an event.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::load) struct Waiter;

#[workflow(events(Go))]
impl Waiter {
    async fn run(flow: &Flow<Self>, steps: u32) {
        for number in 0..steps {
            flow.nop(number).await;
        }
        flow.wait_for::<Go>().await;
    }

    #[step]
    async fn nop(n: u32) -> u32 {
        n
    }
}

/// Sleeps until a given time. The time is its state, so that the store can see how late the run was woken.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::load) struct Sleeper {
    pub(in crate::load) until: i64,
}

#[workflow]
impl Sleeper {
    async fn run(flow: &Flow<Self>, until: i64) {
        flow.update(|sleeper| sleeper.until = until);
        flow.sleep_until(Timestamp::from_millis(until)).await;
    }
}

/// A number of children, all awaited together.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::load) struct Parent;

#[workflow]
impl Parent {
    async fn run(flow: &Flow<Self>, count: u32, nops: &Client<Nops>) -> u32 {
        let ended = join_all((0..count).map(|nth| flow.child(nops.get(nth.to_be_bytes()).execute(0)))).await;
        ended.iter().filter(|ended| ended.is_ok()).count() as u32
    }
}

/// A step, and then the same as another generation, a number of times.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::load) struct Rounds;

#[workflow]
impl Rounds {
    async fn run(flow: &Flow<Self>, left: u64) -> u64 {
        let left = flow.nop(left).await;
        if left == 0 { left } else { flow.continue_as(left - 1).await }
    }

    #[step]
    async fn nop(left: u64) -> u64 {
        left
    }
}

#[derive(Primitives)]
pub(in crate::load) struct App {
    rounds: Rounds,
    parent: Parent,
    nops: Nops,
    waiter: Waiter,
    sleeper: Sleeper,
}

//! A run that records the events of a topic in order.

use std::time::Duration;

use drystone::{Flow, workflow};
use serde::{Deserialize, Serialize};

use super::topic::{Job, News, Paid, Sort, Task, Topic};

/// The shortest time that a run waits before it gives up. Often an event is on its way by then.
const PATIENCE_MS_MIN: u64 = 5;

/// The number of different waiting times. Each is twice as long as the one before, and the shortest follows
/// the longest. If all times were short, an event could travel forever on a slow machine: it goes to the
/// longest waiting run, which is the next to give up.
const PATIENCES: u64 = 8;

/// The operations that the run heard of.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Listener {
    heard: Vec<u64>,
}

#[workflow(events(News, Paid, Job, Task))]
impl Listener {
    /// Ends with the last event. Returns everything heard before.
    async fn run(flow: &Flow<Self>, topic: Topic, nth: u64) -> Vec<u64> {
        for round in 0_u64.. {
            let patience = Duration::from_millis(PATIENCE_MS_MIN << ((nth + round) % PATIENCES));
            let key = topic.key();
            let heard = match topic.sort {
                Sort::News => Some(flow.wait_for::<News>().await.0),
                Sort::Paid(_) if topic.is_brisk() => {
                    flow.wait_for::<Paid>().key(key).timeout(patience).await.ok().map(|paid| paid.op)
                }
                Sort::Paid(_) => Some(flow.wait_for::<Paid>().key(key).await.op),
                Sort::Job => Some(flow.wait_for::<Job>().await.0),
                // If the wait loses, its event goes back and to another run.
                Sort::Task(_) => select! {
                    task = flow.wait_for::<Task>().key(key) => Some(task.op),
                    () = flow.sleep(patience) => None,
                },
            };
            match heard {
                Some(Some(op)) => flow.update(|listener| listener.heard.push(op)),
                Some(None) => return flow.look(|listener| listener.heard.clone()),
                None => {}
            }
        }
        unreachable!("rounds are endless")
    }
}

//! A publish storm: events for all and events for one, on topics with keys and without, while runs wait,
//! give up, and wait again.
//!
//! Operations publish. Each answer has the number of the event and the number of waits, and the child
//! reports both. Each run keeps the events that it heard, in order, until an event without an operation ends
//! it. The comparison with the acknowledged events shows every event that was lost, heard twice, or out of
//! order. The deliveries that the topics list are compared as well, as far back as the topics remember (T1).

mod answer;
mod evidence;
mod judged;
mod listener;
mod rest;
mod topic;

use anyhow::Result;
use drystone::Runtime;
use tokio::task::JoinSet;

use self::{
    answer::Answer,
    topic::{Sort, Topic},
};
pub(in crate::crash) use self::{evidence::Evidence, listener::Listener, rest::reach};
use crate::crash::{judging::answered::answered, op::Op, processes::app::App};

/// Starts the runs of a round. All of them start before anything is published, so that each run hears the
/// whole log of a topic with `from = "created"`.
pub(in crate::crash) async fn gather(app: &Runtime<App>, round: u64) -> Result<()> {
    let mut begun = JoinSet::new();
    for (topic, nth) in Topic::all(round).flat_map(|topic| (0..topic.listeners()).map(move |nth| (topic, nth))) {
        let run = app.client().listener(topic.run(nth)).start_or_get(topic, nth);
        begun.spawn(async move { anyhow::Ok(run.await.map(drop)?) });
    }
    begun.join_all().await.into_iter().collect()
}

/// Publishes the event of an operation. Returns the answer as one number.
pub(in crate::crash) async fn publish(app: &Runtime<App>, op: Op) -> Result<u64> {
    let (client, topic) = (app.client(), Topic::of(op));
    let published = answered(|| topic.publish(&client, Some(op.0)).idempotency_key(op.once())).await?;
    Ok(Answer::from(published).packed())
}

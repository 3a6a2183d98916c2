//! A publish storm: events for all who wait and for one of them, on topics with keys and without, while runs wait for them, give up and
//! wait again.
//!
//! Operations publish, and say under which number an event is acknowledged and how many waited for it. Each run keeps what it heard, in
//! order, until an event without an operation ends it. Held against what was acknowledged, that shows whatever was lost, heard twice, or
//! out of order. What the topics say of whom they told is held against it too, for as far back as they know (T1).

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
pub(super) use self::{evidence::Evidence, listener::Listener, rest::reach};
use super::{answered::answered, app::App, op::Op};

/// Begins the runs of a round. Before anything is published everybody has begun, so that a log which is read from a run's begin is heard whole.
pub(super) async fn gather(app: &Runtime<App>, round: u64) -> Result<()> {
    let mut begun = JoinSet::new();
    for (topic, nth) in Topic::all(round).flat_map(|topic| (0..topic.listeners()).map(move |nth| (topic, nth))) {
        let run = app.client().listener(topic.run(nth)).start_or_get(topic, nth);
        begun.spawn(async move { anyhow::Ok(run.await.map(drop)?) });
    }
    begun.join_all().await.into_iter().collect()
}

/// Publishes the event of an operation; the answer, as one number.
pub(super) async fn publish(app: &Runtime<App>, op: Op) -> Result<u64> {
    let (client, topic) = (app.client(), Topic::of(op));
    let published = answered(|| topic.publish(&client, Some(op.0)).idempotency_key(op.once())).await?;
    Ok(Answer::from(published).packed())
}

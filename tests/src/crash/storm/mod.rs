//! A publish storm, in a file of its own: events for all who wait and for one of them, on topics with keys and without, while runs
//! wait for them, give up and wait again.
//!
//! Operations publish, and say under which number an event is acknowledged and how many waited for it. Each run keeps what it heard, in
//! order, until an event without an operation ends it. Held against what was acknowledged, and against whom the topics say they told,
//! that shows whatever was lost, heard twice, or out of order.

mod answer;
mod evidence;
mod judged;
mod listener;
mod rest;
mod topic;

use std::path::{Path, PathBuf};

use anyhow::Result;
use drystone::{Call, CallError, Primitives, PublishError, Published, Runtime};
use tokio::task::JoinSet;

use self::{answer::Answer, listener::Listener, topic::Topic};
pub(super) use self::{evidence::Evidence, rest::reach};
use super::{doubt, op::Op, said::Said};

#[derive(Primitives)]
pub(super) struct App {
    listener: Listener,
}

fn beside(file: &Path) -> PathBuf {
    file.with_extension("storm.db")
}

/// Opens the app in a child. Before anything is published everybody has begun, so that a log which is read from a run's begin is heard whole.
pub(super) async fn open(file: &Path) -> Result<Runtime<App>> {
    let app = Runtime::sqlite(beside(file)).start::<App>().await?;
    Said::Opened.aloud();
    let mut begun = JoinSet::new();
    for (topic, nth) in Topic::all().flat_map(|topic| (0..topic.listeners()).map(move |nth| (topic, nth))) {
        let run = app.client().listener(topic.run(nth)).start_or_get(topic, nth);
        begun.spawn(async move { anyhow::Ok(run.await.map(drop)?) });
    }
    begun.join_all().await.into_iter().collect::<Result<()>>()?;
    doubt::over(&beside(file)).await?;
    Ok(app)
}

/// Publishes the event of an operation; the answer, as one number.
pub(super) async fn publish(app: &Runtime<App>, op: Op) -> Result<u64> {
    let (client, topic) = (app.client(), Topic::of(op));
    let published = answered(|| topic.publish(&client, Some(op.0)).idempotency_key(op.once())).await?;
    Ok(Answer::from(published).packed())
}

/// Asks until it is answered: the idempotency key makes that safe.
async fn answered(publish: impl Fn() -> Call<Published, PublishError>) -> Result<Published, CallError<PublishError>> {
    loop {
        match publish().await {
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            answer => return answer,
        }
    }
}

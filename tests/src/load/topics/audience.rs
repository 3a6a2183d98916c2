//! Runs that wait on one topic, each with somebody who waits for its result.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use drystone::d;
use tokio::{task::JoinSet, time::sleep};

use super::{
    super::{
        measured::Measured,
        workflows::{crowd, keys::Keys},
    },
    app::{AppClient as Client, Posted},
};

/// Between two looks at how many the topic knows.
const LOOK: Duration = d!("1ms");

/// Makes audiences, each of new runs.
#[derive(Clone)]
pub(super) struct Hall {
    client: Client,
    keys: Arc<Keys>,
}

/// How long one event took, from when it was published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// Until whoever published it had the answer.
    pub(super) answered: Duration,
    /// Until every run that had waited has ended, and whoever waits for its result has it.
    pub(super) ended: Duration,
}

impl Hall {
    pub(super) fn new(client: Client) -> Self {
        Self { client, keys: Arc::default() }
    }

    /// Lets so many runs wait on a topic, publishes, and says how long that took. The time in which they come to wait is not in it.
    pub(super) async fn tell(&self, topic: u64, count: u64) -> Result<Told> {
        let waiting = self.gather(topic, count).await?;
        let start = Instant::now();
        let published = self.client.publish(Posted::to(topic)).await?;
        let answered = start.elapsed();
        crowd::served(waiting).await?;
        let told = Told { answered, ended: start.elapsed() };
        ensure!(published.waiting == count, "{} waited, not {count}", published.waiting);
        Ok(told)
    }

    /// The same so many times, one after another.
    pub(super) async fn tell_often(&self, times: u64, topic: u64, count: u64) -> Result<[Measured; 2]> {
        let mut told = Vec::new();
        for _ in 0..times {
            told.push(self.tell(topic, count).await?);
        }
        Ok(measured(&told, count))
    }

    async fn gather(&self, topic: u64, count: u64) -> Result<JoinSet<Result<()>>> {
        let keys: Vec<[u8; 8]> = (0..count).map(|_| self.keys.next()).collect();
        let (client, started) = (self.client.clone(), keys.clone());
        let start = move |nth: u64| {
            let run = client.listener(started[nth as usize]);
            async move { Ok(run.start(topic).await?) }
        };
        crowd::each(count, start).await?;
        let results = keys.into_iter().map(|key| {
            let result = self.client.listener(key).result();
            async move { Ok(result.await.map(drop)?) }
        });
        let waiting = crowd::seated(results.collect()).await?;
        // This question stands behind all of theirs.
        while self.watching(topic).await? < count {
            sleep(LOOK).await;
        }
        Ok(waiting)
    }

    /// How many waits a topic knows.
    pub(super) async fn watching(&self, topic: u64) -> Result<u64> {
        let asked = async || anyhow::Ok(self.client.topic_of::<Posted>(topic).status().await?);
        let status = crowd::patiently(asked).await?;
        Ok(status.map_or(0, |status| status.watching))
    }
}

/// Until events were answered, and until their runs had ended: of these, runs are counted per second.
pub(super) fn measured(told: &[Told], count: u64) -> [Measured; 2] {
    let of = |part: fn(&Told) -> Duration| {
        let latencies: Vec<Duration> = told.iter().map(part).collect();
        let timed = latencies.iter().sum();
        Measured::new(latencies, timed)
    };
    [of(|told| told.answered), of(|told| told.ended).of_parts(count)]
}

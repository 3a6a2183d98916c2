//! Audiences: runs that wait on one topic, each with a caller that waits for its result.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use drystone::d;
use tokio::{task::JoinSet, time::sleep};

use super::app::{AppClient as Client, Posted};
use crate::load::{
    measuring::measured::Measured,
    workflows::{crowd, keys::Keys},
};

/// The pause between two looks at the number of waits that the topic knows.
const LOOK: Duration = d!("1ms");

/// Makes audiences. Each consists of new runs.
#[derive(Clone)]
pub(super) struct Hall {
    client: Client,
    keys: Arc<Keys>,
}

/// The times of one event, from when it was published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// Until the publisher had the answer.
    pub(super) answered: Duration,
    /// Until every run that had waited has ended, and its caller has the result.
    pub(super) ended: Duration,
}

impl Hall {
    pub(super) fn new(client: Client) -> Self {
        Self { client, keys: Arc::default() }
    }

    /// Lets `count` runs wait on a topic, publishes an event, and returns the times. The time until the runs
    /// wait is not included.
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

    /// Repeats the same `times` times in sequence.
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
        // The topic gets this call after the calls of all runs, so the answer counts every run.
        while self.watching(topic).await? < count {
            sleep(LOOK).await;
        }
        Ok(waiting)
    }

    /// The number of waits that a topic knows.
    pub(super) async fn watching(&self, topic: u64) -> Result<u64> {
        let asked = async || anyhow::Ok(self.client.topic_of::<Posted>(topic).status().await?);
        let status = crowd::patiently(asked).await?;
        Ok(status.map_or(0, |status| status.watching))
    }
}

/// The times until events were answered, and until their runs had ended. The rate of the latter counts runs.
pub(super) fn measured(told: &[Told], count: u64) -> [Measured; 2] {
    let of = |part: fn(&Told) -> Duration| {
        let latencies: Vec<Duration> = told.iter().map(part).collect();
        let timed = latencies.iter().sum();
        Measured::new(latencies, timed)
    };
    [of(|told| told.answered), of(|told| told.ended).of_parts(count)]
}

//! How the last child lets everybody hear the end of the storm.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use drystone::{Runtime, dead_letters::Filter};
use tokio::time::{sleep, timeout};

use super::{
    App, AppClient, answered,
    topic::{Job, Task, Topic},
};

/// What has not come to rest by then is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks, and two last events: whoever looks all the time takes it from those who are to hear.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until every run has heard the last event, and every event for one was taken, then closes the app.
pub(in super::super) async fn reach(app: Runtime<App>) -> Result<()> {
    for topic in Topic::all() {
        let ended = async { if topic.is_for_one() { taken(&app, topic).await } else { heard(&app, topic).await } };
        if let Ok(ended) = timeout(PATIENCE, ended).await {
            ended?;
            continue;
        }
        let (client, results) = (app.client(), results(&app.client(), topic).await?);
        let status = topic.status(&client).await?;
        let left: Vec<_> = results.iter().filter(|(_, heard)| heard.is_none()).map(|(run, _)| run).collect();
        bail!("{topic} did not come to rest: {status:?}; {left:?} have not ended");
    }
    Ok(app.shutdown(PATIENCE).await?)
}

/// The last event goes to all who wait just then, and again until nobody is left.
async fn heard(app: &Runtime<App>, topic: Topic) -> Result<()> {
    let (client, mut left) = (app.client(), (0..topic.listeners()).collect::<VecDeque<_>>());
    for time in 0_u64.. {
        end(&client, topic, time).await?;
        while let Some(nth) = left.front() {
            if client.listener(topic.run(*nth)).try_result().await?.is_some() {
                left.pop_front();
            } else {
                sleep(LOOK_EVERY).await;
                if topic.status(&client).await?.is_some_and(|status| status.watching > 0) {
                    break;
                }
            }
        }
        if left.is_empty() {
            break;
        }
    }
    Ok(())
}

/// As many last events as there are runs; then one run more for whatever has come back meanwhile.
async fn taken(app: &Runtime<App>, topic: Topic) -> Result<()> {
    let (client, mut runs) = (app.client(), topic.listeners());
    for nth in 0..runs {
        end(&client, topic, nth).await?;
    }
    loop {
        for nth in 0..runs {
            client.listener(topic.run(nth)).result().await?;
        }
        let status = topic.status(&client).await?.context("a topic is gone")?;
        let results = results(&client, topic).await?;
        let taken: usize = results.values().flatten().map(|heard| heard.len() + 1).sum();
        let dead = dead(app, topic).await?.len();
        if taken + dead >= usize::try_from(status.last)? {
            ensure!(status.pending == 0, "{} are taken and {} of {} wait", taken, status.pending, status.last);
            return Ok(());
        }
        // What is neither taken nor waits is on its way back.
        if status.pending > 0 {
            client.listener(topic.run(runs)).start_or_get(topic, runs).await?;
            end(&client, topic, runs).await?;
            runs += 1;
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn end(client: &AppClient, topic: Topic, time: u64) -> Result<()> {
    answered(|| topic.publish(client, None).idempotency_key(format!("end-{time}"))).await?;
    Ok(())
}

/// What each run on a topic heard until its end.
pub(super) async fn results(client: &AppClient, topic: Topic) -> Result<BTreeMap<String, Option<Vec<u64>>>> {
    let mut results = BTreeMap::new();
    for nth in 0.. {
        let (key, run) = (topic.run(nth), client.listener(topic.run(nth)));
        if run.status().await?.is_none() {
            break;
        }
        results.insert(key, run.try_result().await?);
    }
    Ok(results)
}

/// The events of a topic that are dead letters.
pub(super) async fn dead(app: &Runtime<App>, topic: Topic) -> Result<Vec<Option<u64>>> {
    let (letters, all) = (app.dead_letters(), || Filter { limit: usize::MAX, ..Filter::default() });
    Ok(match topic {
        Topic::News | Topic::Paid(_) => Vec::new(),
        Topic::Job => {
            let dead = letters.events::<Job>(all()).await?.events;
            dead.into_iter().filter_map(|dead| dead.event.ok()).map(|job| job.0).collect()
        }
        Topic::Task(key) => {
            let dead = letters.events::<Task>(all()).await?.events;
            dead.into_iter()
                .filter_map(|dead| dead.event.ok())
                .filter(|task| task.key == key)
                .map(|task| task.op)
                .collect()
        }
    })
}

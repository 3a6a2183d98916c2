//! The end of a round: the last child publishes last events, and waits until every run has ended.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use drystone::{Runtime, dead_letters::Filter};
use tokio::time::{sleep, timeout};

use super::{
    Sort, answered,
    topic::{Job, Task, Topic},
};
use crate::crash::{
    op::{Deed, Op},
    processes::app::{App, AppClient},
};

/// The time limit. Anything that is not at rest by then is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two looks, and between two last events. Without a pause this loop would take the
/// processor from the runs.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until every run of the round of `next` has heard a last event, and every event for one was taken.
/// All operations before `next` are acknowledged.
pub(in crate::crash) async fn reach(app: &Runtime<App>, next: Op) -> Result<()> {
    let round = next.round();
    for topic in Topic::all(round) {
        let ended = async {
            if topic.is_for_one() { taken(app, topic, published(topic, next)).await } else { heard(app, topic).await }
        };
        if let Ok(ended) = timeout(PATIENCE, ended).await {
            ended?;
            continue;
        }
        let (client, results) = (app.client(), results(&app.client(), topic).await?);
        let status = topic.status(&client).await?;
        let left: Vec<_> = results.iter().filter(|(_, heard)| heard.is_none()).map(|(run, _)| run).collect();
        bail!("{topic} of round {round} did not come to rest: {status:?}; {left:?} have not ended");
    }
    Ok(())
}

/// The number of events that operations have published on a topic.
fn published(topic: Topic, next: Op) -> usize {
    let ops = (Op::of_round(topic.round).start..next.0).map(Op);
    ops.filter(|op| op.deed() == Deed::Publish && Topic::of(*op) == topic).count()
}

/// Publishes last events to all runs that wait, until no run is left.
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

/// Publishes as many last events as there are runs. Then starts one more run at a time for events that have
/// gone back meanwhile.
async fn taken(app: &Runtime<App>, topic: Topic, published: usize) -> Result<()> {
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
        let all = published + usize::try_from(runs)?;
        if taken + dead >= all {
            ensure!(status.pending == 0, "{taken} of {all} are taken and {} wait", status.pending);
            return Ok(());
        }
        // An event that is neither taken nor pending is on its way back.
        if status.pending > 0 {
            client.listener(topic.run(runs)).start_or_get(topic, runs).await?;
            end(&client, topic, runs).await?;
            runs += 1;
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn end(client: &AppClient, topic: Topic, time: u64) -> Result<()> {
    answered(|| topic.publish(client, None).idempotency_key(format!("end-{}-{time}", topic.round))).await?;
    Ok(())
}

/// The events that each run on a topic heard, if the run has ended.
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

/// The events of a topic's round that are dead letters.
pub(super) async fn dead(app: &Runtime<App>, topic: Topic) -> Result<Vec<Option<u64>>> {
    let (letters, all) = (app.dead_letters(), || Filter { limit: usize::MAX, ..Filter::default() });
    let mut dead: Vec<Option<u64>> = match topic.sort {
        Sort::News | Sort::Paid(_) => Vec::new(),
        Sort::Job => {
            let dead = letters.events::<Job>(all()).await?.events;
            dead.into_iter().filter_map(|dead| dead.event.ok()).map(|job| job.0).collect()
        }
        Sort::Task(_) => {
            let dead = letters.events::<Task>(all()).await?.events;
            let dead = dead.into_iter().filter_map(|dead| dead.event.ok());
            dead.filter(|task| task.key == topic.key()).map(|task| task.op).collect()
        }
    };
    // A last event does not name its round. None is ever dead, because some run waits for each.
    dead.retain(|op| op.is_some_and(|op| Op(op).round() == topic.round));
    Ok(dead)
}

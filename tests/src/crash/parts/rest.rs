//! The end of a round. The last child waits for messages, alarms, work and runs, as callers do.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context, Result};
use bytes::Bytes;
use drystone::Runtime;
use drystone_runtime::{Call, Entity, Kernel, Key, store::Query};
use tokio::time::{sleep, timeout};

use super::{counter::Counter, hooks, outbox, runs, topics, typed};
use crate::crash::{
    SPACE,
    judging::evidence::{is_left, name},
    op::{Deed, Op, round_of},
    processes::app::App,
};

/// The time limit. Anything that is not at rest by then is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two looks at entities that are being removed.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The number of entities listed at once.
const PAGE: usize = 1_000;

/// Waits until everything of the round of `next` has ended and nothing of earlier rounds is left. Then
/// closes both kernels. Every operation before `next` is acknowledged.
pub(in crate::crash) async fn reach(kernel: Kernel, app: Runtime<App>, next: Op) -> Result<()> {
    let round = next.round();
    settled(&kernel, round).await?;
    topics::reach(&app, next).await?;
    runs::reach(&app, next).await?;
    typed::reach(&app, round).await?;
    hooks::reach(&app, next).await?;
    outbox::reach(&app, next).await?;
    for kernel in [&kernel, app.kernel()] {
        timeout(PATIENCE, gone(kernel, round)).await.context("what the rounds before left does not go")??;
    }
    kernel.shutdown(PATIENCE).await?;
    Ok(app.shutdown(PATIENCE).await?)
}

/// Waits until every worker is idle, every bell has rung and every message is taken.
async fn settled(kernel: &Kernel, round: u64) -> Result<()> {
    for worker in all(kernel, "worker", round).await? {
        wait(kernel, &worker.key, "worker", "idle", 0).await?;
    }
    for bell in all(kernel, "bell", round).await? {
        wait(kernel, &bell.key, "bell", "rung", 0).await?;
    }
    for (sink, sent) in sent(kernel, round).await? {
        let key = Key::new(SPACE, sink)?;
        while wait(kernel, &key, "counter", "reach", sent).await? < sent {}
    }
    Ok(())
}

/// The number of messages that each sink must get: the sum of its relays' counts.
async fn sent(kernel: &Kernel, round: u64) -> Result<Vec<(String, u64)>> {
    let mut sinks: Vec<(String, u64)> = Vec::new();
    let ops = Op::of_round(round).map(Op).take_while(|op| op.turn() < 3).filter(|op| op.deed() == Deed::Relay);
    for op in ops {
        let relay = kernel.view(&Key::new(SPACE, op.key())?).await?;
        let count = relay.map_or(0, |view| Counter::count(&view.entity));
        match sinks.iter_mut().find(|(sink, _)| *sink == op.sink()) {
            Some((_, sent)) => *sent += count,
            None => sinks.push((op.sink(), count)),
        }
    }
    sinks.retain(|(_, sent)| *sent > 0);
    Ok(sinks)
}

/// Waits until no entity of an earlier round is left.
async fn gone(kernel: &Kernel, round: u64) -> Result<()> {
    loop {
        let entities = listed(kernel, Query::default()).await?;
        let left: BTreeSet<String> = entities.iter().map(name).filter(|name| is_left(name, round)).collect();
        if left.is_empty() {
            return Ok(());
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn all(kernel: &Kernel, definition: &'static str, round: u64) -> Result<Vec<Entity>> {
    let mut entities = listed(kernel, Query { definition: Some(definition.into()), ..Query::default() }).await?;
    entities.retain(|entity| round_of(&name(entity)) == Some(round));
    Ok(entities)
}

async fn listed(kernel: &Kernel, query: Query) -> Result<Vec<Entity>> {
    let (mut entities, mut query) = (Vec::new(), Query { limit: PAGE, ..query });
    loop {
        let page = kernel.list(query.clone()).await?;
        entities.extend(page.entities);
        query.after = page.next;
        if query.after.is_none() {
            return Ok(entities);
        }
    }
}

async fn wait(kernel: &Kernel, key: &Key, definition: &'static str, verb: &'static str, number: u64) -> Result<u64> {
    let body = Bytes::from(number.to_be_bytes().to_vec());
    let answer = kernel.call(Call::new(definition, key.key.clone(), verb, body).deadline(PATIENCE)).await;
    if answer.is_err() {
        eprintln!("stuck: {}", kernel.explain(key).await?);
    }
    let answer = answer.with_context(|| format!("`{key}` did not come to rest"))?;
    Ok(answer.first_chunk().map_or(0, |number| u64::from_be_bytes(*number)))
}

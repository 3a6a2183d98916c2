//! How the last child brings everything to rest: it waits for messages, alarms and work, as callers do.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use drystone_runtime::{Call, Entity, Kernel, Key, store::Query};

use super::{
    SPACE,
    counter::Counter,
    op::{Deed, Op},
};

/// What has not come to rest by then is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until every worker is idle, every bell has rung and every message is taken, then closes the kernel.
pub(super) async fn reach(kernel: &Kernel) -> Result<()> {
    for worker in all(kernel, "worker").await? {
        wait(kernel, &worker.key, "worker", "idle", 0).await?;
    }
    for bell in all(kernel, "bell").await? {
        wait(kernel, &bell.key, "bell", "rung", 0).await?;
    }
    for (sink, sent) in sent(kernel).await? {
        let key = Key::new(SPACE, sink)?;
        while wait(kernel, &key, "counter", "reach", sent).await? < sent {}
    }
    Ok(kernel.shutdown(PATIENCE).await?)
}

/// How many messages each sink is to get: as many as its relays have counted.
async fn sent(kernel: &Kernel) -> Result<Vec<(&'static str, u64)>> {
    let mut sinks: Vec<(&'static str, u64)> = Vec::new();
    for op in (0..27).map(Op).filter(|op| op.deed() == Deed::Relay) {
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

async fn all(kernel: &Kernel, definition: &'static str) -> Result<Vec<Entity>> {
    let mut query = Query { definition: Some(definition.into()), ..Query::default() };
    let mut entities = Vec::new();
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

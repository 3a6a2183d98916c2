//! Events from many concurrent senders to a thousand waiting runs, until all runs have ended.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use drystone::Runtime;

use super::{
    CLOSE_MAX,
    app::{App, AppClient as Client, Go},
    crowd,
    keys::Keys,
};
use crate::load::{
    measuring::{
        callers::Callers,
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        wal::Log,
    },
    queues::{ROWS, bare},
};

const SENDERS: u64 = 64;
const RUNS: u64 = 1_000;
/// How often a thousand runs get an event in a round.
const TIMES: usize = 3;
/// The goal: events per second, as a share of the bare writer's calls: 20,000 when the bare writer does
/// 85,000.
const EVENTS_MIN: f64 = 0.23;

pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let bare = bare(directory, "events-bare.db").await?;
    let path = directory.join("events.db");
    let runtime = Runtime::sqlite(&path).start::<App>().await?;
    let (client, keys, log) = (runtime.client(), Keys::default(), Log::of(&path)?);
    let callers = Callers { callers: SENDERS, rows: u64::from(ROWS), span: plan.span };
    let round = async || {
        let bare = bare.round(callers).await?;
        log.empty()?;
        Ok([bare, often(&client, &keys).await?])
    };
    let rounds = Rounds::measure(plan.rounds, round).await?;
    report.line(rounds.line(0, format!("{SENDERS} at once: bare writer")));
    let what = format!("{SENDERS} at once: events to {RUNS} runs that wait, to their ends");
    report.line(rounds.compared(1, 0, what, Measured::rate));
    let value = rounds.ratio(1, 0, Measured::rate);
    report.goal(Goal { name: "events_to_1000", bound: Bound::AtLeast(EVENTS_MIN), value });
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

async fn often(client: &Client, keys: &Keys) -> Result<Measured> {
    let mut latencies = Vec::new();
    for _ in 0..TIMES {
        latencies.push(tell(client, keys).await?);
    }
    let timed = latencies.iter().sum();
    Ok(Measured::new(latencies, timed).of_parts(RUNS))
}

/// Lets runs wait, sends the events, and returns the time from the first event until all callers have their
/// results.
async fn tell(client: &Client, keys: &Keys) -> Result<Duration> {
    let keys: Vec<[u8; 8]> = (0..RUNS).map(|_| keys.next()).collect();
    let (starter, sender) = (client.clone(), client.clone());
    let (started, told) = (keys.clone(), keys.clone());
    let start = move |nth: u64| {
        let run = starter.waiter(started[nth as usize]);
        async move { Ok(run.start(0).await?) }
    };
    crowd::each(RUNS, start).await?;
    let results = keys.into_iter().map(|key| {
        let result = client.waiter(key).result();
        async move { Ok(result.await?) }
    });
    let waiting = crowd::seated(results.collect()).await?;
    let begun = Instant::now();
    let send = move |nth: u64| {
        let run = sender.waiter(told[nth as usize]);
        async move { Ok(run.send(Go).await.map(drop)?) }
    };
    crowd::each_by(SENDERS as usize, RUNS, send).await?;
    crowd::served(waiting).await?;
    Ok(begun.elapsed())
}

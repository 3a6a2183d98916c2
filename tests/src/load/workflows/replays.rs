//! Long runs that have left memory: the time to bring one back, by the length of its journal.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use drystone::{Runtime, d};
use tokio::{task::JoinSet, time::sleep};

use super::{
    CLOSE_MAX,
    app::{App, AppClient as Client, Go},
};
use crate::load::measuring::{
    file,
    goal::{Bound, Goal},
    measured::Measured,
    plan::Plan,
    report::{Line, Report},
};

/// The number of runs of each length.
const RUNS: u32 = 5;
/// How many times as many steps the longer runs have.
const LONGER: u32 = 10;
/// The goal for the longer runs, as a multiple of the shorter ones. It is more than `LONGER`, because times
/// vary, and much less than its square.
const LONGER_MAX: f64 = 15.0;
/// The goal for the longer runs, in seconds.
const LONG_MAX_S: f64 = 1.0;
/// The pause between two looks at the progress of a run.
const LOOK: Duration = d!("10ms");

/// Makes runs of two lengths, opens their file again, and sends each run the event that ends it.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let path = directory.join("replays.db");
    let lengths = [plan.replayed / LONGER, plan.replayed];
    let runtime = Runtime::sqlite(&path).start::<App>().await?;
    make(&runtime.client(), lengths).await?;
    runtime.shutdown(CLOSE_MAX).await?;
    let runtime = file::reopened(async || Runtime::sqlite(&path).start::<App>().await).await?;
    let client = runtime.client();
    let mut latencies = [Vec::new(), Vec::new()];
    for nth in 0..RUNS {
        for (steps, latencies) in lengths.into_iter().zip(&mut latencies) {
            latencies.push(replayed(&client, steps, nth).await?);
        }
    }
    runtime.shutdown(CLOSE_MAX).await?;
    tell(lengths, latencies, report);
    Ok(())
}

async fn make(client: &Client, lengths: [u32; 2]) -> Result<()> {
    let mut runs = JoinSet::new();
    for (steps, nth) in lengths.into_iter().flat_map(|steps| (0..RUNS).map(move |nth| (steps, nth))) {
        runs.spawn(made(client.clone(), steps, nth));
    }
    runs.join_all().await.into_iter().collect()
}

/// Starts a run, and returns when its start and all its steps are recorded.
async fn made(client: Client, steps: u32, nth: u32) -> Result<()> {
    let run = client.waiter(key(steps, nth));
    run.start(steps).await?;
    while run.status().await?.is_none_or(|status| status.entries <= u64::from(steps)) {
        sleep(LOOK).await;
    }
    Ok(())
}

/// Measures from the sending of the event until the result: the journal is read, the body replayed, and the
/// end written.
async fn replayed(client: &Client, steps: u32, nth: u32) -> Result<Duration> {
    let (run, start) = (client.waiter(key(steps, nth)), Instant::now());
    run.send(Go).await?;
    run.result().await?;
    Ok(start.elapsed())
}

fn key(steps: u32, nth: u32) -> String {
    format!("{steps}-{nth}")
}

fn tell(lengths: [u32; 2], latencies: [Vec<Duration>; 2], report: &mut Report) {
    let [short, long] = latencies.map(|latencies| {
        let took = latencies.iter().sum();
        Measured::new(latencies, took)
    });
    for (steps, measured) in lengths.into_iter().zip([&short, &long]) {
        let (what, p50, p99) = (format!("replay of {steps} steps"), Some(measured.p50()), Some(measured.p99()));
        let per_second = Some(measured.clone().of_parts(u64::from(steps)).rate());
        report.line(Line { what, per_second, p50, p99, note: "steps; median and last of 5".into(), ..Line::default() });
    }
    let [short, long] = [short, long].map(|measured| measured.p50().as_secs_f64());
    report.goal(Goal { name: "replay_10_times_longer", bound: Bound::AtMost(LONGER_MAX), value: long / short });
    report.goal(Goal { name: "replay_10000_s", bound: Bound::Below(LONG_MAX_S), value: long });
}

//! An event to a few waits, while very many waits exist on other topics. It must cost the same as without
//! them (T6).
//!
//! The other waits are waits of real runs, which registered with their topics by messages like all waits.
//! One such run waits on many topics at once, because the cost of runs is not measured here. When all waits
//! have registered, the file is opened again, so that they are on disk, like waits that last for a long
//! time. The few runs that get the event have one wait each, with and without the others.

use std::{path::Path, time::Duration};

use anyhow::Result;
use drystone::{Runtime, d};
use tokio::time::sleep;

use super::{CLOSE_MAX, app::App, audience::Hall};
use crate::load::{
    measuring::{
        file,
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        wal::Log,
    },
    workflows::{crowd, keys},
};

/// The number of waits on each topic.
const WATCHERS: u64 = 100;
/// The number of topics on which each of the other runs waits.
const WAITS: u64 = 250;
/// The topic that is measured. The topics of the other runs have higher numbers.
const TOPIC: u64 = 0;
/// How often the topic is published to in a round.
const TIMES: u64 = 5;
/// The goal: the time with the other waits, as a multiple of the time without them.
const GROWTH_MAX: f64 = 2.0;
/// The pause between two looks at whether all waits have registered.
const LOOK: Duration = d!("10ms");

pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let (few, many) =
        (Place::make(directory, "few.db", 0).await?, Place::make(directory, "many.db", plan.watchers).await?);
    let round = async || {
        let ([few_answered, few_ended], [answered, ended]) = (few.tell().await?, many.tell().await?);
        Ok([few_answered, few_ended, answered, ended])
    };
    let rounds = Rounds::measure(plan.rounds, round).await?;
    let p50 = |measured: &Measured| measured.p50().as_secs_f64();
    let beside = format!("{} wait on {} topics", plan.watchers, plan.watchers / WATCHERS);
    report.line(rounds.line(0, format!("{WATCHERS} wait: publish, until answered")));
    report.line(rounds.compared(2, 0, format!("{beside}: the same"), p50));
    report.line(rounds.line(1, format!("{WATCHERS} wait: runs, until all ended")));
    report.line(rounds.compared(3, 1, format!("{beside}: the same"), p50));
    let value = rounds.ratio(3, 1, p50).max(rounds.ratio(2, 0, p50));
    report.goal(Goal { name: "topic_growth", bound: Bound::AtMost(GROWTH_MAX), value });
    few.runtime.shutdown(CLOSE_MAX).await?;
    Ok(many.runtime.shutdown(CLOSE_MAX).await?)
}

/// A file with waiting runs.
struct Place {
    runtime: Runtime<App>,
    hall: Hall,
    log: Log,
}

impl Place {
    async fn make(directory: &Path, name: &str, watchers: u64) -> Result<Self> {
        let path = directory.join(name);
        let runtime = Runtime::sqlite(&path).start::<App>().await?;
        others(&runtime, watchers / WATCHERS).await?;
        runtime.shutdown(CLOSE_MAX).await?;
        let runtime = file::reopened(async || Runtime::sqlite(&path).start::<App>().await).await?;
        let hall = Hall::new(runtime.client());
        Ok(Self { runtime, hall, log: Log::of(&path)? })
    }

    async fn tell(&self) -> Result<[Measured; 2]> {
        self.log.empty()?;
        self.hall.tell_often(TIMES, TOPIC, WATCHERS).await
    }
}

/// Lets the other runs wait on all topics except the measured one, which is the first.
async fn others(runtime: &Runtime<App>, topics: u64) -> Result<()> {
    let (client, blocks) = (runtime.client(), topics / WAITS);
    let wait = move |number: u64| {
        // The other runs have the high numbers, because the keys of the measured runs count from zero.
        let run = client.reader(keys::key(u64::MAX - number));
        let first = number % blocks * WAITS;
        async move { Ok(run.start(first.max(TOPIC + 1), first + WAITS).await?) }
    };
    crowd::each(blocks * WATCHERS, wait).await?;
    let hall = Hall::new(runtime.client());
    for topic in TOPIC + 1..blocks * WAITS {
        while hall.watching(topic).await? < WATCHERS {
            sleep(LOOK).await;
        }
    }
    Ok(())
}

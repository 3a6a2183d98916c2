//! An event to a few who wait, beside very many who wait on other topics: it costs the same (T6).
//!
//! The others are waits of real runs, which their topics were told of by messages, as any are. Only, a run of theirs waits on many
//! topics at once, for what a run costs is not what is measured here. When all have come the file is opened anew, so that they are
//! where those are who wait for long: on the disk. The few who are told are runs with one wait each, in both files.

use std::{path::Path, time::Duration};

use anyhow::Result;
use drystone::{Runtime, d};
use tokio::time::sleep;

use super::{
    super::{
        file,
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        wal::Log,
        workflows::{crowd, keys},
    },
    CLOSE_MAX,
    app::App,
    audience::Hall,
};

/// How many wait on each topic.
const WATCHERS: u64 = 100;
/// On so many topics a run of the others waits.
const WAITS: u64 = 250;
/// The topic that is measured; those of the others follow it.
const TOPIC: u64 = 0;
/// How often it is published to in a round.
const TIMES: u64 = 5;
/// Beside the others it may take so many times as long.
const GROWTH_MAX: f64 = 2.0;
/// Between two looks at whether all have come.
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

/// A file in which so many wait.
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

/// Lets others wait on all topics but the one that is measured, which is the first.
async fn others(runtime: &Runtime<App>, topics: u64) -> Result<()> {
    let (client, blocks) = (runtime.client(), topics / WAITS);
    let wait = move |number: u64| {
        // The high numbers are those of the others: the keys of runs that are told count from the first.
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

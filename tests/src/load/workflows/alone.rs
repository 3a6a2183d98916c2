//! A single run: from its start to its result, and from an event to its end.

use std::{
    path::Path,
    sync::Arc,
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
    adder::Adder,
    measuring::{
        bare::Direct,
        callers::Callers,
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        wal::Log,
    },
    queues::{ROWS, bare, rows},
};

/// The goal for a single run, as a multiple of one bare commit. The run needs two commits, or one if an
/// event ends it.
const ALONE_MAX: f64 = 3.0;
/// The number of runs that wait beside the measured one.
const OTHERS: u64 = 1_000;

/// Measures a run of one step, an event, and an event while other runs wait.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let callers = Callers { callers: 1, rows: u64::from(ROWS), span: plan.span };
    let path = rows(directory, "alone-direct.db").await?;
    let (mut direct, log) = (Direct::open(&path, Adder::state())?, Log::of(&path)?);
    let bare = bare(directory, "alone-bare.db").await?;
    let (alone, among) =
        (Alone::open(directory, "alone.db", 0).await?, Alone::open(directory, "among.db", OTHERS).await?);
    let round = async || {
        log.empty()?;
        let direct = direct.drive(callers)?;
        let (bare, executed) = (bare.round(callers).await?, alone.executed(plan.span).await?);
        let (started, event) = (alone.started(plan.span).await?, alone.event(plan.span).await?);
        Ok([direct, bare, executed, started, event, among.event(plan.span).await?])
    };
    tell(&Rounds::measure(plan.rounds, round).await?, report);
    alone.runtime.shutdown(CLOSE_MAX).await?;
    Ok(among.runtime.shutdown(CLOSE_MAX).await?)
}

/// Reports the results. The limit is a commit made directly, without another thread. The bare writer with
/// one caller is shown for comparison.
fn tell(rounds: &Rounds<6>, report: &mut Report) {
    let p50 = |measured: &Measured| measured.p50().as_secs_f64();
    report.line(rounds.line(0, "alone: bare commit, same thread".into()));
    report.line(rounds.compared(1, 0, "alone: bare commit, writer thread".into(), p50));
    let subjects = [
        (2, "alone: a run of one step", "run_alone_p50"),
        (3, "the same by start, then result", "run_alone_in_two_calls_p50"),
        (4, "alone: event to the run's end", "event_alone_p50"),
        (5, "the same while 1,000 others wait", "event_among_1000_p50"),
    ];
    for (subject, what, name) in subjects {
        report.line(rounds.compared(subject, 0, what.into(), p50));
        report.goal(Goal { name, bound: Bound::AtMost(ALONE_MAX), value: rounds.ratio(subject, 0, p50) });
    }
}

/// An app that runs measured runs in sequence, beside waiting runs.
struct Alone {
    runtime: Runtime<App>,
    keys: Arc<Keys>,
    log: Log,
}

impl Alone {
    async fn open(directory: &Path, name: &str, others: u64) -> Result<Self> {
        let path = directory.join(name);
        let runtime = Runtime::sqlite(&path).start::<App>().await?;
        let client = runtime.client();
        let wait = move |number: u64| {
            let run = client.waiter(format!("other-{number}"));
            async move { Ok(run.start(0).await?) }
        };
        crowd::each(others, wait).await?;
        Ok(Self { runtime, keys: Arc::default(), log: Log::of(&path)? })
    }

    /// Measures runs of one step by a single call: `execute` returns the result.
    async fn executed(&self, span: Duration) -> Result<Measured> {
        self.again(span, |client, key| async move {
            let (run, start) = (client.nops(key), Instant::now());
            run.execute(1).await?;
            Ok(start.elapsed())
        })
        .await
    }

    /// Measures the same by two calls: the caller waits for the start before it asks for the result.
    async fn started(&self, span: Duration) -> Result<Measured> {
        self.again(span, |client, key| async move {
            let (run, start) = (client.nops(key), Instant::now());
            run.start(1).await?;
            run.result().await?;
            Ok(start.elapsed())
        })
        .await
    }

    /// Measures waiting runs, from the sending of an event until the caller has the result.
    async fn event(&self, span: Duration) -> Result<Measured> {
        self.again(span, |client, key| async move {
            let run = client.waiter(key);
            run.start(0).await?;
            let start = Instant::now();
            let (result, sent) = tokio::join!(run.result().into_future(), run.send(Go).into_future());
            result?;
            sent?;
            Ok(start.elapsed())
        })
        .await
    }

    /// Repeats a measurement for `span`, one run after another, beginning with an empty log. The caller is a
    /// task, like all callers: a thread outside the runtime would have to be woken for each result.
    async fn again<F>(&self, span: Duration, once: impl Fn(Client, [u8; 8]) -> F + Send + 'static) -> Result<Measured>
    where
        F: Future<Output = Result<Duration>> + Send,
    {
        self.log.empty()?;
        let (client, keys) = (self.runtime.client(), self.keys.clone());
        let caller = tokio::spawn(async move {
            let (mut latencies, start) = (Vec::new(), Instant::now());
            while start.elapsed() < span {
                latencies.push(once(client.clone(), keys.next()).await?);
            }
            anyhow::Ok(latencies)
        });
        let latencies = caller.await??;
        let timed = latencies.iter().sum();
        Ok(Measured::new(latencies, timed))
    }
}

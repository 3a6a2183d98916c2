//! One event to a few waits and to very many. The publish must cost the same, and each wait adds a constant
//! cost.

use std::path::Path;

use anyhow::Result;
use drystone::Runtime;

use super::{CLOSE_MAX, app::App, audience::Hall, publishing::Publisher};
use crate::load::{
    measuring::{
        callers::Callers,
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        subject::Subject,
    },
    queues::{ROWS, bare},
};

/// The sizes of the audiences, and how often an event is published to each in a round.
const AUDIENCES: [(u64, u64); 3] = [(1, 20), (100, 5), (10_000, 1)];
/// The goal: the time to publish to the largest audience, as a multiple of the time to publish to nobody.
const ANSWERED_MAX: f64 = 3.0;
/// The largest number of rounds. A round takes a second or more, most of it until the runs wait.
const ROUNDS_MAX: usize = 7;

/// Measures in turn: the bare writer, a publish to nobody, and a publish to each audience.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let bare = bare(directory, "reach-bare.db").await?;
    let path = directory.join("reach.db");
    let runtime = Runtime::sqlite(&path).start::<App>().await?;
    let nobody = Subject::new(Publisher::warm(runtime.client()).await?, &path)?;
    let hall = Hall::new(runtime.client());
    let many = Callers { callers: 64, rows: u64::from(ROWS), span: plan.span };
    let alone = Callers { callers: 1, ..many };
    let round = async || {
        let mut measured = vec![bare.round(many).await?, nobody.round(alone).await?];
        for (count, times) in AUDIENCES {
            // Use other topics than the publishes to nobody.
            measured.extend(hall.tell_often(times, u64::from(ROWS) + count, count).await?);
        }
        measured.try_into().map_err(|_| anyhow::anyhow!("each audience is measured twice"))
    };
    tell(&Rounds::measure(plan.rounds.min(ROUNDS_MAX), round).await?, report);
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

/// One each for the two writers, and two for each audience.
const SUBJECTS: usize = 2 + 2 * AUDIENCES.len();

fn tell(rounds: &Rounds<SUBJECTS>, report: &mut Report) {
    let p50 = |measured: &Measured| measured.p50().as_secs_f64();
    report.line(rounds.line(0, "64 at once: bare writer".into()));
    report.line(rounds.line(1, "publish to nobody, until answered".into()));
    for (nth, (count, _)) in AUDIENCES.into_iter().enumerate() {
        let (answered, ended) = (2 + 2 * nth, 3 + 2 * nth);
        report.line(rounds.compared(answered, 1, format!("publish to {count}, until answered"), p50));
        report.line(rounds.compared(ended, 0, format!("{count} told: runs, until all ended"), Measured::rate));
    }
    let value = rounds.ratio(SUBJECTS - 2, 1, p50);
    report.goal(Goal { name: "topic_answered_10000", bound: Bound::AtMost(ANSWERED_MAX), value });
}

//! Events without any wait: how many a topic takes.

use std::path::Path;

use anyhow::Result;
use drystone::Runtime;

use super::{
    CLOSE_MAX,
    app::{App, AppClient as Client, Posted},
};
use crate::load::{
    measuring::{
        callers::{Callers, Writer},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        subject::Subject,
    },
    queues::{ROWS, bare},
    workflows::crowd,
};

/// The number of concurrent callers.
const CALLERS: u64 = 64;

/// Publishes over as many topics as the bare writer has rows, and to one topic only. That topic is soon
/// full. From then on each event removes the oldest one, as in a program that runs for long.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let bare = bare(directory, "publishing-bare.db").await?;
    let path = directory.join("publishing.db");
    let runtime = Runtime::sqlite(&path).start::<App>().await?;
    let ours = Subject::new(Publisher::warm(runtime.client()).await?, &path)?;
    let many = Callers { callers: CALLERS, rows: u64::from(ROWS), span: plan.span };
    let one = Callers { rows: 1, ..many };
    let round = async || Ok([bare.round(many).await?, ours.round(many).await?, ours.round(one).await?]);
    let rounds = Rounds::measure(plan.rounds, round).await?;
    report.line(rounds.line(0, format!("{CALLERS} at once: bare writer")));
    report.line(rounds.compared(1, 0, format!("{CALLERS} at once: publish to {ROWS} topics"), Measured::rate));
    report.line(rounds.compared(2, 0, format!("{CALLERS} at once: publish to one topic"), Measured::rate));
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

/// Topics without waits, as a writer of events.
pub(super) struct Publisher(Client);

impl Publisher {
    /// Publishes one event on each topic first, so that no topic is created during the measurement.
    pub(super) async fn warm(client: Client) -> Result<Self> {
        let first = client.clone();
        let publish = move |topic: u64| {
            let published = first.publish(Posted::to(topic));
            async move { Ok(published.await.map(drop)?) }
        };
        crowd::each(u64::from(ROWS), publish).await?;
        Ok(Self(client))
    }
}

impl Writer for Publisher {
    async fn write(&self, row: usize) -> Result<()> {
        self.0.publish(Posted::to(row as u64)).await?;
        Ok(())
    }
}

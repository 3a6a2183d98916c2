//! The typed client against the kernel: the price of types, JSON and a kind's record.
//!
//! Each typed primitive is measured in the same round as a handler written by hand that stores the same. The
//! ratios compare calls per second on a file. The module [`cost`] measures a call without the disk.

mod appender;
mod calls;
mod cell;
mod cost;
mod inbox;

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Result;
use drystone::{Primitives, Runtime};
use drystone_runtime::Definition;
use tokio::task::JoinSet;

pub(super) use self::calls::{Calls, Whose, child};
use self::{appender::Appender, cell::Cell, inbox::Inbox};
use super::{
    adder::Adder,
    births,
    kernels::Kernels,
    measuring::{
        callers::{Callers, Writer},
        file,
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        subject::Subject,
    },
};

const OBJECTS: u32 = 1_000;
const BUFFERS: u32 = 100;
const CALLERS: u64 = 64;
/// The goal: the typed client's calls, as a share of the kernel's calls.
const TYPED_MIN: f64 = 0.8;
const CLOSE_MAX: Duration = Duration::from_secs(10);

/// The measured primitives, as an author writes them.
#[derive(Primitives)]
struct App {
    cell: Cell,
    inbox: Inbox,
}

/// Measures objects, buffers, and the cost of a call of each.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    objects(plan, directory, report).await?;
    buffers(plan, directory, report).await?;
    cost::measure(plan, report)
}

async fn objects(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let by_hand =
        by_hand(directory, "adder.db", Adder::definition(), |kernel| Kernels::adders(kernel, OBJECTS)).await?;
    let (runtime, path) = typed(directory, "cells.db").await?;
    let typed = Subject::new(cell::Cells::new(runtime.client(), OBJECTS), &path)?;
    bind(&by_hand, OBJECTS).await?;
    bind(&typed, OBJECTS).await?;
    let pair = Pair { by_hand, typed };
    let many = Callers { callers: CALLERS, rows: u64::from(OBJECTS), span: plan.span };
    pair.compare(
        plan,
        many,
        ["1,000 keys: adder by hand", "1,000 keys: typed object"],
        "typed_object_1000_keys",
        report,
    )
    .await?;
    let one = Callers { rows: 1, ..many };
    pair.compare(plan, one, ["one key: adder by hand", "one key: typed object"], "typed_object_one_key", report)
        .await?;
    pair.by_hand.writer.close().await?;
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

async fn buffers(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let make = |kernel| Kernels::new(kernel, "appender", BUFFERS, appender::item());
    let by_hand = by_hand(directory, "appender.db", Appender::definition(), make).await?;
    let (runtime, path) = typed(directory, "inboxes.db").await?;
    let typed = Subject::new(inbox::Inboxes::new(runtime.client(), BUFFERS), &path)?;
    bind(&by_hand, BUFFERS).await?;
    bind(&typed, BUFFERS).await?;
    let pair = Pair { by_hand, typed };
    let callers = Callers { callers: CALLERS, rows: u64::from(BUFFERS), span: plan.span };
    pair.compare(plan, callers, ["100 buffers: rows by hand", "100 buffers: typed add"], "typed_add", report).await?;
    pair.by_hand.writer.close().await?;
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

async fn by_hand(
    directory: &Path,
    name: &str,
    definition: Definition,
    writer: impl FnOnce(drystone_runtime::Kernel) -> Kernels,
) -> Result<Subject<Kernels>> {
    let path = directory.join(name);
    let kernel = file::kernel(Arc::new(file::open(&path)?), definition).await?;
    Subject::new(writer(kernel), &path)
}

async fn typed(directory: &Path, name: &str) -> Result<(Runtime<App>, std::path::PathBuf)> {
    let path = directory.join(name);
    Ok((Runtime::sqlite(&path).start::<App>().await?, path))
}

/// Binds each key, because the first call of a key binds it, which is not measured here.
async fn bind<W: Writer>(subject: &Subject<W>, rows: u32) -> Result<()> {
    let mut calls = JoinSet::new();
    for row in 0..rows as usize {
        let writer = subject.writer.clone();
        calls.spawn(async move { writer.write(row).await });
    }
    calls.join_all().await.into_iter().collect()
}

/// The two compared subjects.
struct Pair<T> {
    by_hand: Subject<Kernels>,
    typed: Subject<T>,
}

impl<T: Writer> Pair<T> {
    async fn compare(
        &self,
        plan: &Plan,
        callers: Callers,
        [by_hand, typed]: [&str; 2],
        goal: &'static str,
        report: &mut Report,
    ) -> Result<()> {
        let round = async || Ok([self.by_hand.round(callers).await?, self.typed.round(callers).await?]);
        let rounds = Rounds::measure(plan.rounds, round).await?;
        report.line(rounds.line(0, by_hand.into()));
        report.line(rounds.compared(1, 0, typed.into(), Measured::rate));
        let value = rounds.ratio(1, 0, Measured::rate);
        report.goal(Goal { name: goal, bound: Bound::AtLeast(TYPED_MIN), value });
        Ok(())
    }
}

/// The keys of all subjects, by number.
fn keys(count: u32) -> Vec<bytes::Bytes> {
    (0..count).map(births::key).collect()
}

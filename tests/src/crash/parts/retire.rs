//! Removes what a judged round left in the files. Entities are destroyed here, while children work and are
//! killed. Runs, events, dead letters and replies have expired and go by themselves.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::Result;
use bytes::Bytes;
use drystone::Runtime;
use drystone_runtime::Kernel;
use tokio::task::JoinSet;

use super::{hooks, hooks::gone, outbox, runs, typed};
use crate::crash::{
    judging::said::Said,
    op::{Deed, GUILTY, GUILTY_ITEM, GUILTY_JOB, Op, ledger},
    processes::app::App,
};

/// The number of entities destroyed at once.
const LANES: usize = 8;

/// An entity to destroy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::crash) enum Left {
    /// An entity written directly on the kernel, with its definition.
    Kernel(&'static str, String),
    Pile(String),
    Note(String),
    Jobs(String),
    Berth(String),
    Clock(String),
    Harbour(String),
    Dock(String),
    Chronicle(String),
    Tally(String),
    Press(String),
    Post(String),
}

/// Destroys the entities of the round before, which had `turns` turns, and reports it. If this life is
/// killed meanwhile, the next life destroys them.
pub(in crate::crash) async fn round_before(
    kernel: Kernel,
    app: Arc<Runtime<App>>,
    round: u64,
    turns: u64,
) -> Result<()> {
    if turns == 0 {
        return Ok(());
    }
    let left: Vec<Left> = entities(round - 1, turns).into_iter().collect();
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        let own: Vec<Left> = left.iter().skip(lane).step_by(LANES).cloned().collect();
        lanes.spawn(destroy_all(kernel.clone(), app.clone(), own));
    }
    while let Some(lane) = lanes.join_next().await {
        lane??;
    }
    runs::forget_logbook(&app, Op(Op::of_round(round).start)).await?;
    hooks::forget(&app, Op(Op::of_round(round).start)).await?;
    Said::Retired.aloud();
    Ok(())
}

/// Every entity of a round that does not go by itself. Guilty entities stay: the files then show how these
/// few ended.
pub(in crate::crash) fn entities(round: u64, turns: u64) -> BTreeSet<Left> {
    let mut left = BTreeSet::from([Left::Kernel("counter", ledger(round)), Left::Clock(typed::clock(round))]);
    left.extend(runs::harbours(round).map(Left::Harbour));
    left.insert(Left::Chronicle(hooks::chronicle(round)));
    left.extend(hooks::tallies(round).map(Left::Tally));
    left.extend(hooks::presses(round).map(Left::Press));
    left.extend(outbox::posts(round).map(Left::Post));
    let ops = Op::of_round(round).map(Op).take_while(|op| op.turn() < turns);
    left.extend(ops.clone().map(|op| Left::Kernel("counter", op.sink())));
    for op in ops.filter(|op| ![GUILTY, GUILTY_ITEM, GUILTY_JOB].contains(op)) {
        let key = op.key();
        left.insert(match op.deed() {
            Deed::Add | Deed::Relay => Left::Kernel("counter", key),
            Deed::Arm => Left::Kernel("bell", key),
            Deed::Work => Left::Kernel("worker", key),
            Deed::Item => Left::Pile(key),
            Deed::Note => Left::Note(key),
            Deed::Job => Left::Jobs(key),
            Deed::Permit => Left::Berth(key),
            Deed::Sail => Left::Dock(runs::dock(op)),
            // Candles are destroyed within their round, and parcels expire by themselves.
            Deed::Publish | Deed::Stamp | Deed::Order => continue,
        });
    }
    left
}

async fn destroy_all(kernel: Kernel, app: Arc<Runtime<App>>, left: Vec<Left>) -> Result<()> {
    for left in left {
        destroy(&kernel, &app, &left).await?;
    }
    Ok(())
}

async fn destroy(kernel: &Kernel, app: &Runtime<App>, left: &Left) -> Result<()> {
    let client = app.client();
    match left {
        Left::Kernel(definition, key) => {
            let call = || drystone_runtime::Call::new(*definition, key.clone(), "forget", Bytes::new());
            while let Err(error) = kernel.call(call()).await {
                anyhow::ensure!(error.is_retryable(), error);
            }
            Ok(())
        }
        Left::Pile(key) => gone(|| client.pile(key).destroy()).await,
        Left::Note(key) => gone(|| client.note(key).destroy()).await,
        Left::Jobs(key) => gone(|| client.jobs(key).destroy()).await,
        Left::Berth(key) => gone(|| client.berth(key).destroy()).await,
        Left::Clock(key) => gone(|| client.clock(key).destroy()).await,
        Left::Harbour(key) => gone(|| client.harbour(key).destroy()).await,
        Left::Dock(key) => gone(|| client.dock(key).destroy()).await,
        Left::Chronicle(key) => gone(|| client.chronicle(key).destroy()).await,
        Left::Tally(key) => gone(|| client.tally(key).destroy()).await,
        Left::Press(key) => gone(|| client.press(key).destroy()).await,
        Left::Post(key) => gone(|| client.post(key).destroy()).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entities_of_a_round_are_all_of_it() {
        let left = entities(3, 30);
        let bells = left.iter().filter(|left| matches!(left, Left::Kernel("bell", _))).count();
        let notes = left.iter().filter(|left| matches!(left, Left::Note(_))).count();
        assert_eq!((bells, notes), (30, 30));
        let key = |left: &Left| format!("{left:?}");
        assert!(left.iter().all(|left| key(left).contains("@3\"")), "{left:?}");
    }
}

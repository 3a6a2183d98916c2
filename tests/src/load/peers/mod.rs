//! `cargo load -- --peers`: Drystone against other embedded Rust queues and engines that store their data in
//! SQLite.
//!
//! Each peer is a program under `tests/peers` with its own lock file, because its SQLite library cannot be
//! linked together with ours. All competitors do the work of [`peer_work`] on the same disk, one after
//! another. Each peer reports the pragmas that it really used: with less than `FULL`, acknowledged work can
//! be lost in a power failure, which makes a peer faster.

mod contest;
mod ours;
mod peer;
mod runs;
mod said;

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;
use peer_work::{Ask, Work};

use self::{
    contest::{Contest, Figures},
    peer::Peer,
};
use super::measuring::{plan::Plan, report::Report};

/// The queues, with the goal: how many times as many items ours must finish. Effectum runs twice: unchanged,
/// and as its authors intend it, with WAL, where it does not sync its commits. The second has no goal.
const QUEUES: [Peer; 3] = [
    Peer { name: "effectum", least: 3.0, changed: false },
    Peer { name: "effectum", least: 0.0, changed: true },
    Peer { name: "apalis", least: 10.0, changed: false },
];
/// The engines, with the goal: how many times as many steps ours must finish.
const ENGINES: [Peer; 2] =
    [Peer { name: "duroxide", least: 50.0, changed: false }, Peer { name: "duroxide", least: 0.0, changed: true }];
/// How often each competitor does each piece of work. The median counts.
const ROUNDS: usize = 5;

/// The pieces of work. A single item has no goal against the peers: `cargo load -- --only queues` compares
/// it with a bare commit.
fn contests() -> [Contest; 6] {
    let queues = |queues, goals| Contest::new(Work::Throughput { queues }, &QUEUES, goals);
    let runs = |at_once, goal| Contest::new(Work::Runs { at_once }, &ENGINES, [goal, None]);
    [
        queues(1, [Some("effectum_1_queue"), None, Some("apalis_1_queue")]),
        queues(100, [Some("effectum_100_queues"), None, Some("apalis_100_queues")]),
        Contest::new(Work::Alone, &QUEUES, [None; 3]),
        runs(1, None),
        runs(64, Some("duroxide_64_at_once")),
        runs(512, None),
    ]
}

/// Builds the peers, and measures all competitors.
pub(super) async fn measure(target: &Path, directory: &Path, plan: &Plan, report: &mut Report) -> Result<()> {
    let wanted = || contests().into_iter().filter(|contest| plan.wants(contest.part()));
    let names: BTreeMap<_, _> = wanted().flat_map(|contest| contest.peers).map(|peer| (peer.name, peer)).collect();
    for peer in names.values() {
        peer.build(target)?;
    }
    for mut contest in wanted() {
        for round in 0..if plan.quick { 1 } else { ROUNDS } {
            let dir = |whose: &str| directory.join(format!("{whose}-{}-{round}", contest.work));
            let ask = |whose| Ask { work: contest.work, items: None, seconds: Ask::SECONDS, dir: dir(whose) };
            let ours = ours(ask("ours")).await?;
            let theirs: Result<Vec<_>> = contest.peers.iter().map(|peer| peer.run(target, &ask(peer.name))).collect();
            contest.round(ours, theirs?);
        }
        contest.tell(report);
    }
    Ok(())
}

/// Measures Drystone.
async fn ours(ask: Ask) -> Result<Figures> {
    let measured = match ask.work {
        Work::Throughput { .. } | Work::Alone => ours::measure(ask).await?,
        Work::Runs { .. } => runs::measure(ask).await?,
    };
    Ok(measured.into())
}

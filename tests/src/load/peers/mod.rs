//! `cargo load -- --peers`: Drystone's queue beside the embedded Rust queues that also keep their jobs in SQLite.
//!
//! Each peer is a program under `tests/peers` with a lock file of its own, for its SQLite cannot share ours. It does the
//! work of [`peer_work`] on the disk that ours is measured on, one after the other, and says what pragmas it really had:
//! with less than `FULL` an item that was acknowledged can be lost when the power fails, and that is faster.

mod contest;
mod ours;
mod peer;
mod said;

use std::path::Path;

use anyhow::Result;
use peer_work::{Ask, Work};

use self::{
    contest::{Contest, Figures},
    peer::Peer,
};
use super::report::Report;

/// The peers, and how many times as many items ours is to finish. Effectum twice: as it is, and as its authors mean it,
/// with WAL, where it does not sync its commits; no goal is set against that.
const PEERS: [Peer; 3] = [
    Peer { name: "effectum", least: 3.0, wal: false },
    Peer { name: "effectum", least: 0.0, wal: true },
    Peer { name: "apalis", least: 10.0, wal: false },
];
/// Each does each work so often, and the median counts.
const ROUNDS: usize = 5;

/// What everybody does. One item alone has no goal against the peers: DESIGN.md has one against a bare commit.
fn contests() -> [Contest; 3] {
    [
        Contest::new(Work::Throughput, 1, [Some("effectum_1_queue"), None, Some("apalis_1_queue")]),
        Contest::new(Work::Throughput, 100, [Some("effectum_100_queues"), None, Some("apalis_100_queues")]),
        Contest::new(Work::Alone, 1, [None; 3]),
    ]
}

/// Builds the peers, and measures everybody.
pub(super) async fn measure(target: &Path, directory: &Path, quick: bool, report: &mut Report) -> Result<()> {
    for peer in PEERS {
        peer.build(target)?;
    }
    for mut contest in contests() {
        for round in 0..if quick { 1 } else { ROUNDS } {
            let dir = |whose: &str| directory.join(format!("{whose}-{}-{}-{round}", contest.work, contest.queues));
            let ask = |whose| Ask { work: contest.work, queues: contest.queues, items: None, dir: dir(whose) };
            let ours = Figures::from(ours::measure(ask("ours")).await?);
            let theirs: Result<Vec<_>> = PEERS.iter().map(|peer| peer.run(target, &ask(peer.name))).collect();
            contest.round(ours, theirs?);
        }
        contest.tell(report);
    }
    Ok(())
}

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

/// The peers, and how many times as many items ours is to finish.
const PEERS: [Peer; 2] = [Peer { name: "effectum", least: 3.0 }, Peer { name: "apalis", least: 10.0 }];
/// Each does each work so often, and the median counts.
const ROUNDS: usize = 3;

/// What everybody does. One item alone has no goal against the peers: DESIGN.md has one against a bare commit.
fn contests() -> [Contest; 3] {
    let contest = |work, queues, goals| Contest::new(work, queues, goals);
    [
        contest(Work::Throughput, 1, Some(["effectum_1_queue", "apalis_1_queue"])),
        contest(Work::Throughput, 100, Some(["effectum_100_queues", "apalis_100_queues"])),
        contest(Work::Alone, 1, None),
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
            let ours = ours::ours(&ask("ours")).await?.map(Figures::from);
            let [first, second] = PEERS.map(|peer| peer.run(target, &ask(peer.name)));
            contest.round(ours, [first?, second?]);
        }
        contest.tell(report);
    }
    Ok(())
}

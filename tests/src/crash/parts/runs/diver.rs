//! A diver: a run that holds the only permit of a dock while it takes its steps, also when the process is
//! killed meanwhile (M5, S5).

use std::time::Duration;

use drystone::{Client, Flow, primitive, workflow};
use serde::{Deserialize, Serialize};

use super::{Op, in_round};
use crate::crash::{judging::said::Said, parts::part::Part};

/// The number of docks in a round.
const DOCKS: u64 = 2;

/// Long enough that the permit is held at some kills.
const DIVE: Duration = Duration::from_millis(2);

/// A dock with one permit. Runs hold the permit without the lease.
#[primitive(semaphore, permits = 1, lease = "1s")]
pub(in crate::crash) struct Dock;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Diver;

#[workflow]
impl Diver {
    async fn run(flow: &Flow<Self>, number: u64, docks: &Client<Dock>) -> u64 {
        let permit = flow.permit(docks.get(dock(Op(number))).acquire()).await;
        flow.dive(number).await;
        flow.surface(number).await;
        drop(permit);
        number
    }

    #[step]
    async fn dive(number: u64) {
        Part::Semaphores.moved();
        Said::Docked(Op(number)).aloud();
        tokio::time::sleep(DIVE).await;
    }

    #[step]
    async fn surface(number: u64) {
        Said::Undocked(Op(number)).aloud();
    }
}

pub(super) fn diver(op: Op) -> String {
    in_round(&format!("diver-{}", op.turn()), op.round())
}

/// The dock whose permit the run of this operation holds.
pub(in crate::crash) fn dock(op: Op) -> String {
    in_round(&format!("dock-{}", op.turn() / 2 % DOCKS), op.round())
}

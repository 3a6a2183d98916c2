//! A saga: charge, reserve, ship. When shipping fails, the earlier steps are undone, the last first,
//! although the process dies in the middle of an undo.
//!
//! The lamp cannot be shipped: its place is released, and its money is given back. For the clock the
//! warehouse did not answer in time, so it is unknown whether a place is reserved. The place is released
//! anyway, by the input of the step. An undo is a step: it runs at least once, and its outcome is recorded
//! once.

use std::path::PathBuf;

use drystone::{Context, Failure, Flow, Primitives, Runtime, Services, d, workflow, workflow::RunPhase};
use drystone_examples::{is_first_life, two_lives};
use serde::{Deserialize, Serialize};

/// An order whose steps are undone if it cannot be shipped.
#[derive(Default, Serialize, Deserialize)]
struct Order;

#[workflow]
impl Order {
    async fn run(flow: &Flow<Self>, what: String, cents: u64) -> Result<(), Failure> {
        flow.charge(cents).await;
        let place = flow.reserve(what.clone()).await;
        flow.ship(what, place).await
    }

    /// The undo takes the output of this step. It is due for every recorded charge.
    #[step(undo = refund)]
    async fn charge(cents: u64, outside: &Outside, cx: &Context) -> String {
        outside.does(cx, &format!("{cents} cents are charged"));
        format!("charge-of-{cents}")
    }
    #[step]
    async fn refund(charge: String, outside: &Outside, cx: &Context) {
        outside.does(cx, &format!("{charge} is given back"));
        if charge == "charge-of-900" && is_first_life() {
            println!("  ... and the process dies here");
            std::process::abort();
        }
    }

    /// The undo takes the input of this step, and the output if that is known. It is due also if the outcome
    /// is unknown.
    #[step(max_attempts = 1, timeout = "100ms", undo = release)]
    async fn reserve(what: String, outside: &Outside, cx: &Context) -> u32 {
        outside.does(cx, &format!("a place for the {what} is reserved"));
        if what == "clock" {
            std::future::pending::<()>().await; // the answer is lost
        }
        7
    }
    #[step]
    async fn release(what: String, place: Option<u32>, outside: &Outside, cx: &Context) {
        outside.does(cx, &format!("the place for the {what} is released: {place:?}"));
    }

    #[step(max_attempts = 1)]
    async fn ship(what: String, place: u32) -> Result<(), Failure> {
        Err(format!("nobody carries the {what} at place {place}").into())
    }
}

/// A bank and a warehouse that outlive our process. They act once per work id.
struct Outside(PathBuf);

impl Outside {
    fn does(&self, cx: &Context, what: &str) {
        let done = std::fs::read_to_string(&self.0).unwrap_or_default();
        let is_known = done.contains(&cx.work_id());
        println!("  {what}{}", if is_known { ", as it was before" } else { "" });
        if !is_known {
            std::fs::write(&self.0, format!("{done}{} {what}\n", cx.work_id())).expect("there is room");
        }
    }
}

#[derive(Services)]
struct Deps {
    outside: Outside,
}

#[derive(Primitives)]
struct App {
    order: Order,
}

fn main() -> anyhow::Result<()> {
    two_lives(async |path| {
        let deps = Deps { outside: Outside(path.with_extension("done")) };
        let runtime = Runtime::sqlite(path).services(deps).start::<App>().await?;
        for (what, cents) in [("lamp", 900), ("clock", 400)] {
            let order = runtime.client().order(what);
            let Err(error) = order.execute(what.into(), cents).await else { anyhow::bail!("nothing can be shipped") };
            println!("  {what}: {error}");
            let status = order.status().await?.expect("it is kept for a while");
            assert_eq!((status.phase, status.undos_left, status.undos_failed.len()), (RunPhase::Failed, 0, 0));
        }
        let done = std::fs::read_to_string(path.with_extension("done"))?;
        assert_eq!(done.lines().count(), 8, "each was done once, and undone once: {done}");
        Ok(runtime.shutdown(d!("5s")).await?)
    })
}

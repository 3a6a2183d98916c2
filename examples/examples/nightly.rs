//! Every night at half past two, by the clocks of Berlin: a continuous primitive with a cron schedule.
//!
//! On the last Sunday of March there is no half past two: clocks go from two to three, and the report is made at that
//! moment. On the last Sunday of October there are two, and it is made once. What is missed while nothing runs is made up
//! for, night by night. All in a world whose clock moves by hand.

use drystone::{Context, Never, Primitives, Services, Timestamp, d, primitive, testing::Log, testing::World};
use serde::{Deserialize, Serialize};

/// The nights that a report was made for.
#[derive(Default, Serialize, Deserialize)]
struct Reports {
    nights: Vec<Timestamp>,
}

#[primitive(continuous, cron = "30 2 * * *", zone = "Europe/Berlin", missed = "backfill")]
impl Reports {
    #[tick]
    async fn report(&mut self, printer: &Log, cx: &Context) -> Result<(), Never> {
        self.nights.push(cx.scheduled_for());
        printer.say(format!("  the report for {} is made at {}", cx.scheduled_for(), cx.now()));
        Ok(())
    }
}

#[derive(Services)]
struct Deps {
    printer: Log,
}

#[derive(Primitives)]
struct App {
    reports: Reports,
}

/// The days before clocks go forward, and before they go back: 2026-03-27 and 2026-10-23.
const NIGHTS: [i64; 2] = [1_774_609_200_000, 1_792_749_600_000];

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    for night in NIGHTS {
        let printer = Log::default();
        let setup = World::memory().starts_at(Timestamp::from_millis(night));
        let world = setup.services(Deps { printer: printer.clone() }).start::<App>().await;
        let reports = world.client().reports("sales");
        reports.start().await?;
        if let Some(status) = reports.status().await? {
            println!("the next five, from {}:", world.now());
            status.next_runs.iter().for_each(|time| println!("  {time}"));
        }

        println!("three nights:");
        world.advance(d!("3d")).await;
        printer.take().iter().for_each(|line| println!("{line}"));

        println!("two days without power, and back again:");
        world.crash().await;
        world.advance(d!("2d")).await;
        world.restart().await;
        world.settle().await;
        printer.take().iter().for_each(|line| println!("{line}"));
        println!("{} reports in all\n", reports.state().await?.map_or(0, |reports| reports.nights.len()));
    }
    Ok(())
}

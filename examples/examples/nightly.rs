//! A report every night at half past two, Berlin time: a continuous primitive with a cron schedule.
//!
//! On the last Sunday of March, half past two does not exist: clocks go from two to three, and the report is
//! made at that moment. On the last Sunday of October half past two comes twice, and the report is made
//! once. Nights that are missed while the process is down are made up for, one by one. The example runs in a
//! test world, whose clock is moved by hand.

use drystone::{Context, Never, Primitives, Services, Timestamp, d, primitive, testing::Log, testing::World};
use serde::{Deserialize, Serialize};

/// The nights for which a report was made.
#[derive(Default, Serialize, Deserialize)]
struct Reports {
    nights: Vec<Timestamp>,
}

#[primitive(continuous, cron = "30 2 * * *", zone = "Europe/Berlin", missed = "backfill")]
impl Reports {
    /// Makes the report of a night. After downtime `scheduled_for` is earlier than `now`.
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

/// Two days before clocks go forward, and two days before they go back: 2026-03-27 and 2026-10-23.
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

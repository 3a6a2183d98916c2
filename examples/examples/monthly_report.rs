//! A run that continues forever, with one generation per month.
//!
//! `continue_as` ends a generation and begins the next one in a single commit. It carries over only the
//! given input and the events that no wait has taken; everything recorded in the old month is dropped. So
//! the history stays short however long the run continues. The example runs in a test world, whose clock is
//! moved by hand.

use drystone::{
    Event, Flow, Primitives, Services, d,
    testing::{Log, World},
    workflow,
};
use serde::{Deserialize, Serialize};

/// Event: a sale of this many cents.
#[derive(Event, Serialize, Deserialize)]
struct Sale(u64);

/// Event: the books are closed, and the run ends.
#[derive(Event, Serialize, Deserialize)]
struct Close;

/// The input that one month hands to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Books {
    month: u32,
    cents: u64,
}

/// The state of the current month, for queries. Each generation begins with a new one.
#[derive(Default, Serialize, Deserialize)]
struct Report {
    sales: u32,
}

#[workflow(events(Sale, Close))]
impl Report {
    /// One month: adds up sales for 30 days, then begins the next month as a new generation.
    async fn run(flow: &Flow<Self>, mut books: Books) -> Books {
        let mut month = flow.sleep("30d");
        loop {
            select! {
                Sale(cents) = flow.wait_for::<Sale>() => {
                    books.cents += cents;
                    flow.update(|report| report.sales += 1);
                },
                _ = flow.wait_for::<Close>() => return books,
                _ = &mut month => break,
            }
        }
        let sales = flow.look(|report| report.sales);
        flow.send(books.clone(), sales).await;
        flow.continue_as(Books { month: books.month + 1, ..books }).await
    }

    #[step]
    async fn send(books: Books, sales: u32, printer: &Log) {
        printer.say(format!("month {}: {sales} sales, {} cents in all", books.month, books.cents));
    }
}

#[derive(Services)]
struct Deps {
    printer: Log,
}

#[derive(Primitives)]
struct App {
    report: Report,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let printer = Log::default();
    let world = World::sqlite().services(Deps { printer: printer.clone() }).start::<App>().await;
    let report = world.client().report("shop");
    report.start(Books { month: 1, cents: 0 }).await?;
    let mut longest = 0;
    for sale in 1..=120 {
        report.send(Sale(sale)).await?;
        longest = longest.max(report.history().await?.len());
        if sale % 25 == 0 {
            println!("  the process dies, and comes back");
            world.restart().await;
        }
        world.advance(d!("3d")).await;
        printer.take().iter().for_each(|line| println!("{line}"));
    }
    let generation = report.status().await?.map(|status| status.generation);
    println!("generation {}, and no history had more than {longest} entries", generation.unwrap_or_default());
    report.send(Close).await?;
    let books = report.result().await?;
    println!("closed: {books:?}");
    assert_eq!((books, generation), (Books { month: 13, cents: 7_260 }, Some(13)));
    assert!(longest < 15, "what is recorded of a month goes with it: {longest}");
    Ok(())
}

//! A ledger in the same file as the runs: each sale is booked exactly once, although the process dies while
//! it books.
//!
//! `#[step(transaction)]` writes your own tables in the same transaction as the record that the step was
//! executed. An ordinary step, which acts on the outside world, runs at least once. The effect of a
//! transactional step happens exactly once, at whatever point the process crashes.

use drystone::{Failure, Flow, Primitives, Runtime, SqlError, Transaction, d, workflow};
use drystone_examples::{is_first_life, two_lives};
use serde::{Deserialize, Serialize};

/// The table of the app, in the same file as the runs.
const TABLES: &str = "CREATE TABLE IF NOT EXISTS ledger (sale TEXT NOT NULL, cents INTEGER NOT NULL)";

/// A sale: booked together with its tax.
#[derive(Default, Serialize, Deserialize)]
struct Sale;

#[workflow]
impl Sale {
    async fn run(flow: &Flow<Self>, name: String, cents: u64) -> Result<String, Failure> {
        let total = flow.book(name.clone(), cents).await?;
        flow.book(name, cents / 10).await?; // the tax
        Ok(format!("{total} cents were in the ledger when it was booked"))
    }

    /// Books a sale and returns the total of the ledger. The function is not `async`, because no other write
    /// can happen while it runs.
    #[step(transaction)]
    fn book(name: String, cents: u64, sql: &mut Transaction<'_>) -> Result<u64, Failure> {
        println!("  booking {cents} cents for {name}");
        sql.execute("INSERT INTO ledger VALUES (?1, ?2)", (&name, cents))?;
        if name == "tea" && cents < 100 && is_first_life() {
            println!("  ... and the process dies here");
            std::process::abort();
        }
        Ok(sql.query_one("SELECT sum(cents) FROM ledger", (), |row| row.get(0))?)
    }
}

#[derive(Primitives)]
struct App {
    sale: Sale,
}

fn main() -> anyhow::Result<()> {
    two_lives(async |path| {
        let runtime = Runtime::sqlite(path).schema(TABLES).start::<App>().await?;
        for (name, cents) in [("coffee", 300), ("tea", 200)] {
            let sale = runtime.client().sale(name);
            sale.start_or_get(name.into(), cents).await?;
            println!("  {name}: {}", sale.result().await?);
        }
        let booked = runtime.transaction(|sql| {
            sql.query("SELECT sale, cents FROM ledger ORDER BY rowid", (), |row| {
                Ok::<_, SqlError>(format!("{} {}", row.get::<String>("sale")?, row.get::<u64>("cents")?))
            })
        });
        let booked = booked.await?;
        println!("  the ledger: {}", booked.join(", "));
        assert_eq!(booked, ["coffee 300", "coffee 30", "tea 200", "tea 20"], "each once");
        Ok(runtime.shutdown(d!("5s")).await?)
    })
}

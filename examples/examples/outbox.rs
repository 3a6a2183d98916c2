//! An outbox: an order and its mail are written in one transaction. Each mail is noted exactly once,
//! although the process dies.
//!
//! A message that a transaction sends is delivered if and only if the rows of the transaction are kept.
//! `#[process(transaction)]` writes your own tables in the same transaction as the record that the item was
//! processed.

use drystone::{Item, Primitives, Runtime, SqlError, Transaction, d, primitive};
use drystone_examples::{is_first_life, two_lives};
use serde::{Deserialize, Serialize};

/// A migration of the app's tables. Each migration is applied once in the life of the file.
const ORDERS: (&str, &str) = ("0001_orders", "CREATE TABLE orders (name TEXT PRIMARY KEY)");
const MAILED: (&str, &str) = ("0002_mailed", "CREATE TABLE mailed (name TEXT NOT NULL)");

/// The queue of mails. The state counts the noted mails.
#[derive(Default, Serialize, Deserialize)]
struct Mails {
    count: u64,
}

#[primitive(queue)]
impl Mails {
    /// Notes the mail. The function is not `async`, because no other write can happen while it runs.
    #[process(transaction, max_attempts = 3)]
    fn note(&mut self, item: Item<String>, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        println!("  noting the mail about {}", item.value);
        self.count += 1;
        sql.execute("INSERT INTO mailed VALUES (?1)", (&item.value,))?;
        if item.value == "tea" && is_first_life() {
            println!("  ... and the process dies here");
            std::process::abort();
        }
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    mails: Mails,
}

fn main() -> anyhow::Result<()> {
    two_lives(async |path| {
        let runtime = Runtime::sqlite(path).migrations([ORDERS, MAILED]).start::<App>().await?;
        let mails = runtime.client().mails("out");
        for name in ["coffee", "tea"] {
            let client = runtime.client();
            let ordered = runtime.transaction(move |sql| {
                // The order may exist since the first life. A second order of the same name sends nothing.
                if sql.execute("INSERT INTO orders VALUES (?1) ON CONFLICT DO NOTHING", (name,))? == 1 {
                    sql.send(client.mails("out").enqueue(name.to_owned()))?;
                }
                Ok::<_, SqlError>(())
            });
            ordered.await?;
        }
        mails.drain().await?;
        let mailed = runtime
            .transaction(|sql| sql.query("SELECT name FROM mailed ORDER BY rowid", (), |row| row.get::<String>(0)));
        let (mailed, count) = (mailed.await?, mails.state().await?.unwrap_or_default().count);
        println!("  mailed: {}; the queue counts {count}", mailed.join(", "));
        assert_eq!((mailed.len(), count), (2, 2), "each once");
        Ok(runtime.shutdown(d!("5s")).await?)
    })
}

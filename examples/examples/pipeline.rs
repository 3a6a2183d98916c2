//! A pipeline from one primitive to the next, exactly once at every hop: a buffer, a queue, an object.
//!
//! Clicks are collected in batches, each click becomes a job, and each job is charged to an account. A
//! message is part of its sender's commit and is taken in its receiver's commit. If code fails, its messages
//! are dropped with its commit; the retry sends them.

use drystone::{Batch, Client, Failure, Item, Never, Primitives, Runtime, d, primitive};
use serde::{Deserialize, Serialize};

/// A click of a customer, and its price.
#[derive(Serialize, Deserialize)]
struct Click {
    customer: String,
    cents: u64,
}

/// Clicks that wait to be billed.
#[derive(Default, Serialize, Deserialize)]
struct Clicks;

#[primitive(buffer, max_items = 4, max_wait = "50ms")]
impl Clicks {
    /// Sends one job per click. The messages are sent by the commit of this flush.
    #[flush]
    async fn pass_on(&mut self, batch: Batch<Click>, billing: &Client<Billing>) -> Result<(), Never> {
        billing.send(billing.get("all").enqueue_many(batch.items));
        Ok(())
    }
}

/// Billing jobs, one for each click.
#[derive(Default, Serialize, Deserialize)]
struct Billing;

#[primitive(queue, concurrency = 4, backoff = "10ms")]
impl Billing {
    /// Charges the account of a customer. Every third job fails once, and its message is then not sent.
    #[process]
    async fn bill(&self, job: Item<Click>, accounts: &Client<Account>) -> Result<(), Failure> {
        let Click { customer, cents } = job.value;
        accounts.send(accounts.get(customer).charge(cents));
        if job.number.is_multiple_of(3) && job.attempt == 1 {
            return Err("the pricing service hung up".into()); // the message above is not sent
        }
        Ok(())
    }
}

/// A customer's account, with the cents that they owe.
#[derive(Default, Serialize, Deserialize)]
struct Account {
    cents: u64,
}

#[primitive(object)]
impl Account {
    async fn charge(&mut self, cents: u64) {
        self.cents += cents;
    }
}

#[derive(Primitives)]
struct App {
    clicks: Clicks,
    billing: Billing,
    account: Account,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let runtime = Runtime::sqlite(folder.path().join("app.db")).start::<App>().await?;
    let client = runtime.client();
    for number in 0..10 {
        let customer = if number % 2 == 0 { "anna" } else { "bob" };
        client.clicks("eu").add(Click { customer: customer.into(), cents: 10 }).await?;
    }
    client.clicks("eu").flush().await?;
    client.billing("all").drain().await?;
    for customer in ["anna", "bob"] {
        let account = client.account(customer).state().await?.unwrap_or_default();
        println!("{customer} owes {} cents", account.cents);
    }
    Ok(runtime.shutdown(d!("5s")).await?)
}

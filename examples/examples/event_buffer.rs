//! A buffer that turns many small events into few large requests.
//!
//! `add` answers when the item is durable. A batch is flushed when it is full or has waited long enough. A
//! failed flush is retried. After the last attempt the batch becomes a dead letter with all its items, so
//! nothing is lost silently.

use drystone::{Batch, Primitives, Runtime, Services, d, primitive};
use serde::{Deserialize, Serialize};

/// An item of the buffer.
#[derive(Debug, Serialize, Deserialize)]
struct Event {
    user: u32,
    what: String,
}

/// Events on their way to the warehouse. The state counts the events that have arrived.
#[derive(Default, Serialize, Deserialize)]
struct Events {
    arrived: usize,
}

#[primitive(buffer, max_items = 3, max_wait = "100ms", max_attempts = 2, backoff = "10ms")]
impl Events {
    #[flush]
    async fn upload(&mut self, batch: Batch<Event>, warehouse: &Warehouse) -> Result<(), String> {
        // The id of the batch is the same over retries, so the warehouse can recognize a repeat.
        warehouse.insert(&batch.id, &batch.items)?;
        self.arrived += batch.items.len();
        Ok(())
    }

    /// Returns how many events have arrived.
    async fn arrived(&self) -> usize {
        self.arrived
    }
}

/// A fake warehouse that refuses every batch with user 7.
struct Warehouse;

impl Warehouse {
    fn insert(&self, id: &str, events: &[Event]) -> Result<(), String> {
        let stranger = events.iter().find(|event| event.user == 7);
        println!("  {id} brings {} events{}", events.len(), if stranger.is_some() { ", and is refused" } else { "" });
        stranger.map_or(Ok(()), |event| Err(format!("`{}`: no such user", event.what)))
    }
}

#[derive(Services)]
struct Deps {
    warehouse: Warehouse,
}

#[derive(Primitives)]
struct App {
    events: Events,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let services = Deps { warehouse: Warehouse };
    let runtime = Runtime::sqlite(folder.path().join("app.db")).services(services).start::<App>().await?;
    let events = runtime.client().events("eu-west");
    for user in [1, 2, 3, 4, 7, 5, 6] {
        let added = events.add(Event { user, what: format!("click by {user}") }).await?;
        println!("user {user}: {} are buffered", added.buffered);
    }
    println!("what is left is flushed by hand: {:?}", events.flush().await?);
    while runtime.dead_letters().count().await? == 0 {
        tokio::time::sleep(d!("10ms")).await;
    }
    for letter in runtime.dead_letters().list(Default::default()).await?.letters {
        println!("dead letter {}: {} items of `{}`: {}", letter.id, letter.count, letter.definition, letter.reason);
    }
    println!("{} events have arrived", events.arrived().await?);
    Ok(runtime.shutdown(d!("5s")).await?)
}

//! The app of the tour, with a primitive of every kind.

use drystone::{Batch, Client, Context, Event, Failure, Flow, Item, Never, Primitives, primitive, workflow};
use serde::{Deserialize, Serialize};

use crate::is_first_life;

/// A counter that ticks every 100 milliseconds.
#[derive(Default, Serialize, Deserialize)]
pub struct Clock(pub u32);

#[primitive(continuous, every = "100ms")]
impl Clock {
    #[tick]
    async fn tick(&mut self) -> Result<(), Never> {
        self.0 += 1;
        println!("  clock: tick {}", self.0);
        Ok(())
    }
}

/// Delivers letters in batches of three.
#[derive(Default, Serialize, Deserialize)]
pub struct Post(pub Vec<String>);

#[primitive(buffer, max_items = 3, max_wait = "10s")]
impl Post {
    #[flush]
    async fn carry(&mut self, batch: Batch<String>) -> Result<(), Never> {
        println!("  post: {} carries {}", batch.id, batch.items.join(", "));
        if is_first_life() {
            println!("  ... and the process dies here");
            std::process::abort();
        }
        self.0.extend(batch.items);
        Ok(())
    }
}

/// A cart that reminds its owner after a second.
#[derive(Default, Serialize, Deserialize)]
pub struct Cart(pub Vec<String>);

#[primitive(object)]
impl Cart {
    /// Adds an item, and sets the alarm for the reminder.
    async fn put(&mut self, item: String, cx: &Context) {
        self.0.push(item);
        cx.alarm_in("1s");
    }
    #[alarm]
    async fn remind(&mut self) -> Result<(), Never> {
        println!("  cart: {} is still waiting", self.0.drain(..).collect::<String>());
        Ok(())
    }
}

/// A page that is indexed once it has been quiet for a while. The kind, `debounce`, is defined in this
/// crate.
#[derive(Default, Serialize, Deserialize)]
pub struct Page;

#[primitive(crate::debounce, quiet = "600ms")]
impl Page {
    #[hook(settled)]
    async fn index(&mut self) -> Result<(), Never> {
        println!("  page: it is quiet, so it is indexed");
        Ok(())
    }
}

/// Sends mails, two at a time. Each mail needs a permit of the line.
#[derive(Default, Serialize, Deserialize)]
pub struct Mails;

#[primitive(queue, concurrency = 2)]
impl Mails {
    #[process]
    async fn send(&self, mail: Item<String>, line: &Client<Line>) -> Result<(), Failure> {
        let permit = line.get("out").acquire().await?;
        println!("  mails: {} to {}, on the line with token {}", mail.id, mail.value, permit.token());
        Ok(())
    }
}

/// A line that one mail at a time may use.
#[primitive(semaphore, permits = 1, lease = "1s")]
pub struct Line;

/// Event: an order was paid.
#[derive(Event, Serialize, Deserialize)]
pub struct Paid(pub u32);

/// An order that is packed, and shipped once it is paid.
#[derive(Default, Serialize, Deserialize)]
pub struct Order;

#[workflow(events(Paid))]
impl Order {
    async fn run(flow: &Flow<Self>, what: String) -> String {
        flow.pack(what.clone()).await;
        let Paid(cents) = flow.wait_for::<Paid>().await;
        format!("{what}, paid with {cents} cents")
    }

    #[step]
    async fn pack(what: String) {
        println!("  order: {what} is packed");
    }
}

/// The app: one field per primitive.
#[derive(Primitives)]
pub struct App {
    clock: Clock,
    post: Post,
    cart: Cart,
    page: Page,
    mails: Mails,
    line: Line,
    order: Order,
}

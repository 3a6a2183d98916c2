//! A checkout: charge, wait for an approval, send a mail. The process dies in the middle, and each order is
//! still charged once.
//!
//! When the process dies, the first order is charged and waits for its approval. The charge is recorded and
//! is not repeated. The second order is being charged: the provider has taken the money, but nothing is
//! recorded yet. Its step runs again with the same work id, and the provider recognizes the id.

use std::path::PathBuf;

use drystone::{Context, Event, Failure, Flow, Primitives, Runtime, Services, d, workflow};
use drystone_examples::{is_first_life, two_lives};
use serde::{Deserialize, Serialize};

/// The input of a run.
#[derive(Serialize, Deserialize)]
struct Order {
    card: String,
    cents: u64,
    email: String,
}

/// Event: the charge was approved.
#[derive(Event, Serialize, Deserialize)]
struct Approved {
    by: String,
}

/// Event: the charge was rejected.
#[derive(Event, Serialize, Deserialize)]
struct Rejected {
    why: String,
}

/// The state of a run, which queries read.
#[derive(Default, Serialize, Deserialize)]
struct Checkout {
    is_charged: bool,
}

#[workflow(events(Approved, Rejected))]
impl Checkout {
    /// The body. After a crash it is replayed: recorded steps return their recorded results and do not run
    /// again.
    async fn run(flow: &Flow<Self>, order: Order) -> Result<String, Failure> {
        let charge = flow.charge(order.card, order.cents).await?;
        flow.update(|checkout| checkout.is_charged = true);
        let approved = select! {
            approved = flow.wait_for::<Approved>() => approved,
            rejected = flow.wait_for::<Rejected>() => return Err(rejected.why.into()),
            _ = flow.sleep("24h") => return Err("nobody answered within a day".into()),
        };
        flow.email(order.email, approved.by).await?;
        Ok(charge)
    }

    /// A step: runs outside the body, at least once, and its result is recorded once.
    #[step(max_attempts = 5, backoff = "1s..1m", timeout = "30s")]
    async fn charge(card: String, cents: u64, payments: &Payments, cx: &Context) -> Result<String, Failure> {
        payments.charge(&cx.work_id(), &card, cents)
    }

    #[step]
    async fn email(to: String, by: String) -> Result<(), Failure> {
        println!("  mail to {to}: approved by {by}");
        Ok(())
    }

    async fn is_charged(&self) -> bool {
        self.is_charged // a query: reads the stored state
    }
}

/// A payment provider that outlives our process. It charges once per id, and answers a repeated id as the
/// first time.
struct Payments(PathBuf);

impl Payments {
    fn charge(&self, id: &str, card: &str, cents: u64) -> Result<String, Failure> {
        let taken = std::fs::read_to_string(&self.0).unwrap_or_default();
        let is_known = taken.contains(id);
        println!("  payments: {cents} cents for {id}, {}", if is_known { "taken before" } else { "taken" });
        if !is_known {
            std::fs::write(&self.0, format!("{taken}{id} {cents}\n"))?;
        }
        if cents == 250 && is_first_life() {
            println!("  ... and the process dies here");
            std::process::abort();
        }
        Ok(format!("{cents} cents from {card}"))
    }
}

/// The services of the app.
#[derive(Services)]
struct Deps {
    payments: Payments,
}

#[derive(Primitives)]
struct App {
    checkout: Checkout,
}

fn main() -> anyhow::Result<()> {
    two_lives(async |path| {
        let deps = Deps { payments: Payments(path.with_extension("taken")) };
        let runtime = Runtime::sqlite(path).services(deps).start::<App>().await?;
        for (key, cents) in [("order-1", 100), ("order-2", 250)] {
            let order = runtime.client().checkout(key);
            let input = Order { card: "4242".into(), cents, email: "ada@example.org".into() };
            println!("  {key}: {:?}", order.start_or_get(input).await?);
            while !order.is_charged().await? {
                tokio::time::sleep(d!("10ms")).await;
            }
            if !is_first_life() {
                order.send(Approved { by: "Ada".into() }).await?;
                println!("  {key} came to {}", order.result().await?);
            }
        }
        let taken = std::fs::read_to_string(path.with_extension("taken"))?;
        assert_eq!(taken.lines().count(), 2, "each was charged once: {taken}");
        Ok(runtime.shutdown(d!("5s")).await?)
    })
}

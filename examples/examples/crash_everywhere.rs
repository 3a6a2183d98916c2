//! A test that crashes at every commit. It finds a step that charges twice, and passes once the step uses
//! its work id.
//!
//! A scenario is the body of a test. It must return the same result when the process crashes before or after
//! any commit.

use std::sync::{Arc, Mutex, PoisonError};

use drystone::{
    Context, Flow, Primitives, Services,
    testing::{CrashError, Survived, block_on, crash_everywhere},
    workflow,
};
use serde::{Deserialize, Serialize};

/// A workflow of two steps.
#[derive(Default, Serialize, Deserialize)]
struct Checkout;

#[workflow]
impl Checkout {
    async fn run(flow: &Flow<Self>, cents: u64, is_careful: bool) -> u64 {
        flow.quote(cents).await;
        flow.charge(cents, is_careful).await
    }

    #[step]
    async fn quote(cents: u64) -> u64 {
        cents
    }

    #[step]
    async fn charge(cents: u64, is_careful: bool, bank: &Bank, cx: &Context) -> u64 {
        // The work id is the same in every attempt, even after a crash, so the bank recognizes a repeat.
        bank.charge(is_careful.then(|| cx.work_id()), cents)
    }
}

/// A fake bank. Like the real one it charges once per id. Without an id it charges every time.
#[derive(Clone, Default)]
struct Bank(Arc<Mutex<Vec<Charge>>>);
type Charge = (Option<String>, u64);

impl Bank {
    fn charge(&self, id: Option<String>, cents: u64) -> u64 {
        let mut charges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if id.is_none() || !charges.iter().any(|(known, _)| *known == id) {
            charges.push((id, cents));
        }
        cents
    }

    fn charged(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(_, cents)| cents).sum()
    }
}

#[derive(Services)]
struct Fakes {
    bank: Bank,
}

#[derive(Primitives)]
struct App {
    checkout: Checkout,
}

/// Runs the scenario with a crash at each commit. Each time the result must be the same as without a crash.
fn tried(is_careful: bool) -> Result<Survived, CrashError> {
    block_on(crash_everywhere(async |setup| {
        let bank = Bank::default();
        let world = setup.services(Fakes { bank: bank.clone() }).start::<App>().await;
        let order = world.client().checkout("order-9");
        order.start(1_200, is_careful).await.expect("nothing is there yet");
        let price = order.result().await.expect("no step fails");
        format!("{price} cents to pay, {} charged", bank.charged())
    }))
}

fn main() -> anyhow::Result<()> {
    let found = tried(false).expect_err("without an id it charges twice");
    println!("without an id {found}");
    println!("with the work id it comes through: {:?}", tried(true)?);
    Ok(())
}

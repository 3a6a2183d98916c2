//! What an author writes above a function is on what is made of it.
#![deny(warnings, missing_docs)]

use drystone::{Flow, durable, workflow};
use serde::{Deserialize, Serialize};

/// An order.
#[derive(Default, Serialize, Deserialize)]
pub struct Checkout;

#[workflow]
#[allow(clippy::unused_async)]
impl Checkout {
    /// The body.
    #[allow(deprecated)]
    #[inline]
    pub async fn run(flow: &Flow<Self>) -> u8 {
        #![allow(clippy::let_unit_value)]
        let all = join!(flow.old(), help(flow, &1));
        all.0 + all.1
    }

    /// Charges.
    #[step]
    #[deprecated = "use `new`"]
    pub async fn old() -> u8 {
        1
    }

    #[cfg(any())]
    #[step(timeout = NOT_THERE)]
    async fn gone(_of: Nothing) -> Result<Nothing, Nothing> {}

    #[cfg(any())]
    async fn gone_too(&self) -> Nothing {}

    #[durable]
    #[allow(unused)]
    async fn helper(_flow: &Flow<Self>) {}
}

/// Helps.
#[durable]
#[must_use]
async fn help(flow: &Flow<Checkout>, number: &u8) -> u8 {
    #[expect(deprecated)]
    let old = flow.old().await;
    old + number
}

fn main() {}

//! Options that are set to constants, wherever these are.
#![deny(warnings)]
#![allow(dead_code)]

use std::time::Duration;

use drystone::{Batch, Cron, Failure, Primitives, Retry, d, primitive};
use serde::{Deserialize, Serialize};

mod plans {
    use super::{Duration, Retry, d};

    pub const SLOWLY: Retry = Retry::constant(d!("1s")).attempts(2).then(Retry::linear(d!("10s")).jitter(10));
    pub const LIMIT: Duration = Duration::from_secs(30);
    pub const ATTEMPTS: u64 = 7;
}
use plans::SLOWLY;

const INTERVAL: Duration = d!("1h");
const NIGHTLY: Cron = Cron::new("0 3 * * MON-FRI").zone("Europe/Berlin");

#[derive(Default, Serialize, Deserialize)]
struct Cart;

impl Cart {
    const ATTEMPTS: u64 = 2;
}

#[primitive(object, max_attempts = Cart::ATTEMPTS, retry = plans::SLOWLY, timeout = plans::LIMIT)]
impl Cart {}

#[derive(Default, Serialize, Deserialize)]
struct Every;

#[primitive(continuous, every = INTERVAL, retry = SLOWLY, max_attempts = crate::plans::ATTEMPTS, timeout = plans::LIMIT)]
impl Every {
    #[tick]
    async fn tick(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct After;

#[primitive(continuous, after = INTERVAL)]
impl After {
    #[tick]
    async fn tick(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Nightly;

#[primitive(continuous, missed = "backfill", zone = "UTC", cron = NIGHTLY)]
impl Nightly {
    #[tick]
    async fn tick(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Bin;

#[primitive(
    buffer,
    max_items = plans::ATTEMPTS,
    max_wait = INTERVAL,
    backoff = SLOWLY,
    timeout = plans::LIMIT,
    max_stored = plans::ATTEMPTS,
    max_stored_bytes = u32::MAX_BYTES
)]
impl Bin {
    #[flush]
    async fn flush(&mut self, _: Batch<u32>) -> Result<(), Failure> {
        Ok(())
    }
}

trait Sized {
    const MAX_BYTES: u64;
}

impl Sized for u32 {
    const MAX_BYTES: u64 = 1024;
}

#[derive(Primitives)]
struct App {
    cart: Cart,
    every: Every,
    after: After,
    nightly: Nightly,
    bin: Bin,
}

fn main() {}

//! Semaphores: a rate limit, and a lock whose holder dies.
//!
//! The first life takes the lock, and is killed while it holds it. The second life waits in line until the
//! dead holder's lease ends, and gets a higher fencing token. A file server that has seen the higher token
//! refuses late writes of the dead holder.

use std::{path::Path, time::Instant};

use drystone::{AcquireError, Primitives, Runtime, d, primitive};
use drystone_examples::{is_first_life, two_lives};

/// At most three requests in any 200 milliseconds, over all callers.
#[primitive(semaphore, permits = 3, window = "200ms")]
struct Requests;

/// A lock: one writer at a time.
#[primitive(semaphore, permits = 1, lease = "400ms")]
struct Writer;

#[derive(Primitives)]
struct App {
    requests: Requests,
    writer: Writer,
}

/// One life of the program. The first life ends while it holds the lock.
async fn live(path: &Path) -> anyhow::Result<()> {
    let runtime = Runtime::sqlite(path).start::<App>().await?;
    let writer = runtime.client().writer("report.pdf");
    if is_first_life() {
        requests(&runtime).await?;
        let permit = writer.acquire().await?;
        tokio::time::sleep(d!("1s")).await; // longer than the lease, so the permit is renewed
        println!("  it writes with token {}, lost: {}", permit.token(), permit.lost());
        std::process::exit(9);
    }
    if let Err(AcquireError::TimedOut) = writer.acquire().timeout(d!("10ms")).await {
        println!("  the lock is still held by the dead: {:?}", writer.stats().await?.holders);
    }
    let began = Instant::now();
    let permit = writer.acquire().await?;
    println!("  after {} ms it writes with token {}", began.elapsed().as_millis(), permit.token());
    println!("  somebody else: {:?}", writer.try_acquire().await?);
    drop(permit); // releases the permit to the next in line
    drop(writer.acquire().await?);
    Ok(runtime.shutdown(d!("5s")).await?)
}

/// Makes seven requests as fast as the limit allows.
async fn requests(runtime: &Runtime<App>) -> anyhow::Result<()> {
    let limit = runtime.client().requests("api.example.com");
    let began = Instant::now();
    for request in 1..=7 {
        let _ = limit.acquire().await?; // not released: it comes back when the window has passed
        println!("  request {request} after {} ms", began.elapsed().as_millis() / 100 * 100);
    }
    Ok(())
}

fn main() -> anyhow::Result<()> {
    two_lives(live)
}

//! A peer's program: it is asked on its command line, and answers with one line of JSON.

use std::{env, error::Error, fs, path::Path, sync::Arc};

use tokio::runtime::{Handle, Runtime};

use crate::{Ask, Measured, Peer, Work, alone, throughput};

/// A run should take about so long.
const SECONDS: f64 = 5.0;
/// Enough to say how many that takes.
const TO_CALIBRATE: u64 = 1_000;
const ITEMS_MAX: f64 = 300_000.0;
const ITEMS_ALONE: u64 = 300;

/// What a peer says of itself.
pub struct About {
    /// Its name on the registry.
    pub peer: &'static str,
    /// Its version there.
    pub version: &'static str,
    /// `journal_mode/synchronous`, as read back.
    pub pragmas: String,
    /// All that was set, and what its queues are.
    pub settings: String,
}

/// Does what the command line asks for on peers that `open` makes, each on a new file and for so many queues.
pub fn child<P: Peer>(
    open: impl AsyncFn(&Path, usize) -> Result<(P, About), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let ask = Ask::parse(env::args().skip(1))?;
    let runtime = Runtime::new()?;
    let on = runtime.handle();
    let items = match (ask.items, ask.work) {
        (Some(items), _) => items,
        (None, Work::Alone) => ITEMS_ALONE,
        (None, Work::Throughput) => items_for(&on_new_file(&open, on, &ask, "calibrate.db", TO_CALIBRATE)?.0),
    };
    let (measured, about) = on_new_file(&open, on, &ask, "peer.db", items)?;
    println!("{}", line(&ask, &measured, &about));
    // Not every peer can be told to stop, and nothing is left that is worth waiting for.
    runtime.shutdown_background();
    Ok(())
}

fn on_new_file<P: Peer>(
    open: &impl AsyncFn(&Path, usize) -> Result<(P, About), Box<dyn Error>>,
    on: &Handle,
    ask: &Ask,
    name: &str,
    items: u64,
) -> Result<(Measured, About), Box<dyn Error>> {
    fs::create_dir_all(&ask.dir)?;
    let (peer, about) = on.block_on(open(&ask.dir.join(name), ask.queues))?;
    // A peer that is dropped may want to spawn.
    let (_inside, peer) = (on.enter(), Arc::new(peer));
    let measured = match ask.work {
        Work::Throughput => throughput(&peer, on, ask.queues, items)?,
        Work::Alone => alone(&peer, on, items)?,
    };
    Ok((measured, about))
}

fn items_for(measured: &Measured) -> u64 {
    (measured.done_per_s * SECONDS).clamp(TO_CALIBRATE as f64, ITEMS_MAX) as u64
}

fn line(ask: &Ask, measured: &Measured, about: &About) -> String {
    let (work, queues, micros) = (ask.work, ask.queues, |time: std::time::Duration| time.as_secs_f64() * 1e6);
    let Measured { items, enqueue_per_s, done_per_s, p50, p99 } = *measured;
    let About { peer, version, pragmas, settings } = about;
    format!(
        "{{\"peer\":{peer:?},\"version\":{version:?},\"what\":\"{work}\",\"queues\":{queues},\"items\":{items},\
         \"enqueue_per_s\":{enqueue_per_s:.1},\"done_per_s\":{done_per_s:.1},\"p50_us\":{:.1},\"p99_us\":{:.1},\
         \"pragmas\":{pragmas:?},\"settings\":{settings:?}}}",
        micros(p50),
        micros(p99)
    )
}

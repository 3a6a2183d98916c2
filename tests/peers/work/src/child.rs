//! A peer's program: it is asked on its command line, and answers with one line of JSON.

use std::{env, error::Error, fs, path::Path, sync::Arc, time::Duration};

use tokio::runtime::{Handle, Runtime};

use crate::{
    Ask, Engine, Measured, Peer, Work, alone,
    runs::{Until, runs},
    throughput,
};

const ITEMS_FIRST: u64 = 1_000;
/// More items for the next run, at least and at most. Not many more: what costs the square of them must come to an end.
const GROWTH: (f64, f64) = (1.5, 3.0);
const ITEMS_ALONE: u64 = 300;

/// What a peer says of itself.
pub struct About {
    /// Its name on the registry.
    pub peer: &'static str,
    /// Its version there.
    pub version: &'static str,
    /// `journal_mode/synchronous`, as read back.
    pub pragmas: String,
    /// All that was set, and what its queues or runs are.
    pub settings: String,
}

/// Does what the command line asks for on peers that `open` makes, each on a new file and for so many queues.
pub fn child<P: Peer>(
    open: &impl AsyncFn(&Path, usize) -> Result<(P, About), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    answer(|ask, on| long_enough(ask, |items| on_new_file(open, on, ask, items)))
}

/// Does what the command line asks for on the engine that `open` makes, on a new file and for so many runs at once.
pub fn child_with_runs<E: Engine>(
    open: &impl AsyncFn(&Path, usize) -> Result<(E, About), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    answer(|ask, on| {
        fs::create_dir_all(&ask.dir)?;
        let (engine, about) = on.block_on(open(&ask.dir.join("runs.db"), ask.work.at_once()?))?;
        // An engine that is dropped may want to spawn.
        let (_inside, engine) = (on.enter(), Arc::new(engine));
        Ok((work_of_runs(&engine, on, ask)?, about))
    })
}

fn answer(
    measure: impl FnOnce(&Ask, &Handle) -> Result<(Measured, About), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let ask = Ask::parse(env::args().skip(1))?;
    let runtime = Runtime::new()?;
    let (measured, about) = measure(&ask, runtime.handle())?;
    println!("{}", line(ask.work, &measured, &about));
    // Not every peer can be told to stop, and nothing is left that is worth waiting for.
    runtime.shutdown_background();
    Ok(())
}

fn on_new_file<P: Peer>(
    open: &impl AsyncFn(&Path, usize) -> Result<(P, About), Box<dyn Error>>,
    on: &Handle,
    ask: &Ask,
    items: u64,
) -> Result<(Measured, About), Box<dyn Error>> {
    fs::create_dir_all(&ask.dir)?;
    let (peer, about) = on.block_on(open(&ask.dir.join(format!("{items}.db")), ask.work.queues()?))?;
    // A peer that is dropped may want to spawn.
    let (_inside, peer) = (on.enter(), Arc::new(peer));
    Ok((work(&peer, on, ask, items)?, about))
}

/// Does the work that is asked for, with so many items. It blocks.
pub fn work<P: Peer>(peer: &Arc<P>, on: &Handle, ask: &Ask, items: u64) -> Result<Measured, Box<dyn Error>> {
    match ask.work {
        Work::Alone => alone(peer, on, items),
        work => throughput(peer, on, work.queues()?, items),
    }
}

/// Does the runs that are asked for. It blocks.
pub fn work_of_runs<E: Engine>(engine: &Arc<E>, on: &Handle, ask: &Ask) -> Result<Measured, Box<dyn Error>> {
    let until = ask.items.map_or(Until::Passed(Duration::from_secs(ask.seconds)), Until::Runs);
    runs(engine, on, ask.work.at_once()?, until)
}

/// The first run of what is asked for, each on a new file, that is not too short to be believed.
pub fn long_enough<T>(
    ask: &Ask,
    mut run: impl FnMut(u64) -> Result<(Measured, T), Box<dyn Error>>,
) -> Result<(Measured, T), Box<dyn Error>> {
    let mut items = match (ask.items, ask.work) {
        (Some(items), _) => return run(items),
        (None, Work::Alone) => return run(ITEMS_ALONE),
        (None, _) => ITEMS_FIRST,
    };
    loop {
        let (measured, about) = run(items)?;
        let seconds = items as f64 / measured.done_per_s;
        if seconds >= ask.seconds as f64 {
            return Ok((measured, about));
        }
        items = more(items, seconds, ask.seconds as f64);
    }
}

/// A little above what would do if it went on as fast.
fn more(items: u64, seconds: f64, wanted: f64) -> u64 {
    let (least, most) = GROWTH;
    (items as f64 * (1.2 * wanted / seconds).clamp(least, most)).round() as u64
}

fn line(work: Work, measured: &Measured, about: &About) -> String {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let Measured { items, enqueue_per_s, done_per_s, p50, p99 } = *measured;
    let enqueue_per_s = enqueue_per_s.map_or("null".to_owned(), |rate| format!("{rate:.1}"));
    let About { peer, version, pragmas, settings } = about;
    format!(
        "{{\"peer\":{peer:?},\"version\":{version:?},\"what\":\"{work}\",\"items\":{items},\
         \"enqueue_per_s\":{enqueue_per_s},\"done_per_s\":{done_per_s:.1},\"p50_us\":{:.1},\"p99_us\":{:.1},\
         \"pragmas\":{pragmas:?},\"settings\":{settings:?}}}",
        micros(p50),
        micros(p99)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The items of all runs, if so many take so many seconds.
    fn runs(seconds: impl Fn(f64) -> f64) -> Vec<u64> {
        let mut runs = vec![ITEMS_FIRST];
        while let (items, seconds) = (runs[runs.len() - 1], seconds(runs[runs.len() - 1] as f64))
            && seconds < 3.0
        {
            runs.push(more(items, seconds, 3.0));
        }
        runs
    }

    #[test]
    fn items_are_added_until_a_run_is_long_enough_and_not_many_more() {
        assert_eq!(runs(|items| items / 300.0), [1_000]);
        assert_eq!(runs(|items| items / 1_500.0), [1_000, 3_000, 5_400]);
        let square = runs(|items| (items / 1_000.0).powi(2));
        assert!(square.iter().all(|items| *items < 3_100), "{square:?}");
    }
}

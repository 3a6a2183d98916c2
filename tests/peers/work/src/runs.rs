//! Runs of some steps, on any engine that has them.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{runtime::Handle, time::timeout};

use crate::{Measured, STEPS};

/// One after another before those that count: files are made, statements prepared and threads started by the first.
const WARM_UP: u64 = 5;
/// A run that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is measured, open and with its workers running.
pub trait Engine: Send + Sync + 'static {
    /// Starts a run of [`STEPS`] steps, one after another, that do nothing but are each recorded; ends when its result is
    /// recorded too. No two are of the same number.
    fn run(&self, nth: u64) -> impl Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send;
}

/// When no more runs are started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    Runs(u64),
    Passed(Duration),
}

/// Runs, so many always under way; those that are at the end are waited for. Must not be called from a thread that
/// drives tasks, for it blocks.
pub(crate) fn runs<E: Engine>(
    engine: &Arc<E>,
    on: &Handle,
    at_once: usize,
    until: Until,
) -> Result<Measured, Box<dyn Error>> {
    let next = Arc::new(AtomicU64::new(0));
    on.block_on(call(engine.clone(), next.clone(), Until::Runs(WARM_UP).after(0))).map_err(plain)?;
    next.store(WARM_UP, Ordering::Relaxed);
    let (start, last) = (Instant::now(), until.after(WARM_UP));
    let callers: Vec<_> = (0..at_once).map(|_| on.spawn(call(engine.clone(), next.clone(), last))).collect();
    let mut latencies = Vec::new();
    for caller in callers {
        latencies.extend(on.block_on(caller)?.map_err(plain)?);
    }
    Ok(Measured::of_runs(latencies, start.elapsed(), STEPS))
}

/// The number that is not started any more, and the time from which none is.
#[derive(Clone, Copy)]
struct Last {
    number: u64,
    time: Option<Instant>,
}

impl Until {
    fn after(self, before: u64) -> Last {
        match self {
            Self::Runs(runs) => Last { number: before + runs, time: None },
            Self::Passed(time) => Last { number: u64::MAX, time: Some(Instant::now() + time) },
        }
    }
}

/// One caller: starts a run when the one before is finished, until it is told to stop. Gives the time of each.
async fn call<E: Engine>(
    engine: Arc<E>,
    next: Arc<AtomicU64>,
    last: Last,
) -> Result<Vec<Duration>, Box<dyn Error + Send + Sync>> {
    let mut latencies = Vec::new();
    loop {
        let (nth, before) = (next.fetch_add(1, Ordering::Relaxed), Instant::now());
        if nth >= last.number || last.time.is_some_and(|time| before >= time) {
            return Ok(latencies);
        }
        timeout(PATIENCE, engine.run(nth)).await.map_err(|_| format!("a run took longer than {PATIENCE:?}"))??;
        latencies.push(before.elapsed());
    }
}

fn plain(error: Box<dyn Error + Send + Sync>) -> Box<dyn Error> {
    error
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Mutex};

    use super::*;
    use tokio::runtime::Runtime;

    /// Finishes a run at once, and knows which there were.
    #[derive(Default)]
    struct Instantly(Mutex<Vec<u64>>);

    impl Engine for Instantly {
        async fn run(&self, nth: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
            self.0.lock().unwrap().push(nth);
            Ok(())
        }
    }

    #[test]
    fn every_run_has_a_number_of_its_own_and_those_that_warm_up_do_not_count() {
        let (runtime, engine) = (Runtime::new().unwrap(), Arc::new(Instantly::default()));
        let measured = runs(&engine, runtime.handle(), 64, Until::Runs(1_000)).unwrap();
        let numbers = engine.0.lock().unwrap();
        assert_eq!((measured.items, numbers.len() as u64), (1_000, 1_000 + WARM_UP));
        assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
    }

    #[test]
    fn no_run_is_started_when_the_time_has_passed() {
        let (runtime, engine) = (Runtime::new().unwrap(), Arc::new(Instantly::default()));
        let measured = runs(&engine, runtime.handle(), 2, Until::Passed(Duration::ZERO)).unwrap();
        assert_eq!(measured.items, 0);
    }
}

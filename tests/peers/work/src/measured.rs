//! What one piece of work took.

use std::time::Duration;

/// The figures of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Items, or runs, that were finished in all.
    pub items: u64,
    /// Items per second from the first call until the last was acknowledged. None of runs, which are waited for.
    pub enqueue_per_s: Option<f64>,
    /// Items, but of runs their steps, per second from the first call until the last was finished and recorded.
    pub done_per_s: f64,
    /// Of throughput: one call to enqueue. Of one item alone and of a run: from the call until it is finished and
    /// recorded.
    pub p50: Duration,
    /// The same.
    pub p99: Duration,
}

impl Measured {
    pub(crate) fn new(latencies: Vec<Duration>, enqueued: Duration, done: Duration) -> Self {
        let enqueue_per_s = Some(per_second(latencies.len() as u64, enqueued));
        Self { enqueue_per_s, ..Self::of_runs(latencies, done, 1) }
    }

    /// Of runs that took so long each and all together.
    pub(crate) fn of_runs(mut latencies: Vec<Duration>, done: Duration, steps: u64) -> Self {
        latencies.sort_unstable();
        let percentile = |percent: usize| {
            latencies.get(latencies.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
        };
        let items = latencies.len() as u64;
        let done_per_s = per_second(items * steps, done);
        Self { items, enqueue_per_s: None, done_per_s, p50: percentile(50), p99: percentile(99) }
    }
}

fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_all_items_and_percentiles_of_the_calls_in_order() {
        let shuffled = (0..=100).map(|n| Duration::from_millis(n * 37 % 101)).collect();
        let measured = Measured::new(shuffled, Duration::from_secs(1), Duration::from_secs(2));
        assert_eq!((measured.items, measured.enqueue_per_s, measured.done_per_s), (101, Some(101.0), 50.5));
        assert_eq!((measured.p50.as_millis(), measured.p99.as_millis()), (50, 99));
    }

    #[test]
    fn of_runs_the_steps_are_counted_per_second() {
        let measured = Measured::of_runs(vec![Duration::from_secs(1); 4], Duration::from_secs(2), 10);
        assert_eq!((measured.items, measured.enqueue_per_s, measured.done_per_s), (4, None, 20.0));
    }
}

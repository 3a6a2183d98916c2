//! What one piece of work took.

use std::time::Duration;

/// The figures of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Finished in all.
    pub items: u64,
    /// Items per second from the first call until the last was acknowledged.
    pub enqueue_per_s: f64,
    /// Items per second from the first call until the last was finished and recorded.
    pub done_per_s: f64,
    /// Of throughput: one call to enqueue. Of one item alone: from the call until it is finished and recorded.
    pub p50: Duration,
    /// The same.
    pub p99: Duration,
}

impl Measured {
    pub(crate) fn new(mut latencies: Vec<Duration>, enqueued: Duration, done: Duration) -> Self {
        latencies.sort_unstable();
        let percentile = |percent: usize| {
            latencies.get(latencies.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
        };
        let rate = |time: Duration| latencies.len() as f64 / time.as_secs_f64().max(f64::EPSILON);
        Self {
            items: latencies.len() as u64,
            enqueue_per_s: rate(enqueued),
            done_per_s: rate(done),
            p50: percentile(50),
            p99: percentile(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_all_items_and_percentiles_of_the_calls_in_order() {
        let shuffled = (0..=100).map(|n| Duration::from_millis(n * 37 % 101)).collect();
        let measured = Measured::new(shuffled, Duration::from_secs(1), Duration::from_secs(2));
        assert_eq!((measured.items, measured.enqueue_per_s, measured.done_per_s), (101, 101.0, 50.5));
        assert_eq!((measured.p50.as_millis(), measured.p99.as_millis()), (50, 99));
    }
}

//! The times of a series of calls: latencies in ascending order, and the elapsed time.

use std::time::Duration;

/// The latencies of calls that were made over one span of time.
#[derive(Clone, Debug, Default)]
pub(in crate::load) struct Measured {
    ascending: Vec<Duration>,
    elapsed: Duration,
    /// The number of parts of each call. Rates count parts.
    parts: u64,
}

impl Measured {
    pub(in crate::load) fn new(mut latencies: Vec<Duration>, elapsed: Duration) -> Self {
        latencies.sort_unstable();
        Self { ascending: latencies, elapsed, parts: 1 }
    }

    /// The same calls over another elapsed time.
    pub(in crate::load) fn over(self, elapsed: Duration) -> Self {
        Self { elapsed, ..self }
    }

    /// The same calls, each counted as this many parts in rates.
    pub(in crate::load) fn of_parts(self, parts: u64) -> Self {
        Self { parts, ..self }
    }

    /// Calls per second, or parts per second.
    pub(in crate::load) fn rate(&self) -> f64 {
        (self.ascending.len() as u64 * self.parts) as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }

    pub(in crate::load) fn p50(&self) -> Duration {
        self.percentile(50)
    }

    pub(in crate::load) fn p99(&self) -> Duration {
        self.percentile(99)
    }

    fn percentile(&self, percent: usize) -> Duration {
        let last = self.ascending.len().saturating_sub(1);
        self.ascending.get(last * percent / 100).copied().unwrap_or_default()
    }
}

/// The median. Rounds disturbed by other programs have little influence on a median.
pub(in crate::load) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_calls_in_order_of_latency() {
        let shuffled = (0..=100).map(|n| Duration::from_millis(n * 37 % 101)).collect();
        let measured = Measured::new(shuffled, Duration::from_secs(2));
        assert_eq!(measured.p50(), Duration::from_millis(50));
        assert_eq!(measured.p99(), Duration::from_millis(99));
        assert_eq!(measured.rate(), 50.5);
        assert_eq!(measured.of_parts(10).rate(), 505.0);
        assert_eq!(Measured::default().p99(), Duration::ZERO);
    }

    #[test]
    fn the_median_ignores_a_disturbed_round() {
        assert_eq!(median(vec![0.7, 0.1, 0.6]), 0.6);
        assert!(median(Vec::new()).is_nan());
    }
}

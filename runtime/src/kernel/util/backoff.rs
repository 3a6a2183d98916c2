//! How long to wait before a retry.

use std::time::Duration;

/// Returns `first`, doubled for every failure after the first, and at most `last`. The upper half is
/// random, so that callers that failed together do not come back together.
pub(crate) fn backoff(first: Duration, last: Duration, failures: u32, chance: u64) -> Duration {
    let doubled = first.saturating_mul(1 << failures.saturating_sub(1).min(20));
    let whole = doubled.min(last).as_millis() as u64;
    Duration::from_millis(whole / 2 + chance % (whole / 2 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R4
    #[test]
    fn it_doubles_up_to_its_limit_and_never_waits_longer() {
        let (first, last) = (Duration::from_millis(10), Duration::from_secs(5));
        assert_eq!(backoff(first, last, 1, 5), Duration::from_millis(10));
        assert_eq!(backoff(first, last, 2, 0), Duration::from_millis(10));
        assert_eq!(backoff(first, last, 30, 2_500), last);
        assert!((1..40).all(|failures| backoff(first, last, failures, u64::MAX) <= last));
    }
}

//! Literals in attributes, read at compile time: a bad literal is a compile error with a message of this
//! library.

use std::time::Duration;

use drystone_syntax::duration as syntax;

/// Reads a duration, `"1h 30m"`, for the options of a kind. A text that is not a duration is a compile
/// error.
#[track_caller]
pub const fn duration(text: &str) -> Duration {
    match syntax::millis(text) {
        Ok(millis) => Duration::from_millis(millis),
        Err(wrong) => panic!("{}", wrong.message()),
    }
}

/// Reads a duration that is not zero.
#[track_caller]
pub const fn some_duration(text: &str) -> Duration {
    let span = duration(text);
    assert!(!span.is_zero(), "this must be longer than nothing; write for example \"5s\"");
    span
}

/// Returns the milliseconds of a constant duration, which must be at least one.
#[track_caller]
pub const fn millis(span: Duration) -> u64 {
    let millis = span.as_millis();
    assert!(millis > 0, "this must be at least a millisecond");
    assert!(millis <= u64::MAX as u128, "this duration is too long");
    millis as u64
}

/// Reads a duration, or two with `..` between them: `"1s"`, `"1s..1m"`.
#[track_caller]
pub const fn span(text: &str) -> (Duration, Option<Duration>) {
    match syntax::pause(text) {
        Ok((first, None)) => (Duration::from_millis(first), None),
        Ok((first, Some(last))) => (Duration::from_millis(first), Some(Duration::from_millis(last))),
        Err(wrong) => panic!("{}", wrong.message()),
    }
}

/// Checks that a count is not zero.
#[track_caller]
pub const fn count(number: u64) -> u64 {
    assert!(number > 0, "this must be at least 1");
    number
}

/// Checks that a count of executions is not zero and not too large.
#[track_caller]
pub const fn count_u32(number: u64) -> u32 {
    assert!(number <= u32::MAX as u64, "this is more than 4,294,967,295");
    count(number) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_spans_are_read() {
        assert_eq!(duration("1h 30 minutes"), Duration::from_secs(5_400));
        assert_eq!(span("250ms"), (Duration::from_millis(250), None));
        assert_eq!(span("1s .. 1m"), (Duration::from_secs(1), Some(Duration::from_secs(60))));
    }

    #[test]
    fn what_is_no_duration_panics_and_so_does_not_compile() {
        for text in ["", "5", "s", "5x", "1s..", "2m..1m", "1s,2s", "99999999999999999999s", "300000000000d"] {
            assert!(std::panic::catch_unwind(|| span(text)).is_err(), "{text}");
        }
    }
}

//! Literals in attributes, read at compile time: a bad literal is a compile error with a message of this
//! library.

use std::time::Duration;

/// Reads a duration, `"1h 30m"`, for the options of a kind. A text that is not a duration is a compile
/// error.
#[track_caller]
pub const fn duration(text: &str) -> Duration {
    let (span, end) = read(text.as_bytes(), 0);
    assert!(end == text.len(), "this is not a duration; write for example \"59m\" or \"1h 30m\"");
    span
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
    let bytes = text.as_bytes();
    let (first, end) = read(bytes, 0);
    if end == bytes.len() {
        return (first, None);
    }
    assert!(
        end + 2 <= bytes.len() && bytes[end] == b'.' && bytes[end + 1] == b'.',
        "this is not a pause; write for example \"1m\", or \"1s..1m\" for one that doubles"
    );
    let (last, end) = read(bytes, end + 2);
    assert!(end == bytes.len(), "this is not a pause; write for example \"1m\", or \"1s..1m\" for one that doubles");
    assert!(
        first.as_millis() <= last.as_millis(),
        "the first pause is longer than the last; write for example \"1s..1m\""
    );
    (first, Some(last))
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

/// Reads numbers with units up to any other character. Returns the duration and where it ended.
#[track_caller]
const fn read(bytes: &[u8], mut at: usize) -> (Duration, usize) {
    let (mut total, mut parts) = (0_u64, 0);
    loop {
        at = skip_spaces(bytes, at);
        if at == bytes.len() || !bytes[at].is_ascii_digit() {
            assert!(parts > 0, "a number is expected here; write for example \"59m\" or \"1h 30m\"");
            return (Duration::from_millis(total), at);
        }
        let (number, end) = digits(bytes, at);
        let (unit, end) = unit(bytes, skip_spaces(bytes, end));
        let Some(part) = number.checked_mul(unit) else { panic!("this duration is too long") };
        let Some(sum) = total.checked_add(part) else { panic!("this duration is too long") };
        (total, at, parts) = (sum, end, parts + 1);
    }
}

const fn skip_spaces(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] == b' ' {
        at += 1;
    }
    at
}

#[track_caller]
const fn digits(bytes: &[u8], mut at: usize) -> (u64, usize) {
    let mut number = 0_u64;
    while at < bytes.len() && bytes[at].is_ascii_digit() {
        let Some(shifted) = number.checked_mul(10) else { panic!("this number is too long") };
        let Some(sum) = shifted.checked_add((bytes[at] - b'0') as u64) else { panic!("this number is too long") };
        (number, at) = (sum, at + 1);
    }
    (number, at)
}

/// Reads the name of a unit. Returns its milliseconds and where the name ended.
#[track_caller]
const fn unit(bytes: &[u8], from: usize) -> (u64, usize) {
    let mut end = from;
    while end < bytes.len() && bytes[end].is_ascii_alphabetic() {
        end += 1;
    }
    let (_, rest) = bytes.split_at(from);
    let (name, _) = rest.split_at(end - from);
    let millis = match name {
        b"ms" | b"millisecond" | b"milliseconds" => 1,
        b"s" | b"sec" | b"second" | b"seconds" => 1_000,
        b"m" | b"min" | b"minute" | b"minutes" => 60_000,
        b"h" | b"hour" | b"hours" => 3_600_000,
        b"d" | b"day" | b"days" => 86_400_000,
        _ => panic!("this is not a unit; write for example \"59m\" or \"59 minutes\""),
    };
    (millis, end)
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

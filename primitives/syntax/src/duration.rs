//! Durations as people write them: `59m`, `1h 30m`, `250 ms`; and pauses: `1m`, `1s..1m`.
//!
//! The macros read the literals that they know, and report a mistake with the words that are wrong. Options of
//! kinds are read in a `const`, where a message cannot quote the text.

/// Why a text is not a duration. Places are counted in bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationError {
    /// The text is empty.
    Empty,
    /// There is no number where one is expected.
    Number {
        /// Where it is expected.
        at: usize,
    },
    /// A number has no unit, or its unit is unknown.
    Unit {
        /// Where the unit begins.
        from: usize,
        /// Where the unit ends; equal to `from` if the unit is missing.
        until: usize,
    },
    /// The milliseconds do not fit into 64 bits.
    TooLong,
}

/// Why a text is not a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseError {
    /// The only duration, or the first of two, is wrong.
    First(DurationError),
    /// The second of two durations is wrong.
    Last(DurationError),
    /// The first pause is longer than the last.
    Shrinks,
}

/// Reads a duration. Returns its milliseconds.
pub const fn millis(text: &str) -> Result<u64, DurationError> {
    let bytes = text.as_bytes();
    let (mut total, mut at) = (0_u64, skip_spaces(bytes, 0));
    if at == bytes.len() {
        return Err(DurationError::Empty);
    }
    while at < bytes.len() {
        let Some((count, end)) = number(bytes, at) else { return Err(DurationError::TooLong) };
        if end == at {
            return Err(DurationError::Number { at });
        }
        let from = skip_spaces(bytes, end);
        let until = end_of_word(bytes, from);
        let Some(unit) = millis_of(bytes.split_at(until).0.split_at(from).1) else {
            return Err(DurationError::Unit { from, until });
        };
        let Some(part) = count.checked_mul(unit) else { return Err(DurationError::TooLong) };
        let Some(sum) = total.checked_add(part) else { return Err(DurationError::TooLong) };
        (total, at) = (sum, skip_spaces(bytes, until));
    }
    Ok(total)
}

/// Reads a pause: a duration, or two with `..` between them. Returns their milliseconds.
pub const fn pause(text: &str) -> Result<(u64, Option<u64>), PauseError> {
    let Some((first, last)) = halves(text) else {
        return match millis(text) {
            Ok(only) => Ok((only, None)),
            Err(wrong) => Err(PauseError::First(wrong)),
        };
    };
    match (millis(first), millis(last)) {
        (Err(wrong), _) => Err(PauseError::First(wrong)),
        (_, Err(wrong)) => Err(PauseError::Last(wrong)),
        (Ok(first), Ok(last)) if first > last => Err(PauseError::Shrinks),
        (Ok(first), Ok(last)) => Ok((first, Some(last))),
    }
}

impl DurationError {
    /// Returns the message for a `const`.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Empty => "the duration is empty; write for example \"5s\"",
            Self::Number { .. } => "this is not a duration; write for example \"59m\" or \"1h 30m\"",
            Self::Unit { .. } => "this is not a unit; write for example \"59m\" or \"59 minutes\"",
            Self::TooLong => "this duration is too long",
        }
    }

    /// Returns the message with the words of `text`, which was read.
    pub fn message_of(self, text: &str) -> String {
        match self {
            Self::Empty => self.message().to_owned(),
            Self::Number { at } => {
                let rest = &text[at..];
                format!("`{text}`: a number is expected at `{rest}`; write for example \"59m\" or \"59 minutes\"")
            }
            Self::Unit { from, until } => match &text[from..until] {
                "" if text.contains('.') => format!("`{text}`: numbers are whole; write for example \"1h 30m\""),
                "" => format!("`{text}` has no unit; write for example \"59m\" or \"59 minutes\""),
                unit => format!("`{text}`: `{unit}` is not a unit; write for example \"59m\" or \"59 minutes\""),
            },
            Self::TooLong => format!("`{text}` is too long"),
        }
    }
}

impl PauseError {
    /// Returns the message for a `const`.
    pub const fn message(self) -> &'static str {
        match self {
            Self::First(wrong) | Self::Last(wrong) => wrong.message(),
            Self::Shrinks => "the first pause is longer than the last; write for example \"1s..1m\"",
        }
    }

    /// Returns the message with the words of `text`, which was read.
    pub fn message_of(self, text: &str) -> String {
        let (first, last) = halves(text).unwrap_or((text, text));
        match self {
            Self::First(wrong) => wrong.message_of(first),
            Self::Last(wrong) => wrong.message_of(last),
            Self::Shrinks => self.message().to_owned(),
        }
    }
}

/// Returns the texts before and after the first `..`.
const fn halves(text: &str) -> Option<(&str, &str)> {
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at + 1 < bytes.len() {
        if bytes[at] == b'.' && bytes[at + 1] == b'.' {
            return Some((text.split_at(at).0, text.split_at(at + 2).1));
        }
        at += 1;
    }
    None
}

const fn millis_of(unit: &[u8]) -> Option<u64> {
    Some(match unit {
        b"ms" | b"millisecond" | b"milliseconds" => 1,
        b"s" | b"sec" | b"second" | b"seconds" => 1_000,
        b"m" | b"min" | b"minute" | b"minutes" => 60_000,
        b"h" | b"hour" | b"hours" => 3_600_000,
        b"d" | b"day" | b"days" => 86_400_000,
        _ => return None,
    })
}

const fn skip_spaces(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at].is_ascii_whitespace() {
        at += 1;
    }
    at
}

/// Reads digits. Returns the number and where it ended; `None` if the number is too long.
const fn number(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut number = 0_u64;
    while at < bytes.len() && bytes[at].is_ascii_digit() {
        let Some(shifted) = number.checked_mul(10) else { return None };
        let Some(sum) = shifted.checked_add((bytes[at] - b'0') as u64) else { return None };
        (number, at) = (sum, at + 1);
    }
    Some((number, at))
}

/// Returns where a word ends. All letters beyond ASCII belong to the word, so that no letter is cut in two.
const fn end_of_word(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && (bytes[at].is_ascii_alphabetic() || !bytes[at].is_ascii()) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        millis(text).unwrap_err().message_of(text)
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(millis("59m"), Ok(59 * 60_000));
        assert_eq!(millis(" 1h 30 minutes "), Ok(90 * 60_000));
        assert_eq!(millis("250ms"), Ok(250));
        assert_eq!(millis("0s"), Ok(0));
    }

    #[test]
    fn pauses_are_one_duration_or_two() {
        assert_eq!(pause("250ms"), Ok((250, None)));
        assert_eq!(pause("1s .. 1m"), Ok((1_000, Some(60_000))));
        assert_eq!(pause("1s..1s"), Ok((1_000, Some(1_000))));
        assert_eq!(pause("2m..1m"), Err(PauseError::Shrinks));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        assert!(wrong("59 minuts").contains("`minuts` is not a unit"));
        assert!(wrong("59 µs").contains("`µs` is not a unit"));
        assert!(wrong("59").contains("has no unit"));
        assert!(wrong("1.5h").contains("numbers are whole"));
        assert!(wrong("m").contains("a number is expected"));
        assert!(wrong("2 sec onds").contains("a number is expected at `onds`"));
        assert!(wrong("").contains("empty") && wrong("  ").contains("empty"));
        assert!(wrong("-5s").contains("a number is expected"));
        assert!(wrong("99999999999999999999s").contains("too long"));
        assert!(wrong("300000000000d").contains("too long"));
    }

    #[test]
    fn of_two_pauses_the_wrong_one_is_named() {
        let wrong = |text: &str| pause(text).unwrap_err().message_of(text);
        assert!(wrong("1x..1m").starts_with("`1x`") && wrong("1s..1x").starts_with("`1x`"));
        assert!(wrong("1s..").contains("empty") && wrong("1s,2s").contains("at `,2s`"));
        assert!(wrong("1m..1s").contains("longer than the last"));
    }
}

//! A cron expression, read at compile time: `minute hour day month weekday`, or six fields with the second
//! first.
//!
//! A field is `*`, a value, a range `1-5`, a step `*/15` or `10-50/20`, or a list of these. Months and
//! weekdays have names, `JAN`, `MON`; Sunday is 0 and 7; `L` is the last day of the month. `@hourly`,
//! `@daily`, `@weekly`, `@monthly` and `@yearly` mean what they say.

#![expect(clippy::result_large_err, reason = "there is no heap while the program is compiled")]

use super::words::Words;

/// A parsed expression: one bit per value of each field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expression {
    /// Second, minute, hour, day, month, weekday.
    pub(crate) masks: [u64; 6],
}

/// A field, by the name that people use.
struct Field {
    name: &'static str,
    min: u64,
    max: u64,
    /// The names of the values, three letters each.
    names: &'static [u8],
}

const DAY: usize = 3;
const MONTH: usize = 4;
const WEEKDAY: usize = 5;

/// The bit of a day field for the last day of the month.
pub(crate) const LAST_DAY: u64 = 1;

const FIELDS: [Field; 6] = [
    Field { name: "second", min: 0, max: 59, names: b"" },
    Field { name: "minute", min: 0, max: 59, names: b"" },
    Field { name: "hour", min: 0, max: 23, names: b"" },
    Field { name: "day", min: 1, max: 31, names: b"" },
    Field { name: "month", min: 1, max: 12, names: b"JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC" },
    Field { name: "weekday", min: 0, max: 7, names: b"SUNMONTUEWEDTHUFRISAT" },
];

/// Unwraps a `Result`, or returns its error. `?` does not work in a `const fn`.
macro_rules! get {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(wrong) => return Err(wrong),
        }
    };
}

impl Expression {
    /// Reads an expression. The error says what is wrong, and what to write instead.
    pub(crate) const fn parse(text: &str) -> Result<Self, Words> {
        let text = text.as_bytes();
        if !text.is_empty() && text[0] == b'@' {
            return alias(text);
        }
        let (places, count) = split(text);
        if count != 5 && count != 6 {
            return Err(wrong_count(count));
        }
        let mut masks = [1, 0, 0, 0, 0, 0];
        let mut index = 0;
        while index < count {
            let field = index + 6 - count;
            masks[field] = get!(read_field(part(text, places[index]), field));
            index += 1;
        }
        let read = Self { masks };
        if read.never_comes() { Err(NEVER) } else { Ok(read) }
    }

    /// Returns all values of a field.
    pub(crate) const fn all(field: usize) -> u64 {
        let Field { min, max, .. } = FIELDS[field];
        let max = if field == WEEKDAY { 6 } else { max };
        ((1 << (max + 1)) - 1) & !((1 << min) - 1)
    }

    /// Whether a field allows all of its values.
    pub(crate) const fn is_open(&self, field: usize) -> bool {
        self.masks[field] & Self::all(field) == Self::all(field)
    }

    /// Whether no named month has a named day. A weekday comes in every month, and a match of either is
    /// enough.
    const fn never_comes(&self) -> bool {
        let days = self.masks[DAY];
        if !self.is_open(WEEKDAY) || days & LAST_DAY != 0 {
            return false;
        }
        let mut month = 1;
        while month <= 12 {
            let longest = match month {
                2 => 29,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            let has_day = days & ((1 << (longest + 1)) - 1) != 0;
            if self.masks[MONTH] & (1 << month) != 0 && has_day {
                return false;
            }
            month += 1;
        }
        true
    }
}

const NEVER: Words = Words::new().text("this never comes: no month that it names has such a day");

const fn alias(text: &[u8]) -> Result<Expression, Words> {
    let meant = match text {
        b"@yearly" | b"@annually" => "0 0 1 1 *",
        b"@monthly" => "0 0 1 * *",
        b"@weekly" => "0 0 * * 0",
        b"@daily" | b"@midnight" => "0 0 * * *",
        b"@hourly" => "0 * * * *",
        _ => {
            let names = " is none of @hourly, @daily, @weekly, @monthly, @yearly";
            return Err(Words::new().quoted(text).text(names));
        }
    };
    Expression::parse(meant)
}

const fn wrong_count(count: usize) -> Words {
    let fields = "it has five fields, minute hour day month weekday (or six, with the second first), not ";
    Words::new().text(fields).number(count as u64).text("; write for example \"0 3 * * *\" for three at night")
}

/// Returns where each field is, and how many fields there are.
const fn split(text: &[u8]) -> ([(usize, usize); 6], usize) {
    let (mut places, mut count, mut at) = ([(0, 0); 6], 0, 0);
    while at < text.len() {
        if text[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let from = at;
        while at < text.len() && !text[at].is_ascii_whitespace() {
            at += 1;
        }
        if count < 6 {
            places[count] = (from, at);
        }
        count += 1;
    }
    (places, count)
}

const fn part(text: &[u8], (from, until): (usize, usize)) -> &[u8] {
    text.split_at(until).0.split_at(from).1
}

/// Returns the first place of a letter.
const fn find(text: &[u8], letter: u8) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        if text[at] == letter {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Reads a list: the values of all its parts.
const fn read_field(text: &[u8], field: usize) -> Result<u64, Words> {
    let (mut mask, mut from) = (0, 0);
    loop {
        let rest = part(text, (from, text.len()));
        let end = match find(rest, b',') {
            Some(end) => end,
            None => rest.len(),
        };
        mask |= get!(read_part(part(rest, (0, end)), field));
        from += end + 1;
        if from > text.len() {
            break;
        }
    }
    // Sunday is also 7.
    Ok(if field == WEEKDAY && mask & (1 << 7) != 0 { (mask | 1) & Expression::all(WEEKDAY) } else { mask })
}

/// Reads a part of a list: `*`, `5`, `1-5`, `*/15`, `10-50/20`, `L`.
const fn read_part(text: &[u8], field: usize) -> Result<u64, Words> {
    if field == DAY && matches!(text, b"L" | b"l") {
        return Ok(LAST_DAY);
    }
    let (range, step) = match find(text, b'/') {
        Some(at) => (part(text, (0, at)), get!(read_step(text, part(text, (at + 1, text.len()))))),
        None => (text, 1),
    };
    let Field { min, max, .. } = FIELDS[field];
    let (first, last) = match (range, find(range, b'-')) {
        (b"*", _) => (min, if field == WEEKDAY { 6 } else { max }),
        (_, Some(at)) => {
            let first = get!(read_value(part(range, (0, at)), field));
            (first, get!(read_value(part(range, (at + 1, range.len())), field)))
        }
        (_, None) => {
            let value = get!(read_value(range, field));
            if step != 1 || range.len() != text.len() {
                let so = ": a step goes through a range; write for example \"*/15\" or \"10-50/20\"";
                return Err(Words::new().quoted(text).text(so));
            }
            (value, value)
        }
    };
    if first > last {
        return Err(Words::new().quoted(text).text(" goes backwards; write the two ranges that it stands for"));
    }
    Ok(spread(first, last, step))
}

const fn spread(first: u64, last: u64, step: u64) -> u64 {
    let (mut mask, mut value) = (0, first);
    while value <= last {
        mask |= 1 << value;
        value += step;
    }
    mask
}

const fn read_step(whole: &[u8], text: &[u8]) -> Result<u64, Words> {
    match number(text) {
        Some(step) if step > 0 => Ok(step),
        _ => Err(Words::new().quoted(whole).text(": a step is a number from 1, \"*/15\"")),
    }
}

const fn read_value(text: &[u8], field: usize) -> Result<u64, Words> {
    let Field { name, min, max, names } = FIELDS[field];
    let found = match number(text) {
        Some(number) => Some(number),
        None => named(text, names, min),
    };
    match found {
        Some(value) if value >= min && value <= max => Ok(value),
        Some(_) => {
            let words = Words::new().quoted(text).text(" is no ").text(name).text(": they go from ");
            Err(words.number(min).text(" to ").number(max))
        }
        None => {
            let words = Words::new().quoted(text).text(" is no ").text(name).text("; write for example \"*\", \"");
            Err(words.number(min).text("\" or \"").number(min).text("-").number(min + 4).text("\""))
        }
    }
}

/// Reads a number of at most four digits, which is more than any field has.
const fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 4 {
        return None;
    }
    let (mut number, mut at) = (0, 0);
    while at < text.len() {
        if !text[at].is_ascii_digit() {
            return None;
        }
        number = number * 10 + (text[at] - b'0') as u64;
        at += 1;
    }
    Some(number)
}

/// Returns the value of a name of three letters.
const fn named(text: &[u8], names: &[u8], min: u64) -> Option<u64> {
    if text.len() != 3 {
        return None;
    }
    let mut at = 0;
    while at < names.len() {
        if part(names, (at, at + 3)).eq_ignore_ascii_case(text) {
            return Some(min + at as u64 / 3);
        }
        at += 3;
    }
    None
}

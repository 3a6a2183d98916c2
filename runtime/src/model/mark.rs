//! Marks: random numbers that make work ids globally unique.

use std::{fmt, str::FromStr};

use super::Millis;

/// A random number that is drawn at each opening of a store. Runs, items, batches and other recorded things
/// keep the mark they were recorded under, and their work ids contain it. So two files, or two copies of one
/// file, produce different work ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(u64);

/// The time of a turn, and the mark of the current opening of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The time.
    pub at: Millis,
    /// The mark that everything recorded by this turn gets.
    pub mark: Mark,
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The length of a mark as text, in base-62 digits: 62¹¹ is more than 2⁶⁴.
const LENGTH: usize = 11;

impl Mark {
    /// Makes a mark from a number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number of the mark.
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut left, mut text) = (self.0, [0; LENGTH]);
        for digit in text.iter_mut().rev() {
            *digit = DIGITS[(left % 62) as usize];
            left /= 62;
        }
        out.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("a mark is {LENGTH} digits and letters; got `{text}`");
        let mut number: u64 = 0;
        for byte in text.bytes() {
            let digit = DIGITS.iter().position(|digit| *digit == byte).ok_or_else(wrong)?;
            number = number.checked_mul(62).and_then(|number| number.checked_add(digit as u64)).ok_or_else(wrong)?;
        }
        if text.len() == LENGTH { Ok(Self(number)) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E14
    #[test]
    fn a_mark_is_read_as_it_is_written() {
        for number in [0, 1, 61, 62, 0x0123_4567_89ab_cdef, u64::MAX] {
            let text = Mark::new(number).to_string();
            assert_eq!((text.len(), text.parse()), (LENGTH, Ok(Mark::new(number))), "{text}");
        }
        for wrong in ["", "0", "0000000000-", "zzzzzzzzzzz", "000000000000"] {
            assert!(wrong.parse::<Mark>().is_err(), "{wrong}");
        }
    }
}

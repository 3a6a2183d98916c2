//! An error as it is reported and stored: its message and its causes.

use std::{error::Error, fmt};

use serde::{Deserialize, Serialize};

/// Any error, reduced to text for reports and records. `?` turns every error into a
/// `Failure`, also those of `anyhow`.
///
/// It does not implement [`std::error::Error`] itself, because it could then not be made from every error.
///
/// ```
/// fn parse(text: &str) -> Result<u32, drystone::Failure> {
///     if text.is_empty() {
///         return Err("nothing to parse".into());
///     }
///     Ok(text.parse()?)
/// }
/// assert_eq!(parse("").unwrap_err().message(), "nothing to parse");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    chain: Vec<String>,
}

impl Failure {
    /// Returns the message of the error.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the messages of its causes, the nearest first.
    pub fn chain(&self) -> &[String] {
        &self.chain
    }

    /// Shortens the failure to about a kilobyte, because a record must not grow with the text of an error.
    pub(crate) fn shortened(mut self) -> Self {
        cut(&mut self.message, MESSAGE_BYTES_MAX);
        self.chain.truncate(CAUSES_MAX);
        self.chain.iter_mut().for_each(|cause| cut(cause, CAUSE_BYTES_MAX));
        self
    }
}

const MESSAGE_BYTES_MAX: usize = 512;
const CAUSE_BYTES_MAX: usize = 128;
const CAUSES_MAX: usize = 4;

/// Cuts a text to at most `most` bytes, between two characters.
fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let causes = std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
        Self { message: error.to_string(), chain: causes.map(ToString::to_string).collect() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        self.chain.iter().try_for_each(|cause| write!(out, ": {cause}"))
    }
}

/// A type without values: the error of calls that have no error of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Never {}

impl fmt::Display for Never {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Error for Never {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_causes() {
        let cause = std::io::Error::other("the socket is closed");
        let failure = Failure::from(std::io::Error::other(cause));
        assert_eq!(failure.message(), "the socket is closed");
        assert_eq!(Failure::from("plain").to_string(), "plain");
    }

    #[test]
    fn a_long_error_is_cut_between_two_characters() {
        let long = Failure { message: "é".repeat(900), chain: vec!["ß".repeat(900); 9] }.shortened();
        assert!(long.message.len() < 520 && long.message.ends_with("é…"), "{long}");
        assert!(long.chain.len() == 4 && long.chain[0].len() < 136, "{long}");
    }
}

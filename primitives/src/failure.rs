//! An error that is only told: its message and what caused it.

use std::{error::Error, fmt};

use serde::{Deserialize, Serialize};

/// Any error, as it is told and stored. `?` turns every error into it, `anyhow`'s too.
///
/// It does not implement [`std::error::Error`] itself: that is what lets it take all others.
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
    /// What happened.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What caused it, and what caused that.
    pub fn chain(&self) -> &[String] {
        &self.chain
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

/// No value: the error of calls that have none of their own.
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
}

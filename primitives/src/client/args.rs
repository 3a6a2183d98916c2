//! The input of a call: its parameters in order, as one JSON array.

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::{
    Stored,
    values::stored::{Codec, stored},
};

/// The first capacity of an input. Most inputs are shorter, so their text is not moved while it is written.
const TEXT_BYTES: usize = 256;

/// Parameters that are being encoded.
#[derive(Clone, Debug, Default)]
pub struct Args {
    text: Vec<u8>,
    error: Option<String>,
    /// Why a parameter does not read back. Only recorded parameters are checked.
    unreadable: Option<String>,
    is_recorded: bool,
}

impl Args {
    /// No parameters yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No parameters yet. Recorded parameters are checked: each parameter must read back.
    pub fn recorded() -> Self {
        Self { is_recorded: true, ..Self::default() }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn put<T: Stored>(self, value: &T) -> Self {
        self.with(stored(), value)
    }

    /// Adds a parameter, encoded by `codec`.
    #[must_use]
    pub fn with<T>(mut self, codec: Codec<T>, value: &T) -> Self {
        if self.text.is_empty() {
            self.text = Vec::with_capacity(TEXT_BYTES);
        }
        self.text.push(if self.text.is_empty() { b'[' } else { b',' });
        let from = self.text.len();
        if let Err(reason) = codec.append(value, &mut self.text) {
            self.error.get_or_insert(reason);
        } else if self.is_recorded && self.unreadable.is_none() {
            // Only a text with `null`, which is how a NaN is written, is read back: every replay encodes the
            // input again, so the check must be cheap.
            self.unreadable = codec.check_null(&self.text[from..]).err();
        }
        self
    }

    /// Takes the reason why a parameter does not read back and so cannot be recorded.
    pub(crate) fn unreadable(&mut self) -> Option<String> {
        self.unreadable.take()
    }

    /// An input that cannot be encoded, with the reason.
    pub(crate) fn unwritable(reason: String) -> Self {
        Self { text: vec![b'['], error: Some(reason), ..Self::default() }
    }

    /// Returns the bytes, or the reason why a parameter could not be encoded.
    pub fn finish(mut self) -> Result<Bytes, String> {
        if self.text.is_empty() {
            return Ok(Bytes::from_static(b"[]"));
        }
        self.text.push(b']');
        self.error.map_or(Ok(self.text.into()), Err)
    }
}

/// Parameters that are being read.
#[derive(Debug)]
pub struct Params<'a> {
    values: Values<'a>,
    count: usize,
}

#[derive(Debug)]
enum Values<'a> {
    /// A single parameter, read in place between its brackets and not checked before `take`.
    Single(&'a [u8]),
    Several(std::vec::IntoIter<&'a RawValue>),
}

impl<'a> Params<'a> {
    /// Reads `count` parameters from `bytes`. Another number of parameters is an error.
    pub fn read(bytes: &'a [u8], count: usize) -> Result<Self, String> {
        let values = if count == 1 { Values::Single(bytes) } else { Values::several(bytes, count)? };
        Ok(Self { values, count })
    }

    /// Reads the only parameter.
    pub fn one<T: Stored>(bytes: &'a [u8]) -> Result<T, String> {
        Self::read(bytes, 1)?.take()
    }

    /// Reads two parameters.
    pub fn two<T: Stored, U: Stored>(bytes: &'a [u8]) -> Result<(T, U), String> {
        let mut params = Self::read(bytes, 2)?;
        Ok((params.take()?, params.take()?))
    }

    /// Takes the next parameter.
    pub fn take<T: Stored>(&mut self) -> Result<T, String> {
        self.take_with(stored())
    }

    /// Takes the next parameter, read by `codec`.
    pub fn take_with<T>(&mut self, codec: Codec<T>) -> Result<T, String> {
        let read = codec.reader();
        if let Values::Single(bytes) = self.values {
            if let Some(value) = between_brackets(bytes).and_then(|value| read(value).ok()) {
                self.values = Values::Several(Vec::new().into_iter());
                return Ok(value);
            }
            // The value is of another type, or there are more or fewer values: the slow path finds out
            // which.
            self.values = Values::several(bytes, self.count)?;
        }
        let Values::Several(values) = &mut self.values else { return Err("a parameter is missing".into()) };
        let number = self.count - values.len();
        let value = values.next().ok_or("a parameter is missing")?;
        read(value.get().as_bytes()).map_err(|reason| format!("parameter {number}: {reason}"))
    }
}

impl<'a> Values<'a> {
    fn several(bytes: &'a [u8], count: usize) -> Result<Self, String> {
        let values: Vec<&RawValue> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if values.len() != count {
            return Err(format!("{count} parameters are expected, {} were given", values.len()));
        }
        Ok(Self::Several(values.into_iter()))
    }
}

/// Returns the text between the brackets of an array. If that text is read to its end as a single value, it
/// is the array's only element.
fn between_brackets(bytes: &[u8]) -> Option<&[u8]> {
    bytes.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_back_in_order_and_by_number() {
        let bytes = Args::new().put(&1_u32).with(stored(), &"two".to_owned()).finish().unwrap();
        assert_eq!(bytes, r#"[1,"two"]"#);
        let mut params = Params::read(&bytes, 2).unwrap();
        assert_eq!(params.take::<u32>(), Ok(1));
        assert!(params.take::<u32>().unwrap_err().starts_with("parameter 1: invalid type"));
        assert!(Params::read(&bytes, 3).unwrap_err().contains("3 parameters"));
        assert_eq!(Args::new().finish().unwrap(), "[]");
    }

    #[test]
    fn a_single_parameter_is_one_and_no_more() {
        let read =
            |text: &'static str| Params::read(text.as_bytes(), 1).and_then(|mut params| params.take::<Vec<u32>>());
        assert_eq!(read(" [ [1, 2] ] "), Ok(vec![1, 2]));
        assert!(read("[[1],[2]]").unwrap_err().contains("1 parameters are expected, 2 were given"));
        assert!(read("[]").unwrap_err().contains("0 were given"));
        assert!(read("[[1,true]]").unwrap_err().starts_with("parameter 0: [1]: invalid type"));
        assert!(read("[[1]").is_err() && read("[[1]] 7").is_err() && read("null").is_err());
        let mut params = Params::read(b"[1]", 1).unwrap();
        assert_eq!((params.take::<u32>(), params.take::<u32>()), (Ok(1), Err("a parameter is missing".to_owned())));
    }
}

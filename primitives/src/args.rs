//! The input of a call: its parameters in order, as one JSON array.

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::{
    Stored, decode,
    stored::{Codec, stored},
};

/// Parameters on their way out.
#[derive(Debug, Default)]
pub struct Args {
    text: Vec<u8>,
    error: Option<String>,
}

impl Args {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the next one.
    #[must_use]
    pub fn put<T: Stored>(mut self, value: &T) -> Self {
        self.text.push(if self.text.is_empty() { b'[' } else { b',' });
        if let Err(error) = serde_json::to_writer(&mut self.text, value) {
            self.error.get_or_insert_with(|| error.to_string());
        }
        self
    }

    /// With the next one, written by `codec`.
    #[must_use]
    pub fn with<T>(mut self, codec: Codec<T>, value: &T) -> Self {
        self.text.push(if self.text.is_empty() { b'[' } else { b',' });
        match codec.write(value) {
            Ok(text) => self.text.extend_from_slice(&text),
            Err(reason) => drop(self.error.get_or_insert(reason)),
        }
        self
    }

    /// The bytes, or why a parameter could not be written.
    pub fn finish(mut self) -> Result<Bytes, String> {
        if self.text.is_empty() {
            self.text.push(b'[');
        }
        self.text.push(b']');
        self.error.map_or(Ok(self.text.into()), Err)
    }
}

/// Parameters on their way in.
#[derive(Debug)]
pub struct Params {
    values: std::vec::IntoIter<Box<RawValue>>,
    count: usize,
}

impl Params {
    /// The parameters in `bytes`, of which there must be `count`.
    pub fn read(bytes: &[u8], count: usize) -> Result<Self, String> {
        let values: Vec<Box<RawValue>> = decode(bytes)?;
        if values.len() != count {
            return Err(format!("{count} parameters are expected, {} were given", values.len()));
        }
        Ok(Self { values: values.into_iter(), count })
    }

    /// The next one.
    pub fn take<T: Stored>(&mut self) -> Result<T, String> {
        self.take_with(stored())
    }

    /// The next one, read by `codec`.
    pub fn take_with<T>(&mut self, codec: Codec<T>) -> Result<T, String> {
        let number = self.count - self.values.len();
        let value = self.values.next().ok_or("a parameter is missing")?;
        codec.read(value.get().as_bytes()).map_err(|reason| format!("parameter {number}: {reason}"))
    }
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
}

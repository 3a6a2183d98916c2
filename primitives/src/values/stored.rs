//! How values are stored: as JSON, so that `sqlite3 app.db` shows them.

use std::{any::type_name, cell::Cell, fmt};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use super::json;

/// A type that serde can write and read back, and that can move between threads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored: it is not `Serialize + Deserialize`",
    label = "not `Serialize + Deserialize`",
    note = "add `#[derive(serde::Serialize, serde::Deserialize)]` to it; it and every type in it needs both, and must be `Send + 'static`"
)]
pub trait Stored: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Stored for T {}

/// An error for a caller. The error is stored and sent, so its type needs serde.
#[diagnostic::on_unimplemented(
    message = "the error `{Self}` cannot travel to the caller: it is not `Serialize + Deserialize`",
    label = "not `Serialize + Deserialize`",
    note = "derive both for it, or return `Result<_, drystone::Failure>`: `?` turns any error (anyhow's too) into a `Failure`"
)]
pub trait StoredError: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> StoredError for T {}

/// The functions that write and read a type, for code that names the type elsewhere.
///
/// Generated code gets a codec in one way only, so a type without serde is one error wherever
/// it is used.
pub struct Codec<T> {
    write: fn(&T) -> Result<Bytes, String>,
    append: fn(&T, &mut Vec<u8>) -> Result<(), String>,
    read: fn(&[u8]) -> Result<T, String>,
    read_part: fn(&str, &[u8]) -> Result<T, String>,
}

impl<T> Clone for Codec<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Codec<T> {}

impl<T> Codec<T> {
    /// Encodes a value.
    pub fn write(self, value: &T) -> Result<Bytes, String> {
        (self.write)(value)
    }

    /// Encodes a value that will be recorded, and reads it back: a record that does not read back would stop
    /// every replay (W5).
    pub(crate) fn write_recorded(self, value: &T) -> Result<Bytes, String> {
        let bytes = (self.write)(value)?;
        self.check(&bytes)?;
        Ok(bytes)
    }

    /// Encodes an answer. The answer is read back only if it contains `null`, which is how a NaN is written.
    /// So the check costs next to nothing.
    pub(crate) fn write_answer(self, value: &T) -> Result<Bytes, String> {
        let bytes = (self.write)(value)?;
        self.check_null(&bytes)?;
        Ok(bytes)
    }

    /// Checks that a text reads back, if it contains `null`.
    pub(crate) fn check_null(&self, text: &[u8]) -> Result<(), String> {
        if has_null(text) { self.check(text) } else { Ok(()) }
    }

    /// Checks that a text reads back.
    pub(crate) fn check(&self, text: &[u8]) -> Result<(), String> {
        (self.read)(text).map(drop).map_err(|reason| not_read_back(text, &reason))
    }

    /// Appends an encoded value to `text`. After an error the appended part must not be used.
    pub fn append(&self, value: &T, text: &mut Vec<u8>) -> Result<(), String> {
        (self.append)(value, text)
    }

    /// Reads a value.
    pub fn read(self, bytes: &[u8]) -> Result<T, String> {
        (self.read)(bytes)
    }

    /// Reads a value that is a part of something else; an error names that part.
    pub(crate) fn read_part(self, part: &str, bytes: &[u8]) -> Result<T, String> {
        (self.read_part)(part, bytes)
    }

    /// Returns the function that reads.
    pub fn reader(self) -> fn(&[u8]) -> Result<T, String> {
        self.read
    }
}

impl<T> fmt::Debug for Codec<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Codec({})", type_name::<T>())
    }
}

/// Returns how a value is stored.
pub fn stored<T: Stored>() -> Codec<T> {
    Codec { write: encode::<T>, append: append::<T>, read: decode::<T>, read_part: decode_part::<T> }
}

/// Returns how an error is stored.
pub fn stored_error<E: StoredError>() -> Codec<E> {
    Codec { write: encode::<E>, append: append::<E>, read: decode::<E>, read_part: decode_part::<E> }
}

/// A struct without fields. It has nothing to store and needs no serde.
pub trait Fieldless {
    /// Returns its only value.
    fn made() -> Self;
}

/// Returns how a struct without fields is stored: written as `null`, and read from whatever is stored.
pub fn fieldless<T: Fieldless>() -> Codec<T> {
    Codec {
        write: |_| Ok(Bytes::from_static(b"null")),
        append: |_, text| append(&(), text),
        read: |_| Ok(T::made()),
        read_part: |_, _| Ok(T::made()),
    }
}

/// Encodes a value; the error is the reason why it cannot be encoded (a map whose keys are not text).
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Bytes, String> {
    // The buffer is taken, not borrowed, because a value may run author code, which may encode something
    // itself. At the end of a thread the buffer is gone, but what is dropped then may still encode
    // something.
    let mut text = SCRATCH.try_with(Cell::take).unwrap_or_default();
    text.clear();
    append(value, &mut text)?;
    if text.capacity() > SCRATCH_BYTES_MAX {
        return Ok(text.into());
    }
    let bytes = Bytes::copy_from_slice(&text);
    let _ = SCRATCH.try_with(|scratch| scratch.set(text));
    Ok(bytes)
}

thread_local! {
    /// The buffer in which values are encoded before they are copied out. So each value takes as much memory
    /// as it has bytes, and no buffer has to grow.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A longer buffer is given up, so that a thread keeps no more than this.
const SCRATCH_BYTES_MAX: usize = 64 << 10;

pub(crate) fn append<T: Serialize + ?Sized>(value: &T, text: &mut Vec<u8>) -> Result<(), String> {
    json::append(value, text).map_err(|error| error.to_string())
}

/// Reads a value; the error has the path and the reason: `items[3].qty: invalid type …`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    // Tracking the path costs as much as reading, so only a text that cannot be read is read again with it.
    serde_json::from_slice(bytes).or_else(|_| explained(bytes))
}

#[cold]
fn explained<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value: T = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let (path, reason) = (error.path().to_string(), error.into_inner());
        if path == "." { reason.to_string() } else { format!("{path}: {reason}") }
    })?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Reads a value that is a part of something else. The error begins with that part:
/// `state.items[3].qty: invalid type …`, or `state: missing field …` if the error is about the whole part.
pub(crate) fn decode_part<T: DeserializeOwned>(part: &str, bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).or_else(|_| explained_part(part, bytes))
}

#[cold]
fn explained_part<T: DeserializeOwned>(part: &str, bytes: &[u8]) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| {
            let path = match error.path().to_string() {
                path if path == "." => part.to_owned(),
                path if path.starts_with('[') => format!("{part}{path}"),
                path => format!("{part}.{path}"),
            };
            format!("{path}: {}", error.into_inner())
        })
        .and_then(|value| reader.end().map(|()| value).map_err(|error| format!("{part}: {error}")))
}

/// Whether a text contains `null`.
fn has_null(text: &[u8]) -> bool {
    text.windows(NULL.len()).any(|part| part == NULL)
}

const NULL: &[u8] = b"null";

#[cold]
fn not_read_back(text: &[u8], reason: &str) -> String {
    let hint = if has_null(text) { "; a number that is NaN or infinite is written as `null`" } else { "" };
    format!("it cannot be read back: {reason}{hint}")
}

/// Whether both have the same bytes. Mostly both are the same allocation and need not be compared.
pub(crate) fn is_same(one: &Bytes, other: &Bytes) -> bool {
    (one.as_ptr(), one.len()) == (other.as_ptr(), other.len()) || one == other
}

/// Whether a value is the default. Defaults are left out of records, because records are written often.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An optional mark as a text of eleven letters and digits.
pub(crate) mod mark {
    use drystone_runtime::Mark;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(mark: &Option<Mark>, to: S) -> Result<S::Ok, S::Error> {
        match mark {
            Some(mark) => to.collect_str(mark),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Mark>, D::Error> {
        let text: Option<std::borrow::Cow<'de, str>> = Option::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// E10
    #[test]
    fn what_cannot_be_read_is_named_by_its_path() {
        let read: Result<BTreeMap<String, Vec<u32>>, String> = decode(br#"{"items":[1,2,"x"]}"#);
        assert!(read.unwrap_err().starts_with("items[2]: invalid type"));
        assert!(decode::<u32>(b"1 2").is_err());
    }

    /// E10
    #[test]
    fn a_part_that_cannot_be_read_is_named_with_its_path_or_alone() {
        let part = |bytes: &[u8]| decode_part::<BTreeMap<String, Vec<u32>>>("state", bytes).unwrap_err();
        assert!(part(br#"{"items":[1,"x"]}"#).starts_with("state.items[1]: invalid type"));
        assert!(part(b"7").starts_with("state: invalid type"));
        assert!(part(b"{} 7").starts_with("state: trailing characters"));
        assert!(decode_part::<Vec<u32>>("state", b"[true]").unwrap_err().starts_with("state[0]: invalid type"));
    }

    /// W3
    #[test]
    fn a_value_that_does_not_read_back_is_not_recorded() {
        let recorded = stored::<f64>().write_recorded(&f64::NAN).unwrap_err();
        assert!(recorded.contains("cannot be read back") && recorded.contains("NaN"), "{recorded}");
        assert!(stored::<f64>().write_answer(&f64::INFINITY).is_err());
        assert_eq!(stored::<Option<f64>>().write_recorded(&None).unwrap(), "null");
        assert_eq!(stored::<String>().write_answer(&"null".to_owned()).unwrap(), r#""null""#);
    }

    /// W3
    #[test]
    fn a_field_that_is_not_written_and_not_read_is_not_recorded() {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct OneWay {
            #[serde(skip_serializing)]
            lost: u32,
        }
        let value = OneWay { lost: 1 };
        assert_eq!(value.lost, 1);
        let recorded = stored::<OneWay>().write_recorded(&value).unwrap_err();
        assert!(recorded.contains("missing field `lost`") && !recorded.contains("NaN"), "{recorded}");
    }

    #[test]
    fn what_cannot_be_written_says_why() {
        assert!(encode(&BTreeMap::from([((1, 2), 3)])).unwrap_err().contains("key must be a string"));
    }
}

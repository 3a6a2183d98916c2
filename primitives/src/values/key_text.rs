//! Keys of entities, as they stand in stored JSON.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A key in stored JSON: a text if the key is UTF-8, so that people can read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum KeyText {
    Text(String),
    Bytes(Vec<u8>),
}

impl KeyText {
    pub(crate) fn of(key: &[u8]) -> Self {
        match std::str::from_utf8(key) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(key.to_vec()),
        }
    }

    /// The key as a JSON text, with invalid UTF-8 replaced.
    pub(crate) fn shown(&self) -> Box<RawValue> {
        let text = String::from_utf8_lossy(&self.bytes()).into_owned();
        serde_json::value::to_raw_value(&text).expect("a text is JSON")
    }

    pub(crate) fn bytes(&self) -> Bytes {
        match self {
            Self::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            Self::Bytes(bytes) => Bytes::copy_from_slice(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_whether_they_are_text_or_not() {
        for key in [&b"order-9"[..], b"\xff\x00"] {
            let written = crate::encode(&KeyText::of(key)).unwrap();
            assert_eq!(crate::decode::<KeyText>(&written).unwrap().bytes(), key);
        }
    }
}

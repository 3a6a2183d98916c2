//! Writes JSON: byte for byte what `serde_json` writes, but faster for values that are mostly text.
//!
//! `serde_json` checks a text byte by byte, which was a third of the cost of a typed call outside the
//! kernel. Here a text is checked in blocks, and copied if nothing in it must be escaped. Numbers, texts
//! with escapes and the keys of maps are still written by `serde_json`.

use std::{
    fmt::{self, Display},
    io::Write,
    sync::LazyLock,
};

use serde::{
    Serialize, Serializer,
    ser::{
        Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use serde_json::{Error, Number, to_writer, value::RawValue};

/// The number of bytes of a text that are checked together.
const BLOCK: usize = 32;

/// The prefix of the names of `serde_json`'s structs whose only field is already JSON.
const JSON_ALREADY: &str = "$serde_json::private::";

/// Whether such structs still have these names, which `serde_json` does not promise. If not, `serde_json`
/// writes everything.
static KNOWS_JSON_ALREADY: LazyLock<bool> = LazyLock::new(|| {
    let mut text = Vec::new();
    let is_written =
        RawValue::NULL.serialize(Json(&mut text)).and_then(|()| Number::from(1).serialize(Json(&mut text)));
    is_written.is_ok() && text == b"null1"
});

/// Appends an encoded value to `text`.
pub(crate) fn append<T: Serialize + ?Sized>(value: &T, text: &mut Vec<u8>) -> Result<(), Error> {
    if *KNOWS_JSON_ALREADY { value.serialize(Json(text)) } else { to_writer(text, value) }
}

/// The writer of one value.
struct Json<'a>(&'a mut Vec<u8>);

/// The writer of the parts of a value.
struct Parts<'a> {
    text: &'a mut Vec<u8>,
    is_first: bool,
    /// The text that ends the value.
    end: &'static [u8],
    /// Whether the only part is already JSON and is the whole value.
    is_json_already: bool,
}

impl<'a> Json<'a> {
    fn parts(self, begin: u8, end: &'static [u8]) -> Parts<'a> {
        self.0.push(begin);
        Parts { text: self.0, is_first: true, end, is_json_already: false }
    }

    /// Begins the parts of a variant, which is an object with one field.
    fn variant(self, variant: &'static str, begin: u8, end: &'static [u8]) -> Result<Parts<'a>, Error> {
        self.0.push(b'{');
        write_text(variant, self.0)?;
        self.0.push(b':');
        Ok(self.parts(begin, end))
    }
}

impl Parts<'_> {
    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push(b',');
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        value.serialize(Json(self.text))
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        if self.is_json_already {
            return write!(self.text, "{}", Plain(value)).map_err(Error::custom);
        }
        self.separate();
        write_text(name, self.text)?;
        self.text.push(b':');
        value.serialize(Json(self.text))
    }

    fn finish(self) -> Result<(), Error> {
        self.text.extend_from_slice(self.end);
        Ok(())
    }
}

/// Displays a text without quotes or escapes.
struct Plain<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Display for Plain<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(out)
    }
}

fn write_text(value: &str, text: &mut Vec<u8>) -> Result<(), Error> {
    if has_escapes(value.as_bytes()) {
        return to_writer(text, value);
    }
    text.reserve(value.len() + 2);
    text.push(b'"');
    text.extend_from_slice(value.as_bytes());
    text.push(b'"');
    Ok(())
}

fn has_escapes(bytes: &[u8]) -> bool {
    let is_escaped = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    // No block ends early, so that the compiler checks many bytes with one instruction.
    let in_block = |block: &[u8; BLOCK]| block.iter().fold(false, |found, byte| found | is_escaped(byte));
    blocks.iter().any(in_block) || rest.iter().any(is_escaped)
}

macro_rules! by_serde_json {
    ($($method:ident: $type:ty),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), Error> {
            to_writer(self.0, &value)
        })+
    };
}

impl<'a> Serializer for Json<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    by_serde_json! {
        serialize_bool: bool,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64, serialize_char: char, serialize_bytes: &[u8],
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        write_text(value, self.0)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        write_text(variant, self.0)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut parts = self.parts(b'{', b"}");
        parts.field(variant, value)?;
        parts.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Ok(self.parts(b'[', b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'a>, Error> {
        Ok(self.parts(b'[', b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, Error> {
        Ok(self.parts(b'[', b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Error> {
        self.variant(variant, b'[', b"]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Ok(self.parts(b'{', b"}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Parts<'a>, Error> {
        if name.starts_with(JSON_ALREADY) {
            return Ok(Parts { text: self.0, is_first: true, end: b"", is_json_already: true });
        }
        Ok(self.parts(b'{', b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Error> {
        self.variant(variant, b'{', b"}}")
    }
}

macro_rules! items {
    ($($compound:ident: $method:ident),+) => {
        $(impl $compound for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish()
            }
        })+
    };
}

items! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field, SerializeTupleVariant: serialize_field
}

macro_rules! fields {
    ($($compound:ident),+) => {
        $(impl $compound for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish()
            }
        })+
    };
}

fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    /// `serde_json` decides which values can be keys and how they are written, so it writes a map with this
    /// key alone. The brackets and the value of that map are then cut off.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        let from = self.text.len();
        let mut alone = serde_json::Serializer::new(&mut *self.text);
        let mut map = alone.serialize_map(Some(1))?;
        map.serialize_entry(key, &())?;
        SerializeMap::end(map)?;
        self.text.truncate(self.text.len() - b"null}".len());
        self.text.remove(from);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Json(self.text))
    }

    fn end(self) -> Result<(), Error> {
        self.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Serialize)]
    struct Named {
        #[serde(rename = "a \"name\"")]
        odd: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<u8>,
        #[serde(flatten)]
        rest: BTreeMap<&'static str, f32>,
    }

    #[derive(Serialize)]
    struct Pair(char, ());

    #[derive(Serialize)]
    struct Newtype(i128);

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    enum Variants {
        Unit,
        Newtype(Box<RawValue>),
        Tuple(u8, f64),
        Struct { a: Newtype, b: Unit },
    }

    fn is_written_as_by_serde_json<T: Serialize + ?Sized>(value: &T) {
        let mut ours = b"before".to_vec();
        append(value, &mut ours).unwrap();
        let theirs = serde_json::to_string(value).unwrap();
        assert_eq!(String::from_utf8(ours).unwrap(), format!("before{theirs}"));
    }

    #[test]
    fn every_form_is_written_as_by_serde_json() {
        let raw = || RawValue::from_string(r#"{ "kept" : [1.50, "as it is"] }"#.into()).unwrap();
        let named = |odd| Named { odd, absent: None, rest: BTreeMap::from([("x", 0.1_f32), ("y", f32::NAN)]) };
        is_written_as_by_serde_json(&[named(Some("\u{7f}é\u{2028}")), named(None)]);
        is_written_as_by_serde_json(&(Pair('"', ()), Newtype(i128::MIN), Unit, [0_u8; 0], true));
        is_written_as_by_serde_json(&[Variants::Unit, Variants::Newtype(raw()), Variants::Tuple(1, -0.0)]);
        is_written_as_by_serde_json(&Variants::Struct { a: Newtype(7), b: Unit });
        is_written_as_by_serde_json(&BTreeMap::from([(1_u64, Some(raw())), (u64::MAX, None)]));
        is_written_as_by_serde_json(&BTreeMap::from([(true, 'c'), (false, '\n')]));
        is_written_as_by_serde_json(&BTreeMap::from([("", u128::MAX), ("a\"\\\u{0}", 0)]));
        is_written_as_by_serde_json(&(f64::INFINITY, 1e300, 5e-324, f32::MIN_POSITIVE, i8::MIN));
        is_written_as_by_serde_json(&json!({ "number": Number::from(7), "map": { "k": [null, {}] } }));
    }

    #[test]
    fn json_in_a_value_is_told_by_its_name() {
        assert!(*KNOWS_JSON_ALREADY);
    }

    #[test]
    fn every_byte_that_must_be_escaped_is_found_wherever_it_lies() {
        for length in [1, 31, 32, 33, 70] {
            for at in 0..length {
                for byte in 0..128 {
                    let mut text = vec![b'n'; length];
                    text[at] = byte;
                    is_written_as_by_serde_json(std::str::from_utf8(&text).unwrap());
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_a_key_is_refused_as_by_serde_json() {
        let map = BTreeMap::from([((1, 2), 3)]);
        let ours = append(&map, &mut Vec::new()).unwrap_err();
        assert_eq!(ours.to_string(), serde_json::to_string(&map).unwrap_err().to_string());
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![".{0,80}", "[ -~]{0,80}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from);
            let map = prop::collection::btree_map(".{0,12}", inner, 0..6);
            prop_oneof![list, map.prop_map(|map| Value::Object(map.into_iter().collect()))]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_by_serde_json(value in values()) {
            is_written_as_by_serde_json(&value);
        }
    }
}

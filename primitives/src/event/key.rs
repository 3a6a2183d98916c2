//! Keys of events: the key that a wait asks for, and the topic on which an event is published (V8, T1).

use std::{fmt, marker::PhantomData};

/// Marker: the wait has every key it needs.
#[derive(Debug)]
pub struct Said;

/// Marker: the wait must still name its key, because the event has a topic for each key.
#[derive(Debug)]
pub struct WithoutItsKey;

/// The markers with which a wait can be awaited.
pub trait IsSaid {}

impl IsSaid for Said {}

/// A wait for an event whose key has several fields, of the types `F`: `#[event(key = (tenant, order))]`.
/// `K` says whether the wait must still name its key.
#[derive(Debug)]
pub struct Several<F, K>(PhantomData<fn() -> (F, K)>);

impl<F, K: IsSaid> IsSaid for Several<F, K> {}

/// A value that a wait `K` accepts as a key: with one field any value with `Display`, with several fields a
/// tuple of their types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the key of this event",
    label = "not its key",
    note = "of an event with `#[event(key = order)]` it is what can be shown: `.key(7)`; with `#[event(key = (tenant, order))]` it is a tuple of the types of these fields"
)]
pub trait KeyOf<K> {
    /// Returns the key as it is stored.
    fn text(&self) -> String;
}

impl<T: fmt::Display> KeyOf<Said> for T {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl<T: fmt::Display> KeyOf<WithoutItsKey> for T {
    fn text(&self) -> String {
        self.to_string()
    }
}

macro_rules! several {
    ($($type:ident $field:tt)+) => {
        impl<K, $($type: fmt::Display),+> KeyOf<Several<($($type,)+), K>> for ($($type,)+) {
            fn text(&self) -> String {
                key_of_fields(&[$(&self.$field),+])
            }
        }
    };
}

several!(A 0 B 1);
several!(A 0 B 1 C 2);
several!(A 0 B 1 C 2 D 3);
several!(A 0 B 1 C 2 D 3 E 4);
several!(A 0 B 1 C 2 D 3 E 4 F 5);

/// The key of several fields: a JSON list, so that different fields never give the same key (V10).
#[doc(hidden)]
pub fn key_of_fields(fields: &[&dyn fmt::Display]) -> String {
    let shown: Vec<String> = fields.iter().map(ToString::to_string).collect();
    serde_json::Value::from(shown).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V10, T1
    #[test]
    fn no_two_keys_of_several_fields_are_one() {
        let keys = [
            ("a", "b"),
            ("a\",\"b", ""),
            ("", "a\",\"b"),
            ("ab", ""),
            ("", "ab"),
            ("a\0", "b"),
            ("a", "\0b"),
            ("a,b", ""),
        ];
        let texts: std::collections::BTreeSet<String> =
            keys.iter().map(|(one, other)| key_of_fields(&[one, other])).collect();
        assert_eq!(texts.len(), keys.len());
        assert_eq!(key_of_fields(&[&"a/b", &7]), r#"["a/b","7"]"#);
    }
}

//! The operations that a body can ask for.

use std::{collections::BTreeMap, fmt, time::Duration};

use bytes::Bytes;
use drystone_runtime::{Millis, Name, stable_hash};
use serde_json::Value;

use super::op_id::OpKind;
use crate::{
    BoxFuture, decode, encode,
    workflow::{Policy, body::call::Called},
};

/// An operation that a body asks for.
pub(in crate::workflow) enum Ask {
    /// A step of the workflow, with its input; `unreadable` is the reason if the input cannot be read back.
    Step { name: &'static str, input: Bytes, unreadable: Option<String> },
    /// Code of the body (`flow.run`), executed as a step.
    Code { policy: Policy, code: Code },
    /// A sleep.
    Sleep(Until),
    /// A wait for events.
    Wait(Wanted),
    /// A call of another entity, whose answer is awaited.
    Call(Called),
    /// A child: a run of another workflow, whose end is awaited.
    Child(Begun),
    /// A permit of a semaphore.
    Permit(Called),
    /// A wait for a condition on the run's own state. It gets no outcome; the body releases it when the
    /// condition holds.
    Until,
}

/// A child run that the body begins. Its key is made of the name that the body gave.
#[derive(Clone, Debug)]
pub(in crate::workflow) struct Begun {
    pub(in crate::workflow) called: Called,
    /// The child continues without its parent.
    pub(in crate::workflow) is_abandoned: bool,
    /// The parent does not wait for the child's end.
    pub(in crate::workflow) is_detached: bool,
}

impl Begun {
    pub(in crate::workflow) fn of(called: Called) -> Self {
        Self { called, is_abandoned: false, is_detached: false }
    }
}

/// Code of the body: its value or its error, as JSON. The outer error says why neither can be recorded.
pub(in crate::workflow) type Code = BoxFuture<'static, Result<Result<Bytes, Bytes>, String>>;

/// The end of a sleep.
#[derive(Clone, Copy, Debug)]
pub(in crate::workflow) enum Until {
    /// A span, counted from when the body first reaches the sleep.
    After(Duration),
    /// A fixed time.
    At(Millis),
}

/// The events that a wait asks for: the type, the key, how many, and for how long.
#[derive(Clone, Debug)]
pub(in crate::workflow) struct Wanted {
    pub(in crate::workflow) event: &'static str,
    pub(in crate::workflow) key: Option<String>,
    pub(in crate::workflow) count: u32,
    pub(in crate::workflow) timeout: Option<Duration>,
    /// Whether the event type has a topic, so that published events count, too.
    pub(in crate::workflow) is_published: bool,
}

impl Ask {
    /// The label in the operation's identity.
    pub(in crate::workflow) fn name(&self, called: Option<&str>) -> Name {
        match self {
            Self::Step { name, .. } => Name::new(name),
            Self::Code { .. } => Name::from(OpKind::Code.label(called.unwrap_or_default())),
            Self::Sleep(_) => Name::from(OpKind::Sleep.label("")),
            Self::Wait(wanted) => Name::from(OpKind::Wait.label(wanted.event)),
            Self::Until => Name::from(OpKind::Until.label("")),
            Self::Call(called) => Name::from(OpKind::Call.label(called.verb)),
            Self::Child(Begun { called, .. }) => Name::from(OpKind::Child.label(called.key.escape_ascii())),
            Self::Permit(called) => Name::from(OpKind::Permit.label(called.key.escape_ascii())),
        }
    }

    /// A noun for messages.
    pub(in crate::workflow) fn noun(&self) -> &'static str {
        match self {
            Self::Step { .. } | Self::Code { .. } => "a step",
            Self::Sleep(_) => "a sleep",
            Self::Wait(_) | Self::Until => "a wait",
            Self::Call(_) => "a call",
            Self::Child(_) => "a child",
            Self::Permit(_) => "a permit",
        }
    }

    /// The hash of everything that a replay must ask for again (W4). The length of a sleep is left out: its
    /// deadline is fixed when the body first reaches it, and later code may say another length.
    pub(in crate::workflow) fn hash(&self) -> u64 {
        match self {
            Self::Step { input, .. } => canonical_hash(input),
            Self::Code { .. } | Self::Sleep(_) | Self::Until => 0,
            Self::Wait(Wanted { key, count, .. }) => {
                let key = key.as_ref().map_or(&[][..], |key| key.as_bytes());
                stable_hash(&[key, &count.to_be_bytes()]) >> 1
            }
            Self::Call(called) | Self::Child(Begun { called, .. }) | Self::Permit(called) => called.hash(),
        }
    }
}

/// The hash of a JSON text, whatever the order of fields: the fields of a map come in another order each
/// time.
pub(in crate::workflow) fn canonical_hash(json: &[u8]) -> u64 {
    let canonical =
        json.contains(&b'{').then(|| decode(json).ok().and_then(|value| encode(&sorted(value)).ok())).flatten();
    // The hash is stored as a JSON number, and some readers accept only signed numbers.
    stable_hash(&[canonical.as_deref().unwrap_or(json)]) >> 1
}

/// Sorts the fields of all objects, also if `serde_json` is built to preserve their order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> =
                fields.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            fields.into_iter().collect()
        }
        other => other,
    }
}

impl fmt::Debug for Ask {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step { name, .. } => write!(out, "Step({name})"),
            Self::Code { .. } => out.write_str("Code"),
            Self::Sleep(until) => write!(out, "Sleep({until:?})"),
            Self::Wait(wanted) => write!(out, "Wait({wanted:?})"),
            Self::Until => out.write_str("Until"),
            Self::Call(called) => write!(out, "Call({})", called.verb),
            Self::Permit(called) => write!(out, "Permit({})", called.key.escape_ascii()),
            Self::Child(begun) => write!(out, "Child({})", begun.called.key.escape_ascii()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W4
    #[test]
    fn the_order_of_fields_does_not_matter_and_all_else_does() {
        assert_eq!(
            canonical_hash(br#"[{"a":1,"b":{"c":2,"d":3}}]"#),
            canonical_hash(br#"[{"b":{"d":3,"c":2},"a":1}]"#)
        );
        assert_ne!(canonical_hash(br#"[{"a":1}]"#), canonical_hash(br#"[{"a":2}]"#));
        assert_ne!(canonical_hash(b"[1,2]"), canonical_hash(b"[2,1]"));
    }

    /// W4: a journal is kept for years, and read by other builds.
    #[test]
    fn a_hash_is_the_same_in_every_build() {
        let texts: [&[u8]; 3] = [b"[]", br#"["one",2]"#, br#"[{"b":1,"a":null}]"#];
        assert_eq!(
            texts.map(canonical_hash),
            [4_658_787_180_732_304_652, 5_981_062_242_400_577_503, 5_210_240_141_136_063_934]
        );
    }
}

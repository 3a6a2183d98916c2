//! What a body can ask for.

use std::{collections::BTreeMap, fmt, time::Duration};

use bytes::Bytes;
use drystone_runtime::{Millis, Name, stable_hash};
use serde_json::Value;

use super::{Policy, called::Called};
use crate::{BoxFuture, decode, encode};

/// What an operation asks for.
pub(super) enum Ask {
    /// A step of the workflow, with its input; why that cannot be read back, if it cannot.
    Step { name: &'static str, input: Bytes, unreadable: Option<String> },
    /// Code of the body's own, as a step.
    Code { policy: Policy, code: Code },
    /// A point in time.
    Sleep(Until),
    /// Events.
    Wait(Wanted),
    /// An answer of another entity.
    Call(Called),
    /// The end of a run of another workflow.
    Child(Begun),
    /// A permit of a semaphore.
    Permit(Called),
    /// That the state of the run is so: told by nobody, and let go when it is.
    Until,
}

/// A child that a body begins. Its key is made of the name that the body gave it.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    pub(super) called: Called,
    /// It goes on without its parent.
    pub(super) is_abandoned: bool,
    /// Nobody waits for its end.
    pub(super) is_detached: bool,
}

impl Begun {
    pub(super) fn of(called: Called) -> Self {
        Self { called, is_abandoned: false, is_detached: false }
    }
}

/// Code that a body hands over: what it returned as JSON, apart if it is an error.
pub(super) type Code = BoxFuture<'static, Result<Result<Bytes, Bytes>, String>>;

/// When a sleep is over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// So long after it is first reached.
    After(Duration),
    /// Then.
    At(Millis),
}

/// Which events, how many, and how long to wait for them.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) event: &'static str,
    pub(super) key: Option<String>,
    pub(super) count: u32,
    pub(super) timeout: Option<Duration>,
    /// Whether they are published, too.
    pub(super) is_published: bool,
}

impl Ask {
    /// The name in the identity of this operation. A step cannot be named `sleep`, which is a method of `Flow`, and no identifier has a colon.
    pub(super) fn name(&self, called: Option<&str>) -> Name {
        match self {
            Self::Step { name, .. } => Name::new(name),
            Self::Code { .. } => Name::from(format!("run:{}", called.unwrap_or_default())),
            Self::Sleep(_) => Name::new("sleep"),
            Self::Wait(wanted) => Name::from(format!("wait:{}", wanted.event)),
            Self::Until => Name::new("wait_until"),
            Self::Call(called) => Name::from(format!("call:{}", called.verb)),
            Self::Child(Begun { called, .. }) => Name::from(format!("child:{}", called.key.escape_ascii())),
            Self::Permit(called) => Name::from(format!("permit:{}", called.key.escape_ascii())),
        }
    }

    /// What it is, in words.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Step { .. } | Self::Code { .. } => "a step",
            Self::Sleep(_) => "a sleep",
            Self::Wait(_) | Self::Until => "a wait",
            Self::Call(_) => "a call",
            Self::Child(_) => "a child",
            Self::Permit(_) => "a permit",
        }
    }

    /// What a replay must ask for again (W4). How long a sleep lasts is fixed when it is first reached, and may be written
    /// otherwise later.
    pub(super) fn hash(&self) -> u64 {
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

/// The hash of a JSON text, whatever the order of its fields: that of a map differs from one time to the next.
pub(super) fn canonical_hash(json: &[u8]) -> u64 {
    let canonical =
        json.contains(&b'{').then(|| decode(json).ok().and_then(|value| encode(&sorted(value)).ok())).flatten();
    // Kept in JSON, where some readers take only signed numbers.
    stable_hash(&[canonical.as_deref().unwrap_or(json)]) >> 1
}

/// A value whose fields are in order, also where `serde_json` is built to keep theirs.
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

    /// W4: journals are kept for years, and by other builds.
    #[test]
    fn a_hash_is_the_same_in_every_build() {
        let texts: [&[u8]; 3] = [b"[]", br#"["one",2]"#, br#"[{"b":1,"a":null}]"#];
        assert_eq!(
            texts.map(canonical_hash),
            [4_658_787_180_732_304_652, 5_981_062_242_400_577_503, 5_210_240_141_136_063_934]
        );
    }
}

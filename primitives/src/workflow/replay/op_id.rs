//! The identity of an operation within its run (W4).

use std::{borrow::Borrow, cmp::Ordering, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The prefix of an undo's identity. No operation of a body has this prefix.
const UNDO: &str = "undo/";

/// The identity of an operation within its run: branch, kind, name and occurrence. `1.0/run:fetch#2` is the
/// second `flow.run` of the name `fetch` in the branch `1.0/`.
///
/// The text is what is stored. It is parsed once, when the identity is made or read; the other fields are
/// places in it.
#[derive(Clone)]
pub(in crate::workflow) struct OpId {
    text: Arc<str>,
    kind: OpKind,
    /// Where the branch ends and the label begins.
    label: u32,
    /// Where the label ends. A `#` and the occurrence follow.
    label_end: u32,
}

/// The kind of an operation, as its identity tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::workflow) enum OpKind {
    /// A function of the workflow: `charge#1`.
    Step,
    /// The undo of an operation: `undo/charge#1/refund#1`.
    Undo,
    /// Code of the body: `run:fetch#1`.
    Code,
    /// A wait for events: `wait:Paid#1`.
    Wait,
    /// A call of another entity: `call:put#1`.
    Call,
    /// A child: `child:order-7#1`.
    Child,
    /// A permit of a semaphore: `permit:acme#1`.
    Permit,
    /// A sleep: `sleep#1`.
    Sleep,
    /// A wait for a condition on the run's own state: `wait_until#1`.
    Until,
}

/// The kinds whose label begins with a prefix. No identifier contains a colon, so no step has such a label.
const PREFIXED: [OpKind; 5] = [OpKind::Code, OpKind::Wait, OpKind::Call, OpKind::Child, OpKind::Permit];

impl OpKind {
    /// Returns the label of an operation of this kind and name: what its identity says beside the branch and
    /// the occurrence.
    pub(in crate::workflow) fn label(self, name: impl fmt::Display) -> String {
        format!("{}{name}", self.prefix())
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Code => "run:",
            Self::Wait => "wait:",
            Self::Call => "call:",
            Self::Child => "child:",
            Self::Permit => "permit:",
            Self::Sleep => "sleep",
            Self::Until => "wait_until",
            Self::Step | Self::Undo => "",
        }
    }

    /// Tells the kind of an operation of a body from its label. No step can be called `sleep` or
    /// `wait_until`, which are methods of `Flow`.
    fn of(label: &str) -> Self {
        if let Some(kind) = PREFIXED.into_iter().find(|kind| label.starts_with(kind.prefix())) {
            return kind;
        }
        let named = [Self::Sleep, Self::Until].into_iter().find(|kind| label == kind.prefix());
        named.unwrap_or(Self::Step)
    }
}

impl OpId {
    /// Makes the identity of the `nth` operation of a label in a branch, which is empty or ends with a slash.
    pub(in crate::workflow) fn new(branch: &str, label: &str, nth: u32) -> Self {
        Self::of(format!("{branch}{label}#{nth}").into())
    }

    /// Makes the identity of the undo of this operation by a step.
    pub(in crate::workflow) fn undo(&self, step: &str) -> Self {
        Self::of(format!("{UNDO}{self}/{step}#1").into())
    }

    fn of(text: Arc<str>) -> Self {
        let label_end = text.rfind('#').unwrap_or(text.len());
        let (kind, label) = if text.starts_with(UNDO) {
            (OpKind::Undo, text[..label_end].rfind('/').map_or(0, |slash| slash + 1))
        } else {
            let branch = branch_bytes(&text[..label_end]);
            (OpKind::of(&text[branch..label_end]), branch)
        };
        let place = |bytes: usize| u32::try_from(bytes).expect("an identity is shorter than a row");
        Self { kind, label: place(label), label_end: place(label_end), text }
    }

    /// Returns the text that is stored.
    pub(in crate::workflow) fn as_str(&self) -> &str {
        &self.text
    }

    pub(in crate::workflow) fn kind(&self) -> OpKind {
        self.kind
    }

    /// Returns what the identity says beside the branch and the occurrence: `charge`, `run:fetch`.
    pub(in crate::workflow) fn label(&self) -> &str {
        &self.text[self.label as usize..self.label_end as usize]
    }

    /// Returns the name of the workflow's function that the operation runs, if it runs one.
    pub(in crate::workflow) fn function(&self) -> Option<&str> {
        matches!(self.kind, OpKind::Step | OpKind::Undo).then(|| self.label())
    }

    /// Whether the operation is code of the body (`flow.run`) and not a function.
    pub(in crate::workflow) fn is_code(&self) -> bool {
        self.kind == OpKind::Code
    }

    /// Whether the operation calls another entity, for an answer or for a permit.
    pub(in crate::workflow) fn is_call(&self) -> bool {
        matches!(self.kind, OpKind::Call | OpKind::Permit)
    }

    /// Returns the operation that this undo reverses: `charge#1` of `undo/charge#1/refund#1`.
    pub(in crate::workflow) fn undone(&self) -> Option<&str> {
        let undone = self.text.get(UNDO.len()..(self.label as usize).saturating_sub(1));
        undone.filter(|_| self.kind == OpKind::Undo)
    }
}

/// Returns the length of the branch before a label: `!/` in a `#[cancelled]` body, then `1.0/` for each arm of
/// a combinator.
fn branch_bytes(text: &str) -> usize {
    let is_branch = |letter: u8| letter.is_ascii_digit() || matches!(letter, b'.' | b'/' | b'!');
    text.bytes().position(|letter| !is_branch(letter)).unwrap_or(text.len())
}

impl fmt::Display for OpId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl fmt::Debug for OpId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, out)
    }
}

impl From<&str> for OpId {
    fn from(text: &str) -> Self {
        Self::of(text.into())
    }
}

impl PartialEq for OpId {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for OpId {}

impl PartialOrd for OpId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// In the order of the texts, so that a map is also searched by a text.
impl Ord for OpId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl AsRef<str> for OpId {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl Borrow<str> for OpId {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl Serialize for OpId {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for OpId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = OpId;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the identity of an operation")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OpId, E> {
                Ok(text.into())
            }
        }
        from.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W4: identities are stored for years, and each form is read as it was written.
    #[test]
    fn every_form_is_read_as_it_was_written() {
        let forms = [
            ("charge#1", OpKind::Step, "charge"),
            ("1.0/2.11/charge#12", OpKind::Step, "charge"),
            ("!/charge#1", OpKind::Step, "charge"),
            ("!/1.0/charge#2", OpKind::Step, "charge"),
            ("run:fetch#1", OpKind::Code, "run:fetch"),
            ("1.0/run:a/b#1#2", OpKind::Code, "run:a/b#1"),
            ("!/run:x#1", OpKind::Code, "run:x"),
            ("sleep#3", OpKind::Sleep, "sleep"),
            ("wait_until#1", OpKind::Until, "wait_until"),
            ("1.1/wait:Paid#1", OpKind::Wait, "wait:Paid"),
            ("wait:run:x#1", OpKind::Wait, "wait:run:x"),
            ("call:a/charge#1", OpKind::Call, "call:a/charge"),
            ("child:1/charge#2", OpKind::Child, "child:1/charge"),
            ("permit:acme/charge#1", OpKind::Permit, "permit:acme/charge"),
            ("undo/charge#1/refund#1", OpKind::Undo, "refund"),
            ("undo/!/1.0/charge#2/refund#1", OpKind::Undo, "refund"),
        ];
        for (text, kind, label) in forms {
            let stored = format!("{text:?}");
            let op: OpId = crate::decode(stored.as_bytes()).unwrap();
            assert_eq!((op.kind(), op.label()), (kind, label), "{text}");
            assert_eq!(crate::encode(&op).unwrap(), stored, "{text}");
            assert_eq!((op.as_str(), op.to_string().as_str()), (text, text));
        }
    }

    /// W4
    #[test]
    fn an_identity_that_is_made_is_the_one_that_is_read() {
        let made = [
            (OpId::new("", "charge", 1), "charge#1"),
            (OpId::new("1.0/", &OpKind::Code.label("a/b#1"), 2), "1.0/run:a/b#1#2"),
            (OpId::new("!/", &OpKind::Permit.label("acme"), 1), "!/permit:acme#1"),
            (OpId::new("1.0/", "charge", 2).undo("refund"), "undo/1.0/charge#2/refund#1"),
        ];
        for (made, text) in made {
            let read = OpId::from(text);
            assert_eq!((made.as_str(), made.kind(), made.label()), (text, read.kind(), read.label()));
            assert_eq!((made.undone(), made.function()), (read.undone(), read.function()));
        }
    }

    #[test]
    fn only_steps_and_undos_run_a_function() {
        assert_eq!(OpId::from("1.0/charge#2").function(), Some("charge"));
        assert_eq!(OpId::from("undo/permit#1/refund#1").function(), Some("refund"));
        for other in ["permit:acme/charge#1", "1.0/call:a/charge#1", "!/run:a/charge#1", "child:1/charge#2", "sleep#1"]
        {
            assert_eq!(OpId::from(other).function(), None, "{other}");
        }
    }

    #[test]
    fn an_undo_says_what_it_undoes() {
        assert_eq!(OpId::from("undo/1.0/charge#2/refund#1").undone(), Some("1.0/charge#2"));
        assert_eq!(OpId::from("1.0/charge#2").undone(), None);
        assert_eq!(OpId::from("undo#1").undone(), None);
    }
}

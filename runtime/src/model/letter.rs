//! Dead letters: messages that could not be delivered, kept for a person (M4, D2).

use bytes::{BufMut, Bytes, BytesMut};

use super::{Key, MessageId, Name, Version};

/// A message that could not be delivered. Encoded, it is the body of the message from the receiver's inbox to
/// the entity that keeps the dead letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The id of the message.
    pub id: MessageId,
    /// The sender.
    pub from: Key,
    /// The receiver.
    pub to: Key,
    /// The definition that the receiver was to be bound with.
    pub definition: Name,
    /// The verb.
    pub verb: Name,
    /// The argument of the verb.
    pub body: Bytes,
    /// Why the message could not be delivered.
    pub reason: String,
    /// The last error of the receiver's code, as the code returned it; empty if there was another reason.
    pub error: Bytes,
    /// The number of delivery attempts.
    pub attempts: u32,
}

impl DeadLetter {
    /// Encodes the letter: numbers of fixed size, then each text after its length.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(64 + self.body.len());
        out.put_u64(self.id.version.0);
        out.put_u32(self.id.index);
        out.put_u32(self.attempts);
        for part in [
            self.from.space.as_bytes(),
            &self.from.key,
            self.to.space.as_bytes(),
            &self.to.key,
            self.definition.as_bytes(),
            self.verb.as_bytes(),
            &self.body,
            self.reason.as_bytes(),
            &self.error,
        ] {
            out.put_u32(part.len() as u32);
            out.put_slice(part);
        }
        out.freeze()
    }

    /// Decodes the output of [`encode`](Self::encode). Returns `None` if the bytes are not an encoded letter.
    pub fn decode(bytes: &Bytes) -> Option<Self> {
        let mut rest = bytes.clone();
        let version = Version(u64::from_be_bytes(take(&mut rest, 8)?[..].try_into().ok()?));
        let index = number(&mut rest)?;
        let attempts = number(&mut rest)?;
        let from = Key { space: text(&mut rest)?.into(), key: part(&mut rest)? };
        let to = Key { space: text(&mut rest)?.into(), key: part(&mut rest)? };
        let (definition, verb) = (text(&mut rest)?.into(), text(&mut rest)?.into());
        let (body, reason, error) = (part(&mut rest)?, text(&mut rest)?, part(&mut rest)?);
        let letter =
            Self { id: MessageId { version, index }, from, to, definition, verb, body, reason, error, attempts };
        rest.is_empty().then_some(letter)
    }
}

fn take(rest: &mut Bytes, count: usize) -> Option<Bytes> {
    (rest.len() >= count).then(|| rest.split_to(count))
}

fn number(rest: &mut Bytes) -> Option<u32> {
    Some(u32::from_be_bytes(take(rest, 4)?[..].try_into().ok()?))
}

fn part(rest: &mut Bytes) -> Option<Bytes> {
    let count = number(rest)? as usize;
    take(rest, count)
}

fn text(rest: &mut Bytes) -> Option<String> {
    String::from_utf8(part(rest)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter() -> DeadLetter {
        DeadLetter {
            id: MessageId { version: Version(7), index: 2 },
            from: Key { space: "app".into(), key: Bytes::from_static(b"a\0b") },
            to: Key { space: "app".into(), key: Bytes::from_static(b"c") },
            definition: "counter".into(),
            verb: "add".into(),
            body: Bytes::from_static(&[0xff, 0]),
            reason: "refused".into(),
            error: Bytes::from_static(b"{}"),
            attempts: 5,
        }
    }

    /// D2
    #[test]
    fn a_letter_comes_back_as_it_was() {
        assert_eq!(DeadLetter::decode(&letter().encode()), Some(letter()));
    }

    #[test]
    fn no_cut_or_garbled_letter_is_taken_for_one() {
        let whole = letter().encode();
        for cut in 0..whole.len() {
            assert_eq!(DeadLetter::decode(&whole.slice(..cut)), None);
        }
        let mut longer = whole.to_vec();
        longer.push(0);
        assert_eq!(DeadLetter::decode(&longer.into()), None);
        assert_eq!(DeadLetter::decode(&Bytes::from_static(&[0xff; 64])), None);
    }
}

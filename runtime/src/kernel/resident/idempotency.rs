//! Replies that are remembered for calls with an idempotency key (E12).

use bytes::{BufMut, Bytes, BytesMut};

use super::{Resident, source::Source};
use crate::{
    Commit, Error, Idempotency, Name, Reply, To,
    kernel::{api::pending_call::Pending, state::shared::Shared},
    store::Remembered,
};

impl Resident {
    /// Returns the replies of this commit that a repeated call must get again.
    pub(crate) fn to_remember(&self, source: &Source, commit: &Commit, at: &Shared) -> Vec<Remembered> {
        let mut remembered = Vec::new();
        if let Some(pending) = source.pending().filter(|_| commit.hold.is_none()) {
            let reply = own_reply(pending, commit);
            remembered.extend(remember(pending, &reply, at));
        }
        for (to, reply) in &commit.replies {
            for (name, pending) in self.waiting() {
                if *to == To::Ticket(pending.ticket) || *to == To::All(name.clone()) {
                    remembered.extend(remember(pending, reply, at));
                }
            }
        }
        for (asked, reply) in &commit.remember {
            // Skip the key if a caller that waits here has brought it: its reply is remembered already.
            if remembered.iter().all(|other| other.once != asked.key) {
                remembered.extend(remember_of(asked, reply, at));
            }
        }
        remembered
    }

    /// Returns the callers that wait for the answer of a later commit, or will wait when their own commit
    /// is durable.
    fn waiting(&self) -> impl Iterator<Item = (&Name, &Pending)> {
        let on_their_way = self.commits.links();
        self.callers.held().chain(on_their_way.filter_map(|link| link.hold.as_ref().zip(link.source.pending())))
    }
}

/// Returns the reply of a commit to its own call.
fn own_reply(pending: &Pending, commit: &Commit) -> Reply {
    let own = commit.replies.iter().find(|(to, _)| *to == To::Ticket(pending.ticket));
    own.map_or(Ok(Bytes::new()), |(_, reply)| reply.clone())
}

fn remember(pending: &Pending, reply: &Reply, at: &Shared) -> Option<Remembered> {
    remember_of(&pending.once.as_ref()?.idempotency(), reply, at)
}

fn remember_of(asked: &Idempotency, reply: &Reply, at: &Shared) -> Option<Remembered> {
    let expires_at = at.time.now().after(asked.remember_for.unwrap_or(at.options.remember_for));
    let reply = encode_reply(reply)?;
    Some(Remembered { once: asked.key.clone(), hash: asked.hash, reply, expires_at })
}

/// Encodes an answer or an error of the author's. Errors of the kernel and refusals by a kind are not
/// remembered: nothing was done, and a repeat may succeed.
fn encode_reply(reply: &Reply) -> Option<Bytes> {
    let (tag, body) = match reply {
        Ok(body) => (0, body),
        Err(Error::Failed(body)) => (1, body),
        Err(_) => return None,
    };
    let mut out = BytesMut::with_capacity(1 + body.len());
    out.put_u8(tag);
    out.put_slice(body);
    Some(out.freeze())
}

pub(crate) fn decode_reply(bytes: &Bytes) -> Reply {
    match bytes.first() {
        Some(0) => Ok(bytes.slice(1..)),
        _ => Err(Error::Failed(bytes.slice(1.min(bytes.len())..))),
    }
}

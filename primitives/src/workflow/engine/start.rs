//! The start of a run: one commit binds the key and stores what the body asks for at its first poll (L2).

use bytes::Bytes;
use drystone_runtime::{Commit, Next, Reply, stable_hash};

use super::{
    Caller,
    memory::Memory,
    turn::{Halt, Seen, Turned, Turning, raw},
};
use crate::{
    encode,
    workflow::{
        StartError, Workflow,
        client::handle::Started,
        record::{Parent, Record},
        replay::{
            ask::canonical_hash,
            journal::{Entry, What},
            live::{Identity, Live},
        },
    },
};

/// The parameters of a start.
pub(super) struct Start<'a> {
    pub(super) input: &'a [u8],
    /// An event that the run finds in its queue.
    pub(super) event: Option<(&'a str, &'a serde_json::value::RawValue)>,
    /// The parent that begins the run.
    pub(super) parent: Option<&'a Parent>,
}

impl<'a, W: Workflow> Turning<'a, W> {
    /// Starts a run, and sends it the event of the start. Returns also the answer for that event.
    pub(super) fn start(seen: Seen<'a>, start: &Start<'_>) -> Result<(Self, Option<crate::workflow::Sent>), Halt> {
        let hash = canonical_hash(start.input);
        // A later run of the same key has a different seed, because the time is part of the hash.
        let seed = stable_hash(&[&seen.key.key, &seen.now.0.to_be_bytes(), start.input]) >> 1;
        let record = Record { parent: start.parent.cloned(), ..Record::new(seed, hash, seen.moment()) };
        let who = Identity::in_kernel(seen.key, &record, seen.nudge);
        let live = Live::begin::<W>(&who, start.input, seen.now).map_err(Halt::Malformed)?;
        let mut turning = Self::new(seen, Box::new(record));
        let number =
            start.event.map(|(event, body)| turning.send(event, body).map(|number| (number, event))).transpose()?;
        let input = raw(start.input).map_err(Halt::Malformed)?;
        turning.append(&Entry::of_run(seen.now, What::Started(input)))?;
        // Listeners are notified first, because the run may end in this turn.
        turning.commit.emit("workflow.started", &[]);
        turning.begin(live);
        turning.go_on()?;
        let sent = number.map(|(number, event)| turning.queues().sent(number, event));
        Ok((turning, sent))
    }

    /// Starts a run, and answers its caller with `answer`.
    pub(super) fn started(
        memory: &mut Memory,
        seen: Seen<'a>,
        start: &Start<'_>,
        caller: Caller,
        answer: impl FnOnce(Option<crate::workflow::Sent>) -> Result<Bytes, String>,
    ) -> Turned {
        let (turning, sent) = Self::start(seen, start)?;
        let answer = answer(sent).map_err(Halt::Malformed)?;
        turning.close(memory, Some((caller, Ok(answer))))
    }

    /// Answers a start of a run that exists: the run is found if the input is the same. Nothing is changed.
    pub(super) fn found(&self, input: Option<&[u8]>) -> Result<Bytes, Halt> {
        if input.is_some_and(|input| canonical_hash(input) == self.record.input) {
            return encode(&Started::Found).map_err(Halt::Malformed);
        }
        let status = self.record.phase().word().to_owned();
        Err(already_exists(status))
    }
}

fn already_exists(status: String) -> Halt {
    encode(&StartError::AlreadyExists { status }).map_or_else(Halt::Malformed, Halt::Failed)
}

/// Returns a turn that only answers.
pub(super) fn only(caller: Caller, answer: Bytes) -> Turned {
    Ok(answering(caller, Ok(answer)))
}

/// Returns a turn that only answers, possibly with a typed error. Unlike a refusal by the kernel, this keeps
/// the memory of the run.
pub(super) fn answering(caller: Caller, reply: Reply) -> Next {
    match (caller, reply) {
        (Some(ticket), reply) => Next::Commit(Commit::reply(ticket, reply)),
        // A message that is refused is retried, and becomes a dead letter in the end.
        (None, Err(error)) => Next::Refuse(error),
        (None, Ok(_)) => Next::nothing(),
    }
}

//! The children of a run (L6). A message of the parent's commit begins a child, and a message of the child's
//! commit tells the parent the end. Each message is taken exactly once (M1).

use bytes::Bytes;
use drystone_runtime::{Commit, Message, Millis, Name, Next};
use serde_json::value::RawValue;

use crate::{
    decode, encode,
    planted::Bug,
    workflow::{
        Fault, RunError, Workflow,
        client::fault::Cause,
        engine::{
            memory::Memory,
            start::Start,
            steps::end::answer,
            turn::{BYTES_MAX, Halt, Seen, Turned, Turning, raw},
        },
        record::{
            Parent,
            pending::{Childing, Pending, Waiting},
        },
        replay::{
            ask::Begun,
            journal::{End, Entry, What},
            op_id::OpId,
        },
    },
};

/// A parent begins a child: the input, and the operation that waits for it.
pub(in crate::workflow::engine) const BEGIN: &str = "child:begin";

/// A child tells its parent how it ended: the operation that waits, and the ending.
pub(in crate::workflow::engine) const ENDED: &str = "child:ended";

/// A parent cancels a child that it no longer needs.
const CANCEL: &str = "cancel";

/// The messages to children that one turn sends at most, and their bytes. The others follow in later turns
/// (K3).
const SENT_PER_TURN: usize = 200;
const SENT_BYTES_MAX: usize = 2 << 20;

/// The ending of a child: its result, or the error that callers of the child get, as JSON.
type Ending = Result<Box<RawValue>, Box<RawValue>>;

/// The last message of a child: operation, generation and seed of its parent, and the ending.
type Said = (OpId, u32, u64, Ending);

impl<W: Workflow> Turning<'_, W> {
    /// Builds the pending operation of a child that the body asks for.
    pub(in crate::workflow::engine) fn child_asked(&mut self, op: &OpId, begun: &Begun, hash: u64) -> Pending {
        let input = self.inputs().store(&begun.called.body, false);
        let childing = Childing {
            definition: self.seen.names.of(&begun.called.of).to_string(),
            key: self.address().child_key(&begun.called.key),
            input: Some(input),
            is_abandoned: begun.is_abandoned,
            is_detached: begun.is_detached,
        };
        Pending { op: op.clone(), hash, what: Waiting::Child(childing) }
    }

    /// Begins children that the body asked for, as many as one commit may.
    pub(in crate::workflow::engine) fn begin_children(&mut self) -> Result<(), Halt> {
        for index in 0..self.record.pending.len() {
            if self.commit.sent() >= SENT_PER_TURN || self.commit.bytes_sent() >= SENT_BYTES_MAX {
                self.leave_rest();
                return Ok(());
            }
            self.begin_child(index)?;
        }
        Ok(())
    }

    fn begin_child(&mut self, index: usize) -> Result<(), Halt> {
        let Pending { op, what: Waiting::Child(childing), .. } = &*self.record.pending[index] else { return Ok(()) };
        let Some(code) = &childing.input else { return Ok(()) };
        let input = self.input_of(code)?;
        let parent = self.address().of(op);
        let body = encode(&(raw(&input).map_err(Halt::Park)?, &parent)).map_err(Halt::Malformed)?;
        let message = self.address().to_child(childing, BEGIN, body);
        let pending = self.record.pending[index].clone();
        self.commit.send(message);
        if let Waiting::Child(childing) = &mut self.record.pending[index].what {
            childing.input = None;
        }
        self.forget_input(&pending);
        Ok(())
    }

    /// Whether the key of a child is longer than keys may be.
    pub(in crate::workflow::engine) fn has_child_without_key(&self) -> bool {
        let address = self.address();
        let children = self.record.pending().filter_map(Pending::child);
        children.filter(|childing| childing.input.is_some()).any(|childing| address.is_too_long_for(childing))
    }

    /// Releases a pending operation. A child is cancelled, unless it continues without its parent.
    pub(in crate::workflow::engine) fn let_go(&mut self, pending: &Pending) {
        self.forget_input(pending);
        self.permits().release(&pending.op);
        self.topic_waits().leave(pending, false);
        let Some(childing) = pending.child() else { return };
        let was_begun = childing.input.is_none();
        if was_begun && !childing.is_abandoned && !Bug::OrphansGoOn.planted() {
            let message = self.address().to_child(childing, CANCEL, Bytes::from_static(b"null"));
            self.commit.send(message);
        }
    }

    /// Records the end of a child, if the run still waits for the child.
    fn child_ended(&mut self, (op, generation, seed, ending): Said) -> Result<(), Halt> {
        self.record.late += u64::from(generation < self.record.generation);
        let is_ours = generation == self.record.generation && seed == self.record.seed || Bug::ChildOfAnother.planted();
        let Some(index) = self.record.position(&op).filter(|_| is_ours && self.record.end.is_none()) else {
            return Ok(());
        };
        let pending = &self.record.pending[index];
        if pending.child().is_none_or(|childing| childing.is_detached) {
            return Ok(());
        }
        let what = match ending {
            Ok(value) => What::Ok(value),
            Err(error) => What::Failed(error),
        };
        let entry = Entry::new(&op, pending.hash, self.seen.now, what);
        self.happened(&entry)?;
        self.go_on()
    }

    /// Tells the parent of the run, if any, how the run ended.
    pub(in crate::workflow::engine) fn tell_parent(&mut self, end: &End) -> Result<(), Halt> {
        if Bug::ChildEndLater.planted() && self.record.parent.is_some() {
            self.leave_rest();
            return Ok(());
        }
        if Bug::ChildEndForgotten.planted() && self.record.entries % 3 == 2 {
            return Ok(());
        }
        self.say_end(end)
    }

    fn say_end(&mut self, end: &End) -> Result<(), Halt> {
        let Some(parent) = self.record.parent.clone() else { return Ok(()) };
        let ending = match answer(end)? {
            Ok(value) => Ok(raw(&value).map_err(Halt::Park)?),
            Err(error) => Err(raw(&error).map_err(Halt::Park)?),
        };
        self.commit.send(parent.told(ending));
        Ok(())
    }

    /// A planted bug: the child ends in one commit and tells its parent in the next.
    pub(in crate::workflow::engine) fn tell_parent_late(&mut self) -> Result<(), Halt> {
        let ended_at = self.record.end.as_ref().map(|end| Millis(end.at));
        let is_next = self.seen.entity.is_some_and(|entity| entity.alarm <= ended_at);
        if !is_next || !Bug::ChildEndLater.planted() {
            return Ok(());
        }
        match self.journal()?.pop() {
            Some(Entry { what: What::Ended(end), .. }) => self.say_end(&end),
            _ => Ok(()),
        }
    }
}

impl Parent {
    fn told(&self, ending: Ending) -> Option<Message> {
        let said: Said = (self.op.as_str().into(), self.generation, self.seed, ending);
        let to = drystone_runtime::Key::new(Name::from(self.space.clone()), self.key.bytes()).ok()?;
        let definition = Name::from(self.definition.clone());
        Some(Message { to, definition, verb: Name::new(ENDED), body: encode(&said).ok()? })
    }

    fn refused(&self, error: &RunError<()>) -> Next {
        let ending = encode(error).and_then(|error| raw(&error)).map(Err);
        let send = ending.ok().and_then(|ending| self.told(ending)).into_iter().collect();
        Next::Commit(Commit { send, ..Commit::default() })
    }
}

/// Handles the message with which a parent begins this run. An error is sent to the parent.
pub(in crate::workflow::engine) fn begun<W: Workflow>(memory: &mut Memory, seen: Seen<'_>, body: &[u8]) -> Turned {
    let (input, parent): (Box<RawValue>, Parent) = decode(body).map_err(Halt::Malformed)?;
    if seen.entity.is_some() {
        return found::<W>(memory, seen, &parent);
    }
    let start = Start { input: input.get().as_bytes(), event: None, parent: Some(&parent) };
    match Turning::<W>::start(seen, &start) {
        Ok((turning, _)) => turning.close(memory, None),
        Err(Halt::Malformed(reason)) => {
            let fault = Fault { step: "run".to_owned(), cause: Cause::Refused { reason } };
            Ok(parent.refused(&RunError::Fault(fault)))
        }
        Err(halt) => Err(halt),
    }
}

/// Handles the same message for a run that exists. The parent gets an error unless the run is its own child.
fn found<W: Workflow>(memory: &mut Memory, seen: Seen<'_>, parent: &Parent) -> Turned {
    let Some(turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
    let is_its_own = turning.record.parent.as_ref() == Some(parent);
    let status = turning.record.phase().word().to_owned();
    let turned = turning.close(memory, None)?;
    Ok(if is_its_own { turned } else { parent.refused(&RunError::AlreadyExists { status }) })
}

/// Handles the message with which a child of this run tells its end.
pub(in crate::workflow::engine) fn ended<W: Workflow>(memory: &mut Memory, seen: Seen<'_>, body: &[u8]) -> Turned {
    let said: Said = decode(body).map_err(Halt::Malformed)?;
    crate::workflow::engine::events::ready::ready(memory, seen)?;
    let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
    turning.child_ended(said)?;
    turning.close(memory, None)
}

/// The longest input of a child: its message also holds the address of the wait.
pub(in crate::workflow::engine) const CHILD_INPUT_MAX: usize = BYTES_MAX - 4_096;

//! The trait behind every kind: what a turn does, what should run, and how it is run.

use std::{any::Any, fmt, pin::Pin};

use bytes::Bytes;

use super::{Borrow, Commit, Cx, Entity, Input, Key, Millis, Name, Now, Outcome, Range, Rows, Work};
use crate::{Error, kernel::Outpost};

/// One definition's behaviour, made by its kind. The kernel knows kinds by this trait alone, and a kind
/// written elsewhere takes the same road as ours (E13).
///
/// `turn` and `work` are pure: they see the entity, the rows they asked for and the time, and nothing else.
/// They may be asked again with the same arguments at any time and must answer alike.
pub trait Handler: Send + Sync + 'static {
    /// What a verb needs of the author's struct. [`Borrow::Shared`] makes it a read: it is answered from the
    /// committed state, beside the mailbox, and writes nothing.
    fn borrow(&self, verb: &str) -> Borrow;

    /// Handles one input. `entity` is `None` on an unbound key.
    fn turn(&self, hot: &mut Hot, key: &Key, entity: Option<&Entity>, rows: &Rows, input: &Input, now: Now) -> Next;

    /// All that should run now, given what is stored. Asked after turns, once for several, of the entity they make; what
    /// runs and is no longer listed is dropped.
    fn work(&self, hot: &mut Hot, entity: &Entity, rows: &Rows, now: Millis) -> Needed<Vec<Work>>;

    /// Runs one piece of work: the only impure part. `entity` is `None` for a call that may yet bind its key.
    fn run(
        &self,
        hot: &mut Hot,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;

    /// A kernel is opened with this definition. Whoever keeps in memory what may be woken by something else than an input has its entity
    /// [looked at](Outpost::look_at) then.
    fn opened(&self, outpost: &Outpost) {
        let _ = outpost;
    }

    /// Whether this call lets an entity go on that is held (W2), and what it is answered then.
    fn resumes(&self, verb: &str) -> Option<Bytes> {
        let _ = verb;
        None
    }

    /// The work, by name, that writes rows of the author's ([`Cx::transact`]): over a store without SQL a kernel with such a
    /// definition is not opened.
    fn scripts(&self) -> Vec<Name> {
        Vec::new()
    }
}

/// What a turn comes to.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly every turn gives a commit; a box would cost each an allocation")]
pub enum Next {
    /// It writes this (perhaps nothing).
    Commit(Commit),
    /// A call's or a message's own code is to run first; its end comes back as [`Input::Done`].
    Run(Work),
    /// These rows are needed first; then the same turn is asked again.
    Read(Vec<Range>),
    /// It cannot be: the caller gets this error and nothing is written. A message refused with
    /// [`Error::Failed`] or [`Error::Declined`] is tried again later; with any other error it is a dead letter (M4).
    Refuse(Error),
    /// The stored record cannot be read: the entity is parked with this reason, never reset (E10).
    Park(String),
}

impl Next {
    /// A turn that writes nothing.
    pub fn nothing() -> Self {
        Self::Commit(Commit::default())
    }
}

/// A value, or what must be read before it can be told.
#[derive(Debug)]
pub enum Needed<T> {
    /// Here it is.
    Ready(T),
    /// Read these rows, then ask again.
    Read(Vec<Range>),
}

/// A handler's memory of one entity: decoded state, a live future. It may be dropped before any call, and
/// nothing changes but time (E13).
#[derive(Default)]
pub struct Hot(Option<Memory>);

/// What is remembered, and about how many bytes that takes.
struct Memory {
    value: Box<dyn Any + Send>,
    bytes: usize,
}

impl Hot {
    /// A memory that holds `value`.
    pub fn new<T: Any + Send>(value: T) -> Self {
        let mut hot = Self::default();
        hot.set(value);
        hot
    }

    /// A memory that holds a value which lies in a box already.
    pub fn boxed<T: Any + Send>(value: Box<T>) -> Self {
        Self(Some(Memory { value, bytes: 4 * size_of::<T>() }))
    }

    /// What is remembered, if it is of this type.
    pub fn get<T: Any + Send>(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.value.downcast_mut()
    }

    /// Takes what is remembered, if it is of this type.
    pub fn take<T: Any + Send>(&mut self) -> Option<T> {
        self.take_boxed().map(|value| *value)
    }

    /// The same, left in its box.
    pub fn take_boxed<T: Any + Send>(&mut self) -> Option<Box<T>> {
        if !self.0.as_ref()?.value.is::<T>() {
            return None;
        }
        self.0.take()?.value.downcast().ok()
    }

    /// Remembers `value` instead. It is taken to weigh what is seen of it, and as much again for each of a few things that it points to.
    pub fn set<T: Any + Send>(&mut self, value: T) {
        self.set_weighing(4 * size_of::<T>(), value);
    }

    /// The same for one that takes about so many bytes.
    pub fn set_weighing<T: Any + Send>(&mut self, bytes: usize, value: T) {
        self.0 = Some(Memory { value: Box::new(value), bytes });
    }

    /// Forgets.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        self.0.as_ref().map_or(0, |memory| memory.bytes)
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl Clone for Hot {
    /// A clone starts empty: memory is never shared.
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl fmt::Debug for Hot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_empty() { "Hot(empty)" } else { "Hot(..)" })
    }
}

//! The trait behind every kind: what a turn does, which work should run, and how that work is run.

use std::{any::Any, fmt, pin::Pin};

use bytes::Bytes;

use super::{Borrow, Commit, Cx, Entity, Input, Key, Millis, Name, Now, Outcome, Range, Rows, Work};
use crate::{Error, kernel::WeakKernel};

/// The behaviour of one definition, provided by its kind. The kernel knows kinds only by this trait, and a
/// kind written outside our crates uses the same interface as the built-in kinds (E13).
///
/// `turn` and `work` are pure: they see the entity, the rows they asked for and the time, and nothing else.
/// The kernel may call them again with the same arguments at any time, and they must return the same result.
pub trait Handler: Send + Sync + 'static {
    /// Returns how a verb borrows the author's struct. [`Borrow::Shared`] makes the verb a read: it is
    /// answered from the committed state, does not wait in the mailbox, and writes nothing.
    fn borrow(&self, verb: &str) -> Borrow;

    /// Handles one input. `entity` is `None` on an unbound key.
    fn turn(&self, hot: &mut Hot, key: &Key, entity: Option<&Entity>, rows: &Rows, input: &Input, now: Now) -> Next;

    /// Returns all work that should run, given what is stored. The kernel asks after turns, once for several
    /// of them, with the entity that results. Running work that is not in the list any more is dropped.
    fn work(&self, hot: &mut Hot, entity: &Entity, rows: &Rows, now: Millis) -> Needed<Vec<Work>>;

    /// Runs one piece of work. This is the only impure method. `entity` is `None` if a call runs that may
    /// still bind the key.
    fn run(
        &self,
        hot: &mut Hot,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;

    /// Called when a kernel opens with this definition. A handler whose memory can be woken by something
    /// other than an input keeps the weak_kernel, and uses it to have such an entity [looked
    /// at](WeakKernel::look_at).
    fn opened(&self, weak_kernel: &WeakKernel) {
        let _ = weak_kernel;
    }

    /// Returns the answer to this call if the call resumes a held entity (W2), otherwise `None`.
    fn resumes(&self, verb: &str) -> Option<Bytes> {
        let _ = verb;
        None
    }

    /// Returns the names of the work that writes rows of the author's ([`Cx::transact`]). A kernel with such
    /// a definition cannot be opened over a store without SQL.
    fn scripts(&self) -> Vec<Name> {
        Vec::new()
    }
}

/// The result of a turn.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly every turn gives a commit; a box would cost each an allocation")]
pub enum Next {
    /// Writes a commit, which may be empty.
    Commit(Commit),
    /// Runs the code of a call or message first. The end of that code comes back as [`Input::Done`].
    Run(Work),
    /// Needs these rows. The same turn is asked again when they have been read.
    Read(Vec<Range>),
    /// Refuses the input: the caller gets this error, and nothing is written. A message refused with
    /// [`Error::Failed`] or [`Error::Declined`] is retried later; a message refused with any other error
    /// becomes a dead letter (M4).
    Refuse(Error),
    /// The stored record cannot be read. The entity is parked with this reason, never reset (E10).
    Park(String),
}

impl Next {
    /// Returns the result of a turn that writes nothing.
    pub fn nothing() -> Self {
        Self::Commit(Commit::default())
    }
}

/// A value, or the rows that must be read before the value can be computed.
#[derive(Debug)]
pub enum Needed<T> {
    /// The value.
    Ready(T),
    /// The rows to read before asking again.
    Read(Vec<Range>),
}

/// A handler's cache for one entity: decoded state, a live future. It may be dropped before any call; only
/// the time that the call takes changes (E13).
#[derive(Default)]
pub struct Hot(Option<Memory>);

/// The cached value, and its estimated size in bytes.
struct Memory {
    value: Box<dyn Any + Send>,
    bytes: usize,
}

impl Hot {
    /// Makes a cache that holds `value`.
    pub fn new<T: Any + Send>(value: T) -> Self {
        let mut hot = Self::default();
        hot.set(value);
        hot
    }

    /// Makes a cache that holds a value which is already boxed.
    pub fn boxed<T: Any + Send>(value: Box<T>) -> Self {
        Self(Some(Memory { value, bytes: 4 * size_of::<T>() }))
    }

    /// Returns the cached value, if it is of this type.
    pub fn get<T: Any + Send>(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.value.downcast_mut()
    }

    /// Takes the cached value out, if it is of this type.
    pub fn take<T: Any + Send>(&mut self) -> Option<T> {
        self.take_boxed().map(|value| *value)
    }

    /// Takes the cached value out in its box, if it is of this type.
    pub fn take_boxed<T: Any + Send>(&mut self) -> Option<Box<T>> {
        if !self.0.as_ref()?.value.is::<T>() {
            return None;
        }
        self.0.take()?.value.downcast().ok()
    }

    /// Replaces the cached value. Its size is estimated as four times the size of `T`, to allow for a few
    /// things that it points to.
    pub fn set<T: Any + Send>(&mut self, value: T) {
        self.set_weighing(4 * size_of::<T>(), value);
    }

    /// Replaces the cached value by one of about so many bytes.
    pub fn set_weighing<T: Any + Send>(&mut self, bytes: usize, value: T) {
        self.0 = Some(Memory { value: Box::new(value), bytes });
    }

    /// Drops the cached value.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Returns about how many bytes the cache takes in memory.
    pub(crate) fn weight(&self) -> usize {
        self.0.as_ref().map_or(0, |memory| memory.bytes)
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl Clone for Hot {
    /// Returns an empty cache: a cached value is never shared.
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl fmt::Debug for Hot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_empty() { "Hot(empty)" } else { "Hot(..)" })
    }
}

//! The trait behind every kind: what a turn does, which work should run, and how that work is run.

use std::pin::Pin;

use bytes::Bytes;

use super::{cx::Cx, weak::WeakKernel};
use crate::{Borrow, Commit, Entity, Error, Hot, Input, Key, Millis, Name, Now, Outcome, Range, Rows, Work};

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

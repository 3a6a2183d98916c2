//! Work: the author's code that a commit calls for.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{Epoch, Key, Lane, Mark, Millis, Name, Partition, Range, Row, RowKey, Version};
use crate::{
    Error,
    kernel::{Door, Reader},
    store::sql::{Claim, Script, ScriptCode, Scripted},
};

/// A piece of work: `tick/7`, `batch/3`, `charge#1`. Stable over retries and restarts, so that it can serve
/// as an idempotency key outside.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(Name);

impl WorkId {
    /// The id with this text, unique within one entity.
    pub fn new(text: impl Into<Name>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn name(&self) -> Name {
        self.0.clone()
    }
}

impl fmt::Debug for WorkId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl fmt::Display for WorkId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// What should run, as it follows from what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Which piece it is.
    pub id: WorkId,
    /// Which attempt of it; the handler counts them in its record.
    pub attempt: u32,
    /// What it needs of the author's struct.
    pub borrow: Borrow,
    /// Whether it acts on nothing outside: then it is polled in the turn, may run ahead of what is durable,
    /// and may be run again from its input.
    pub pure: bool,
    /// Whether what it left may stand outside the entity's record (W6). After the entity was read, such work borrows the struct
    /// before any call does, so that what it left is taken first.
    pub goes_first: bool,
    /// What it is given.
    pub input: Bytes,
    /// How long one attempt may take, from when its code starts.
    pub timeout: Option<Duration>,
    /// How long it may give no sign of life.
    pub silence: Option<Duration>,
    /// The mark that it was recorded under, from the record that lists it. Without one, code that a call or a message
    /// asks for gets the mark of that call or message; listed work that an older build recorded has none.
    pub mark: Option<Mark>,
}

impl Work {
    /// A first attempt without limits that borrows nothing.
    pub fn new(id: impl Into<Name>) -> Self {
        Self {
            id: WorkId::new(id),
            attempt: 1,
            borrow: Borrow::None,
            pure: false,
            goes_first: false,
            input: Bytes::new(),
            timeout: None,
            silence: None,
            mark: None,
        }
    }
}

/// What code needs of the author's struct, as Rust borrows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Borrow {
    /// Nothing: a kind's own verb, or a step. It never waits for the author's code.
    None,
    /// A snapshot of the committed state. It never waits either.
    Shared,
    /// The struct itself: one at a time, in order of arrival (E3).
    Exclusive,
}

/// What code that runs as work may ask for (E14).
#[derive(Clone)]
pub struct Cx {
    /// The entity's address.
    pub key: Key,
    /// Its definition.
    pub definition: Name,
    /// Its incarnation; `None` while the call that runs may yet bind it.
    pub id: Option<Version>,
    /// The piece of work.
    pub work: WorkId,
    /// The attempt of it.
    pub attempt: u32,
    /// The mark that it was recorded under: it makes the work's id unique in the world.
    pub mark: Option<Mark>,
    /// When it started.
    pub now: Millis,
    /// Grows with every owner and commit: whoever acts outside can refuse an older one.
    pub fence: Version,
    /// The partition that this was started for, and its epoch.
    pub(crate) owned: (Partition, Epoch),
    pub(crate) door: Arc<dyn Door>,
    pub(crate) chain: Arc<[Key]>,
    pub(crate) pulse: Arc<dyn SignsOfLife>,
}

/// Who is shown the signs of life of code that runs.
pub(crate) trait SignsOfLife: Send + Sync {
    /// Shows one.
    fn shows(&self, sign: Sign);
}

/// A sign of life of code that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sign {
    /// It says so.
    Alive,
    /// It waits for rows from now on: that time is the store's, not its own.
    Reads,
    /// It has them.
    HasRead,
}

impl Cx {
    /// Says that the code is alive: silence is counted from here (W10).
    pub fn heartbeat(&self) {
        self.pulse.shows(Sign::Alive);
    }

    /// Rows of this entity, or of a lane that was held (`range.of`), as they are in the store: for work whose input is
    /// too long for its record. If another owner has written the entity since, or it is gone, there is no answer: the rows may be
    /// gone, too, and the code that asks is about to be dropped.
    pub async fn rows(&self, range: Range) -> Result<Vec<Row>, Error> {
        let Some(id) = self.id else { return Ok(Vec::new()) };
        self.pulse.shows(Sign::Reads);
        let reader = Reader { key: self.key.clone(), id, owned: self.owned };
        let rows = self.door.rows(reader, range).await;
        self.pulse.shows(Sign::HasRead);
        rows
    }

    /// Runs code that writes rows of the author's, in one transaction with a row of this entity that holds `before` until then
    /// and what the code came to from then on (W6). It is run again by whoever asks again, until it came to something; if the row is not
    /// there any more, not at all.
    pub async fn transact(
        &self,
        (lane, key): (Lane, RowKey),
        before: Bytes,
        limit: Duration,
        code: ScriptCode,
    ) -> Result<Scripted, Error> {
        let Some(entity) = self.id else { return Ok(Scripted::Gone) };
        let claim = Some(Claim { owned: self.owned, entity, lane, key, before });
        self.door.transact(self.key.clone(), Script { claim, fence: None, limit, code }).await
    }

    /// The kernel for what goes on after this code has ended: a guard that it leaves behind.
    pub fn outpost(&self) -> crate::kernel::Outpost {
        self.door.outpost()
    }

    /// Calls another entity and waits. Refused with [`Error::Cycle`] if that entity waits for us (M3).
    pub async fn call(&self, call: crate::Call) -> Result<Bytes, Error> {
        self.door.call(call.within(self.chain.clone())).await
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Cx")
            .field("key", &self.key)
            .field("work", &self.work)
            .field("attempt", &self.attempt)
            .finish()
    }
}

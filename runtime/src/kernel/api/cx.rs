//! The context of running work: what the code of an entity may ask the kernel for.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    call::{Call, KernelPort, Reader},
    weak::WeakKernel,
};
use crate::{
    Epoch, Error, Key, Lane, Mark, Millis, Name, Partition, Range, Row, RowKey, Version, WorkId,
    store::sql::{Claim, Script, ScriptCode, Scripted},
};

/// The context of running work: what its code may ask for (E14).
#[derive(Clone)]
pub struct Cx {
    /// The address of the entity.
    pub key: Key,
    /// The definition of the entity.
    pub definition: Name,
    /// The incarnation of the entity; `None` while the running call may still bind the key.
    pub id: Option<Version>,
    /// The id of the work.
    pub work: WorkId,
    /// The attempt.
    pub attempt: u32,
    /// The mark under which the work was recorded. It makes the work's id globally unique.
    pub mark: Option<Mark>,
    /// When the work started.
    pub now: Millis,
    /// The fencing token. The token grows with every owner and commit, so that other systems can refuse a
    /// request with an older token.
    pub fence: Version,
    /// The partition that the work was started in, and the epoch of that ownership.
    pub(crate) owned: (Partition, Epoch),
    pub(crate) port: Arc<dyn KernelPort>,
    pub(crate) chain: Arc<[Key]>,
    pub(crate) pulse: Arc<dyn SignsOfLife>,
}

/// Receives the signs of life of running code.
pub(crate) trait SignsOfLife: Send + Sync {
    /// Records one sign of life.
    fn shows(&self, sign: Sign);
}

/// A sign of life of code that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sign {
    /// The code called [`Cx::heartbeat`].
    Alive,
    /// The code begins to wait for rows. The time until [`HasRead`](Self::HasRead) is the store's, and is not
    /// counted as silence.
    Reads,
    /// The code has its rows, or waits for them no longer.
    HasRead,
}

/// A wait for rows. The guard reports its end also if the code drops the wait.
struct Reading<'a>(&'a dyn SignsOfLife);

impl<'a> Reading<'a> {
    fn begin(pulse: &'a dyn SignsOfLife) -> Self {
        pulse.shows(Sign::Reads);
        Self(pulse)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.shows(Sign::HasRead);
    }
}

impl Cx {
    /// Reports that the code is alive: silence is counted from here (W10).
    pub fn heartbeat(&self) {
        self.pulse.shows(Sign::Alive);
    }

    /// Reads rows of this entity, or of a held lane (`range.of`), from the store; for work whose input is too
    /// long for its record.
    ///
    /// If another owner has written the entity since, or the entity is gone, the future never resolves: the
    /// rows may be gone as well, and the code that waits for them is about to be dropped.
    pub async fn rows(&self, range: Range) -> Result<Vec<Row>, Error> {
        let Some(id) = self.id else { return Ok(Vec::new()) };
        let _reading = Reading::begin(&*self.pulse);
        let reader = Reader { key: self.key.clone(), id, owned: self.owned };
        self.port.rows(reader, range).await
    }

    /// Runs code that writes rows of the author's, in one transaction with a row of this entity (W6). The row
    /// holds `before` until then, and the result of the code afterwards.
    ///
    /// If the row has a result already, the code is not run again. If the row does not exist any more, the
    /// code is not run at all.
    pub async fn transact(
        &self,
        (lane, key): (Lane, RowKey),
        before: Bytes,
        limit: Duration,
        code: ScriptCode,
    ) -> Result<Scripted, Error> {
        let Some(entity) = self.id else { return Ok(Scripted::Gone) };
        let claim = Some(Claim { owned: self.owned, entity, lane, key, before });
        self.port.transact(self.key.clone(), Script { claim, fence: None, limit, code }).await
    }

    /// Returns access to the kernel for something that outlives this code, such as a guard.
    pub fn weak_kernel(&self) -> WeakKernel {
        self.port.weak_kernel()
    }

    /// Calls another entity and waits for the answer. Returns [`Error::Cycle`] if the called entity waits for
    /// the caller (M3).
    pub async fn call(&self, call: Call) -> Result<Bytes, Error> {
        self.port.call(call.within(self.chain.clone())).await
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

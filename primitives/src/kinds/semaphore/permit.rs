//! A permit, as its holder has it: a guard.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drystone_runtime::{Call, Error, Millis, driver::Handle, kernel::Outpost};
use serde::{Deserialize, Serialize};

use crate::{Address, Args, Timestamp, decode};

/// What an owner gives: who may release it, and until when it is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Granted {
    pub(super) epoch: u32,
    pub(super) number: u64,
    pub(super) token: u64,
    pub(super) weight: u64,
    pub(super) until: Timestamp,
    /// In milliseconds; none if it comes back with time alone.
    pub(super) lease: Option<u64>,
}

/// Why an owner gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Refused {
    TooHeavy { weight: u64, permits: u64 },
    Crowded { waiting: u64 },
}

/// Why there is no permit.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AcquireError {
    /// Its turn did not come in time; it has left the line.
    #[error("no permit was free in time; try again later, or wait longer")]
    TimedOut,
    /// It wants more than there is, ever (S1).
    #[error("a permit of weight {weight} is more than all {permits} permits together")]
    TooHeavy {
        /// What was asked for.
        weight: u64,
        /// How many there are.
        permits: u64,
    },
    /// So many wait already that it could not.
    #[error("{waiting} wait for a permit already; try again later")]
    Crowded {
        /// How many.
        waiting: u64,
    },
    /// The call did not come to its end. If a permit was given meanwhile, it comes back.
    #[error(transparent)]
    Fault(#[from] Error),
}

impl From<Refused> for AcquireError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::TooHeavy { weight, permits } => Self::TooHeavy { weight, permits },
            Refused::Crowded { waiting } => Self::Crowded { waiting },
        }
    }
}

/// A permit: held until it is dropped or [released](Self::release).
///
/// While it is held in a live process it is renewed, three times in each lease. If the process dies, it comes back when
/// its lease ends; if only the store is away for so long, [`lost`](Self::lost) says so in time. The permit of a rate limit
/// is not renewed and comes back when its window has passed, whatever becomes of this.
#[must_use = "a permit that is dropped is released"]
pub struct Permit {
    address: Address,
    granted: Granted,
    good: Arc<Good>,
    /// Renews it. In a lock only so that a permit may be shared between threads.
    renewal: Mutex<Option<Handle>>,
    /// Whether to release it when it is dropped.
    is_held: bool,
}

impl Permit {
    pub(super) fn new(address: Address, granted: Granted, outpost: Outpost) -> Self {
        let good = Arc::new(Good::new(&granted, outpost));
        let lease = granted.lease.map(Duration::from_millis);
        let renewal = lease.and_then(|lease| {
            let (address, good) = (address.clone(), good.clone());
            good.outpost.clone().spawn(Box::pin(async move { good.renew(&address, &granted, lease).await }))
        });
        Self { address, granted, good, renewal: Mutex::new(renewal), is_held: lease.is_some() }
    }

    /// The fencing token: higher than that of any permit that this key has given before. Whoever acts on the word of a
    /// permit hands it on, and the other end refuses a lower one than it has seen.
    pub fn token(&self) -> u64 {
        self.granted.token
    }

    /// How much it counts as.
    pub fn weight(&self) -> u64 {
        self.granted.weight
    }

    /// Whether it may have ended, so that another may hold it: it could not be renewed, or this process was asleep. Once
    /// lost it stays so.
    pub fn lost(&self) -> bool {
        self.good.is_over()
    }

    /// Releases it, and waits until that is durable. `false` if it had ended before (that is no error), or belongs to a
    /// rate limit: then nothing changes.
    pub async fn release(mut self) -> Result<bool, Error> {
        if !std::mem::take(&mut self.is_held) {
            return Ok(false);
        }
        self.stop_renewing();
        let Granted { epoch, number, .. } = self.granted;
        let call = self.address.call::<bool, crate::Never>("release", Args::new().put(&epoch).put(&number));
        match call.await.map_err(Error::from) {
            // The semaphore is destroyed, and the permit with it.
            Err(Error::NotBound { .. } | Error::Destroyed { .. }) => Ok(false),
            answer => answer,
        }
    }

    fn stop_renewing(&self) {
        drop(self.renewal.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.stop_renewing();
        if self.is_held
            && let Ok(release) = call(&self.address, "release", &self.granted)
        {
            let outpost = self.good.outpost.clone();
            // If it does not get through, the lease ends.
            self.good.outpost.detach(Box::pin(async move { drop(outpost.call(release).await) }));
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Granted { token, weight, .. } = self.granted;
        out.debug_struct("Permit")
            .field("of", &self.address)
            .field("token", &token)
            .field("weight", &weight)
            .field("lost", &self.lost())
            .finish()
    }
}

/// How long a permit is good, by two clocks: the owner's, which may jump on, and the one that only moves on, which counts
/// when the owner cannot be asked.
struct Good {
    outpost: Outpost,
    until: Mutex<(Millis, Duration)>,
    is_lost: AtomicBool,
}

impl Good {
    fn new(granted: &Granted, outpost: Outpost) -> Self {
        let until: Millis = granted.until.into();
        let left = outpost.now().map_or(Duration::ZERO, |now| until.since(now));
        let by = outpost.monotonic().unwrap_or_default() + left;
        Self { outpost, until: Mutex::new((until, by)), is_lost: AtomicBool::new(false) }
    }

    fn is_over(&self) -> bool {
        if !self.is_lost.load(Ordering::Acquire) && self.left().is_zero() {
            self.is_lost.store(true, Ordering::Release);
        }
        self.is_lost.load(Ordering::Acquire)
    }

    /// How long it is good yet; if its owner has ended nobody knows, and that is not at all.
    fn left(&self) -> Duration {
        let (until, by) = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.outpost.now(), self.outpost.monotonic()) {
            (Some(now), Some(monotonic)) => until.since(now).min(by.saturating_sub(monotonic)),
            _ => Duration::ZERO,
        }
    }

    /// Renews it until it is lost.
    async fn renew(&self, address: &Address, granted: &Granted, lease: Duration) {
        let mut pause = lease / 3;
        loop {
            self.outpost.sleep(pause.max(Duration::from_millis(1))).await;
            let (left, asked_at) = (self.left(), self.outpost.monotonic());
            let (Ok(call), Some(asked_at)) = (call(address, "renew", granted), asked_at) else { return };
            if self.is_over() {
                return;
            }
            let answer = self.outpost.call(call.deadline(left)).await;
            match answer.map(|bytes| decode::<Option<Timestamp>>(&bytes)) {
                Ok(Ok(Some(until))) if !self.is_over() => {
                    // Counted from when it was asked: its owner counts from later on.
                    let until = (until.into(), asked_at + lease);
                    *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
                    pause = lease / 3;
                }
                // It has ended; or its semaphore is gone, and what comes under this key is another.
                Ok(_) | Err(Error::NotBound { .. } | Error::Destroyed { .. } | Error::TypeMismatch { .. }) => {
                    return self.is_lost.store(true, Ordering::Release);
                }
                Err(_) => pause = lease / 10,
            }
        }
    }
}

/// A call about a permit.
fn call(address: &Address, verb: &'static str, granted: &Granted) -> Result<Call, String> {
    let body = Args::new().put(&granted.epoch).put(&granted.number).finish()?;
    Ok(Call::new(address.definition().to_owned(), address.key().to_vec(), verb, body))
}

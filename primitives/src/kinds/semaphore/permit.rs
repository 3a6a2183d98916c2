//! A permit as its holder has it: a guard.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drystone_runtime::{Call, Error, Millis, driver::Handle, kernel::WeakKernel};
use serde::{Deserialize, Serialize};

use crate::{Address, Args, Timestamp, decode};

/// A permit as the semaphore gives it: the ticket that can release it, and the time until which it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Granted {
    pub(super) epoch: u32,
    pub(super) number: u64,
    pub(super) token: u64,
    pub(super) weight: u64,
    pub(super) until: Timestamp,
    /// The lease in milliseconds; `None` if the permit comes back by time alone.
    pub(super) lease: Option<u64>,
}

/// Why a semaphore refuses a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Refused {
    TooHeavy { weight: u64, permits: u64 },
    Crowded { waiting: u64 },
}

/// Why there is no permit.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AcquireError {
    /// No permit was free in time. The caller has left the line.
    #[error("no permit was free in time; try again later, or wait longer")]
    TimedOut,
    /// The weight is more than all permits together (S1).
    #[error("a permit of weight {weight} is more than all {permits} permits together")]
    TooHeavy {
        /// The weight that was asked for.
        weight: u64,
        /// The weight of all permits together.
        permits: u64,
    },
    /// Too many callers wait already.
    #[error("{waiting} wait for a permit already; try again later")]
    Crowded {
        /// How many callers wait.
        waiting: u64,
    },
    /// The call did not come to its end. A permit that was given meanwhile comes back.
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
/// While a live process holds the permit, it is renewed three times in each lease. If the process dies, the
/// permit comes back when its lease ends. If only the store is unreachable for that long,
/// [`lost`](Self::lost) says so in time. The permit of a rate limit is not renewed. It comes back when its
/// window has passed, even if this value was dropped before.
#[must_use = "a permit that is dropped is released"]
pub struct Permit {
    address: Address,
    granted: Granted,
    good: Arc<Good>,
    /// The task that renews the permit. The lock serves only to let threads share a permit.
    renewal: Mutex<Option<Handle>>,
    /// Whether the permit is to be released when it is dropped.
    is_held: bool,
}

impl Permit {
    pub(super) fn new(address: Address, granted: Granted, weak_kernel: WeakKernel) -> Self {
        let good = Arc::new(Good::new(&granted, weak_kernel));
        let lease = granted.lease.map(Duration::from_millis);
        let renewal = lease.and_then(|lease| {
            let (address, good) = (address.clone(), good.clone());
            good.weak_kernel.clone().spawn(Box::pin(async move { good.renew(&address, &granted, lease).await }))
        });
        Self { address, granted, good, renewal: Mutex::new(renewal), is_held: lease.is_some() }
    }

    /// Returns the fencing token, which is higher than that of any permit that this key has given before.
    /// Pass the token to the systems behind the permit, so that they can refuse a token lower than
    /// one they have seen.
    pub fn token(&self) -> u64 {
        self.granted.token
    }

    /// Returns the weight of the permit.
    pub fn weight(&self) -> u64 {
        self.granted.weight
    }

    /// Whether the permit may have ended and be held by another caller: the renewal failed, or
    /// this process was suspended. A lost permit stays lost.
    pub fn lost(&self) -> bool {
        self.good.is_over()
    }

    /// Releases the permit, and waits until that is durable. Returns `false` if the permit had ended before
    /// (which is no error), or if it belongs to a rate limit; then nothing changes.
    pub async fn release(mut self) -> Result<bool, Error> {
        if !std::mem::take(&mut self.is_held) {
            return Ok(false);
        }
        self.stop_renewing();
        let Granted { epoch, number, .. } = self.granted;
        let call = self.address.call::<bool, crate::Never>("release", Args::new().put(&epoch).put(&number));
        match call.await.map_err(Error::from) {
            // The semaphore was destroyed, and the permit with it.
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
            let weak_kernel = self.good.weak_kernel.clone();
            // If the release does not get through, the permit comes back when its lease ends.
            self.good.weak_kernel.detach(Box::pin(async move { drop(weak_kernel.call(release).await) }));
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

/// How long a permit lasts, by two clocks. The kernel's clock may jump forward. The monotonic clock cannot
/// jump, and counts when the permit cannot be renewed.
struct Good {
    weak_kernel: WeakKernel,
    until: Mutex<(Millis, Duration)>,
    is_lost: AtomicBool,
}

impl Good {
    fn new(granted: &Granted, weak_kernel: WeakKernel) -> Self {
        let until: Millis = granted.until.into();
        let left = weak_kernel.now().map_or(Duration::ZERO, |now| until.since(now));
        let by = weak_kernel.monotonic().unwrap_or_default() + left;
        Self { weak_kernel, until: Mutex::new((until, by)), is_lost: AtomicBool::new(false) }
    }

    fn is_over(&self) -> bool {
        if !self.is_lost.load(Ordering::Acquire) && self.left().is_zero() {
            self.is_lost.store(true, Ordering::Release);
        }
        self.is_lost.load(Ordering::Acquire)
    }

    /// Returns how long the permit still lasts. Returns zero if the kernel has ended, because the time is
    /// then unknown.
    fn left(&self) -> Duration {
        let (until, by) = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.weak_kernel.now(), self.weak_kernel.monotonic()) {
            (Some(now), Some(monotonic)) => until.since(now).min(by.saturating_sub(monotonic)),
            _ => Duration::ZERO,
        }
    }

    /// Renews the permit until it is lost.
    async fn renew(&self, address: &Address, granted: &Granted, lease: Duration) {
        let mut pause = lease / 3;
        loop {
            self.weak_kernel.sleep(pause.max(Duration::from_millis(1))).await;
            let (left, asked_at) = (self.left(), self.weak_kernel.monotonic());
            let (Ok(call), Some(asked_at)) = (call(address, "renew", granted), asked_at) else { return };
            if self.is_over() {
                return;
            }
            let answer = self.weak_kernel.call(call.deadline(left)).await;
            match answer.map(|bytes| decode::<Option<Timestamp>>(&bytes)) {
                Ok(Ok(Some(until))) if !self.is_over() => {
                    // Counted from the moment of asking: the semaphore counts from a later one, so this end
                    // is never too late.
                    let until = (until.into(), asked_at + lease);
                    *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
                    pause = lease / 3;
                }
                // The permit has ended; or its semaphore was destroyed, and the key now belongs to another
                // entity.
                Ok(_) | Err(Error::NotBound { .. } | Error::Destroyed { .. } | Error::TypeMismatch { .. }) => {
                    return self.is_lost.store(true, Ordering::Release);
                }
                Err(_) => pause = lease / 10,
            }
        }
    }
}

/// Makes a call about a permit.
fn call(address: &Address, verb: &'static str, granted: &Granted) -> Result<Call, String> {
    let body = Args::new().put(&granted.epoch).put(&granted.number).finish()?;
    Ok(Call::new(address.definition().to_owned(), address.key().to_vec(), verb, body))
}

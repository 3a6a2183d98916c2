//! Permits: at most n at a time, or n per second, with leases, fencing tokens, and a line that is first
//! come, first served.
//!
//! ```
//! use drystone::{Primitives, d, primitive, testing::World};
//!
//! /// At most two calls at a time to one account.
//! #[primitive(semaphore, permits = 2, lease = "30s")]
//! struct StripeApi;
//!
//! /// At most a hundred requests in any second.
//! #[primitive(semaphore, permits = 100, window = "1s")]
//! struct PerSecond;
//!
//! #[derive(Primitives)]
//! struct App {
//!     stripe_api: StripeApi,
//!     per_second: PerSecond,
//! }
//!
//! # drystone::testing::block_on(async {
//! let world = World::memory().start::<App>().await;
//! let stripe = world.client().stripe_api("acct-1");
//! let first = stripe.acquire().await.unwrap(); // waits in line, if it must
//! let second = stripe.acquire().timeout(d!("5s")).await.unwrap();
//! assert!(second.token() > first.token());
//! assert!(stripe.try_acquire().await.unwrap().is_none());
//! drop(first); // released
//! assert!(stripe.try_acquire().await.unwrap().is_some());
//!
//! let limit = world.client().per_second("everybody");
//! let _ = limit.acquire().weight(100).await.unwrap();
//! assert!(limit.try_acquire().await.unwrap().is_none()); // released or not: only time brings them back
//! world.advance(d!("1s")).await;
//! assert!(limit.try_acquire().await.unwrap().is_some());
//! # });
//! ```
//!
//! A semaphore is a struct without fields and needs no functions. To give it functions, put the attribute on
//! the `impl` of a struct that can be stored, as with any kind. An entity's code asks for permits as any
//! other code does: `stripe: &Client<StripeApi>`, then `stripe.get("acct-1").acquire().await`.
//!
//! Promises, beyond those of every entity:
//!
//! - At every commit, the permits that are out and have not ended weigh `permits` at most, over crashes and
//!   restarts (S5).
//! - The first caller that asks is served first. Nobody overtakes the first in line, neither by asking for
//!   less nor by [`try_acquire`](Verbs::try_acquire). A caller that times out or is dropped leaves the line;
//!   a permit on its way to a caller that has left comes back at once (S1).
//! - A [`Permit`] is a guard: it is renewed while a live process holds it, and released when it is dropped.
//!   After a crash it comes back when its lease ends (S4). Its [`token`](Permit::token) is higher than the
//!   token of every permit before, even over a `destroy` that is a millisecond ago. A permit that may have
//!   ended says so: [`lost`](Permit::lost). Its late release does not free the permit of another holder
//!   (S2).
//! - With `window` a permit comes back when that time has passed since the permit was given, and not when it
//!   is dropped (S3).
//! - Changed options in the code hold from the next start of the program on. With fewer permits nothing is
//!   given until it fits; with more permits the line moves at once. Permits already given keep their end
//!   (E11).
//!
//! The body of a workflow holds a permit by [`Flow::permit`](crate::Flow::permit). Such a permit has no
//! lease, because it outlives the process. It comes back with the commit in which the body drops it or the
//! run ends.
//!
//! At most 1,024 callers wait per key; further callers get [`AcquireError::Crowded`].
//! [`stats`](Verbs::stats) shows up to 32 holders and 32 waiting callers. A restart ends every wait with an
//! error.

#[cfg(test)]
mod model;
mod options;
mod permit;
#[cfg(test)]
mod property;
mod record;
mod runs;
#[cfg(test)]
mod tests;
mod turns;
mod verbs;

use drystone_runtime::{Status as Phase, Ticket};

pub(crate) use self::verbs::refusal;
pub use self::{
    options::Options,
    permit::{AcquireError, Permit},
    record::{Holder, Record, Stats, Status, Waiter},
    verbs::{Acquire, Acquiring, TryAcquire, Verbs},
};
use crate::kind::{Answer, Done, Ended, Kind, Piece, Shown, Stop, Turn};

impl Kind for Options {
    const NAME: &'static str = "semaphore";
    const VERBS: &'static [&'static str] =
        &["acquire", "try_acquire", "release", "renew", "stats", "acquire_as", "release_as", "withdraw_as"];
    const BINDING: &'static [&'static str] = &["acquire", "try_acquire", "acquire_as", "withdraw_as"];

    const MARKS_WORK: bool = true;

    type Record = Record;
    type Status = Status;

    fn born(&self, turn: &mut Turn<'_, Record>) {
        turn.set_status(Phase::resting("idle"));
    }

    fn verb(&self, turn: &mut Turn<'_, Record>, verb: &str, body: &[u8]) -> Result<Answer, Stop> {
        match verb {
            "acquire" => self.acquire(turn, body, true),
            "try_acquire" => self.acquire(turn, body, false),
            "release" => self.release(turn, body),
            "renew" => self.renew(turn, body),
            "stats" => self.stats(turn),
            "acquire_as" => self.acquire_as(turn, body),
            "release_as" => self.release_as(turn, body),
            "withdraw_as" => self.withdraw_as(turn, body),
            _ => Err(Stop::Malformed(format!("a semaphore has no verb `{verb}`"))),
        }
    }

    /// Answers the release of a permit that a run got before the semaphore was destroyed: nothing is held
    /// here.
    fn unbound(&self, verb: &str) -> Option<Answer> {
        (verb == "release_as").then(|| Answer::value(&false).ok()).flatten()
    }

    fn alarm(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        let more = self.refresh(turn, None)?;
        self.settle(turn, more);
        Ok(())
    }

    fn gone(&self, turn: &mut Turn<'_, Record>, ticket: Ticket) -> Result<(), Stop> {
        self.left(turn, ticket)
    }

    fn done(&self, _: &mut Turn<'_, Record>, _: &Done, _: Ended) -> Result<(), Stop> {
        Ok(())
    }

    /// Serves the line again, because there may be more permits.
    fn changed(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        self.settle(turn, turn.record.waiting > 0);
        Ok(())
    }

    fn work(&self, _: &Shown<'_, Record>) -> Vec<Piece> {
        Vec::new()
    }

    fn status(&self, shown: &Shown<'_, Record>) -> Status {
        let Record { used, waiting, token, .. } = *shown.record;
        Status { permits: self.permits, used, waiting, token }
    }
}

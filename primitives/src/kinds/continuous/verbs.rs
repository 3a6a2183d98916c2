//! The verbs of a continuous entity.

use serde::{Deserialize, Serialize};

use crate::{Args, Call, Primitive};

crate::verbs! {
    /// The verbs of a continuous entity, beside those of every entity: [`start`](crate::Handle::start),
    /// [`start_with`](crate::Handle::start_with), [`replace`](crate::Handle::replace),
    /// [`state`](crate::Handle::state), [`status`](crate::Handle::status),
    /// [`destroy`](crate::Handle::destroy).
    pub struct Verbs;
}

/// The answer of `trigger`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Triggered {
    /// A tick runs now.
    Now,
    /// A tick is in flight or about to start. One more tick follows it, however often `trigger` is called
    /// meanwhile.
    Next,
}

impl<T: Primitive, I> Verbs<T, I> {
    /// Stops at once; the stop is durable when this call answers. A tick in flight (or due at this moment)
    /// runs to its end, and its state is kept. No other tick and no retry follows (C3). Returns `false` if
    /// the entity was not running.
    pub fn stop(&self) -> Call<bool> {
        self.address().call("stop", Args::new())
    }

    /// Resumes a stopped or failed entity with its stored state. This is durable when the call answers (C2).
    /// Returns `false` if the entity was running.
    pub fn resume(&self) -> Call<bool> {
        self.address().call("resume", Args::new())
    }

    /// Runs a tick at once, or one more after a tick in flight. The call answers when that is durable, not
    /// when the tick has run. A stopped or failed entity runs one tick and stays as it is. An unbound key is
    /// started if its state can be made (C3).
    pub fn trigger(&self) -> Call<Triggered> {
        self.address().call("trigger", Args::new())
    }
}

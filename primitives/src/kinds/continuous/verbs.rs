//! What callers of a continuous entity hold.

use serde::{Deserialize, Serialize};

use crate::{Args, Call, Primitive};

crate::verbs! {
    /// The verbs of a continuous entity, beside those of every entity: [`start`](crate::Handle::start),
    /// [`start_with`](crate::Handle::start_with), [`replace`](crate::Handle::replace), [`state`](crate::Handle::state), [`status`](crate::Handle::status), [`destroy`](crate::Handle::destroy).
    pub struct Verbs;
}

/// What `trigger` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Triggered {
    /// A tick runs now.
    Now,
    /// A tick is in flight or about to start; one more follows it, however often it was asked for meanwhile.
    Next,
}

impl<T: Primitive, I> Verbs<T, I> {
    /// Stops: at once, and durable when this answers. A tick in flight (or due at this moment) ends, and its state is kept;
    /// there is no next one, and no retry (C3). `false` if it was not running.
    pub fn stop(&self) -> Call<bool> {
        self.address().call("stop", Args::new())
    }

    /// Resumes an entity that has stopped or failed, with the state that it has; durable when this answers (C2). `false` if it
    /// was running.
    pub fn resume(&self) -> Call<bool> {
        self.address().call("resume", Args::new())
    }

    /// Runs a tick at once, or one more after a tick in flight; answers when that is durable, not when it has run. An entity
    /// that has stopped or failed runs once and stays as it is. An unbound key is started if its state can be made (C3).
    pub fn trigger(&self) -> Call<Triggered> {
        self.address().call("trigger", Args::new())
    }
}

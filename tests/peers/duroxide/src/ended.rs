//! Runs that have come to their end in this process, recorded or not.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::oneshot::{Receiver, Sender, channel};

/// Those who wait for the end of a run, by its name.
#[derive(Clone, Default)]
pub struct Ended(Arc<Mutex<HashMap<String, Sender<()>>>>);

impl Ended {
    /// Is answered when the run comes to its end.
    pub fn watch(&self, run: &str) -> Receiver<()> {
        let (tell, told) = channel();
        self.watched().insert(run.to_owned(), tell);
        told
    }

    /// Does nothing the second time: a turn that could not be committed is done again.
    pub fn tell(&self, run: &str) {
        // Nobody waits any more for a run that took too long.
        let _ = self.watched().remove(run).map(|tell| tell.send(()));
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<String, Sender<()>>> {
        self.0.lock().expect("nobody panics with it")
    }
}

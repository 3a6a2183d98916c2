//! A till: an object that errands call. The till records all calls in order.

use drystone::primitive;
use serde::{Deserialize, Serialize};

/// The calls that the till has taken.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Till {
    /// The tasks, in order of arrival.
    pub rung: Vec<u64>,
}

#[primitive(object)]
impl Till {
    /// Takes a task and returns the number of tasks so far. With `fails` the call fails, and everything
    /// must stay as it was.
    async fn ring(&mut self, task: u64, fails: bool) -> Result<u64, String> {
        self.rung.push(task);
        if fails { Err("as asked".to_owned()) } else { Ok(self.rung.len() as u64) }
    }
}

//! A till: an object that errands call, and that says what it was given, in order.

use drystone::primitive;
use serde::{Deserialize, Serialize};

/// What it has taken.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Till {
    /// Tasks, in the order in which they came.
    pub rung: Vec<u64>,
}

#[primitive(object)]
impl Till {
    /// Takes a task; how many it has then. With `fails` all of it must be as it was.
    async fn ring(&mut self, task: u64, fails: bool) -> Result<u64, String> {
        self.rung.push(task);
        if fails { Err("as asked".to_owned()) } else { Ok(self.rung.len() as u64) }
    }
}

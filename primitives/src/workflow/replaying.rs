//! A recorded history, run against today's code.

use super::{
    Divergence, History, Workflow,
    journal::{End, Entry, What},
    live::{Identity, Live},
    replay::{self, Halt},
};

/// Why a history does not fit the code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The code asks for something else than the history has.
    #[error("{0}")]
    Diverged(Divergence),
    /// The code panicked.
    #[error("at entry {entry} of the journal the code panicked: {message}")]
    Panicked {
        /// The message.
        message: String,
        /// How many entries it had been told.
        entry: u64,
    },
}

impl From<Halt> for ReplayError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Diverged(divergence) => Self::Diverged(divergence),
            Halt::Panicked { message, entry } => Self::Panicked { message, entry },
        }
    }
}

/// Runs a recorded history against today's code: no step is executed, nothing is stored. An error says where they part, and so
/// that this code would stop such a run (R5).
///
/// ```
/// # use drystone::{Flow, Primitives, testing::{World, replay}, workflow};
/// # #[derive(Default, serde::Serialize, serde::Deserialize)] struct Greeting;
/// # #[workflow]
/// # impl Greeting {
/// #     async fn run(flow: &Flow<Self>, name: String) -> String { flow.greet(name).await }
/// #     #[step] async fn greet(name: String) -> String { format!("hello {name}") }
/// # }
/// # #[derive(Primitives)] struct App { greeting: Greeting }
/// # drystone::testing::block_on(async {
/// # let world = World::memory().start::<App>().await;
/// # let run = world.client().greeting("ada");
/// # run.start("ada".to_owned()).await.unwrap();
/// # run.result().await.unwrap();
/// let history = run.history().await.unwrap(); // of a run that matters: save it beside the tests, and load it there
/// replay::<Greeting>(&history).unwrap();
/// # });
/// ```
pub fn replay<W: Workflow>(history: &History) -> Result<(), ReplayError> {
    let who = Identity { key: history.key.clone().into(), seed: history.seed, versions: history.versions.clone() };
    let entries = &history.entries;
    let place = |is: fn(&What) -> bool| entries.iter().position(|entry| is(&entry.what));
    let asked = place(|what| matches!(what, What::CancelAsked));
    let began = place(|what| matches!(what, What::CancelBegan(_)));
    let until = asked.unwrap_or(entries.len());
    let body = replay::replay::<W>(&who, &entries[..until], None)?;
    let last = match began {
        Some(began) => replay::replay::<W>(&who, entries, Some(began as u64))?,
        None => body,
    };
    Ok(check_end(entries, &last)?)
}

/// A run that has ended ends as it did.
fn check_end(entries: &[Entry], live: &Live) -> Result<(), Halt> {
    let Some(Entry { what: What::Ended(end), .. }) = entries.last() else { return Ok(()) };
    let number = entries.len() as u64 - 1;
    let is_bodys = matches!(end, End::Succeeded(_) | End::Failed(_) | End::Fault(_)) || live.is_cleanup;
    let shown = |end: &End| crate::encode(end).unwrap_or_default();
    match &live.ended {
        _ if !is_bodys || matches!(end, End::Terminated) => Ok(()),
        None => Err(Divergence::goes_on(number, live.open().next().map(|(op, _)| op)).into()),
        Some(found) if shown(found) != shown(end) => Err(Divergence::ends_otherwise(number).into()),
        Some(_) => Ok(()),
    }
}

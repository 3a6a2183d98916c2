//! A recorded history, run against today's code.

use crate::workflow::{
    Divergence, History, Workflow,
    replay::{
        self, Halt,
        journal::{End, Entry, What},
        live::{Identity, Live},
    },
};

/// Why a history does not fit the code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The code and the history differ.
    #[error("{0}")]
    Diverged(Divergence),
    /// The code panicked.
    #[error("at entry {entry} of the journal the code panicked: {message}")]
    Panicked {
        /// The message.
        message: String,
        /// How many entries were delivered to the body before.
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

/// Runs a recorded history against today's code. No step is executed, and nothing is stored. The error says
/// where code and history differ; such a run would stop there (R5). If the run has not ended, its pending
/// operations are compared, too.
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
/// // Save the history of an important run beside the tests, and load it there.
/// let history = run.history().await.unwrap();
/// replay::<Greeting>(&history).unwrap();
/// # });
/// ```
pub fn replay<W: Workflow>(history: &History) -> Result<(), ReplayError> {
    let (key, versions) = (history.key.clone().into(), history.versions.clone());
    let who = Identity { key, seed: history.seed, versions, nudge: None };
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
    check_end(entries, &last)?;
    Ok(check_pending(history, &last)?)
}

/// A run that has not ended must wait for the same operations. Older files do not have them, and are not
/// checked.
fn check_pending(history: &History, live: &Live) -> Result<(), Halt> {
    let Some(pending) = &history.pending else { return Ok(()) };
    let waits: Vec<_> = pending.iter().map(|(op, hash)| (op, *hash)).collect();
    Ok(replay::check_waits(live, history.entries_count(), &waits, &[])?)
}

/// How the run ended, or would have ended without undos.
fn end_in(entries: &[Entry]) -> Option<(u64, &End)> {
    let of = |(number, entry): (usize, &'_ Entry)| match &entry.what {
        What::UndoBegan(End::Cancelled(_)) => None,
        What::UndoBegan(_) => Some(number),
        What::Ended(_) => Some(number),
        _ => None,
    };
    let number = entries.iter().enumerate().find_map(of)?;
    match &entries[number].what {
        What::UndoBegan(end) | What::Ended(end) => Some((number as u64, end)),
        _ => None,
    }
}

/// A run that has ended must end in the same way.
fn check_end(entries: &[Entry], live: &Live) -> Result<(), Halt> {
    let Some((number, end)) = end_in(entries) else { return Ok(()) };
    let is_bodys = matches!(end, End::Succeeded(_) | End::Failed(_) | End::Fault(_)) || live.is_cleanup;
    let shown = |end: &End| crate::encode(end).unwrap_or_default();
    match &live.ended {
        _ if !is_bodys || matches!(end, End::Terminated) => Ok(()),
        None => Err(Divergence::goes_on(number, live.open().next().map(|(op, _)| op)).into()),
        Some(found) if shown(found) != shown(end) => Err(Divergence::ends_otherwise(number).into()),
        Some(_) => Ok(()),
    }
}

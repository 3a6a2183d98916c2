//! Real primitives, made with the macros as any author's are, in the same histories as the toys.
//!
//! The seed decides whether their code succeeds, fails, panics or hangs, and their code tells the
//! [`Recorder`] what it was given. Each definition is wrapped (`Watched`), so that the simulator sees all
//! inputs and answers of the handler.

mod acted;
mod buffers;
mod clocks;
mod errand;
mod gate;
pub mod heads;
mod listener;
pub mod queues;
mod recorder;
mod steps;
mod tally;
mod till;
mod watched;

use std::sync::Arc;

use bytes::Bytes;
use drystone::{Context, Primitives, Services};
use drystone_runtime::{Definition, Key, Name, Registry, WorkId};
use serde::{Deserialize, Serialize};

pub use acted::Acted;
pub use buffers::chest::Chest;
pub use buffers::heap::Sum;
pub use clocks::bell::Bell;
pub use errand::{BOOK, Errand};
pub use gate::PERMITS;
pub use listener::Hark;
pub use queues::queued::{Enqueued, Queued};
pub use recorder::{Execution, Recorder};
pub use till::Till;

use self::watched::Watched;
use super::{
    drawing::roster::{Number, SPACE},
    handlers::{self, Stage},
};

/// The key of the dead letters of every app.
pub const LETTERS: Key = Key { space: Name::new("drystone"), key: Bytes::from_static(b"dead-letters") };

#[derive(Services)]
struct Deps {
    stage: Stage,
}

#[derive(Primitives)]
struct Authored {
    pulse: clocks::pulse::Pulse,
    drip: clocks::drip::Drip,
    chime: clocks::chime::Chime,
    basket: buffers::basket::Basket,
    strict: buffers::strict::Strict,
    heap: buffers::heap::Heap,
    chest: Chest,
    bell: Bell,
    gate: gate::Gate,
    mail: queues::mail::Mail,
    steps: steps::Steps,
    tally: tally::Tally,
    errand: Errand,
    listener: listener::Listener,
    till: Till,
}

/// The ticks that succeeded, by number: the state of every continuous primitive here.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Ticked {
    /// The numbers of the ticks, in order.
    pub ticks: Vec<u64>,
}

/// The batches that were flushed: the state of every buffer here.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flushes {
    /// The batches, in order.
    pub flushed: Vec<Flush>,
}

/// A batch that was flushed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flush {
    /// The number of the batch.
    pub number: u64,
    /// The id of the batch.
    pub id: String,
    /// Whether the batch was a dead letter before.
    pub is_replayed: bool,
    /// The items of the batch.
    pub items: Vec<u64>,
}

/// The items that were processed: the state of every queue here.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Processed {
    /// The items, in order.
    pub items: Vec<u64>,
}

/// The registry of one process, with toys and primitives.
pub fn registry(stage: &Stage) -> Registry {
    let services = Deps { stage: stage.clone() };
    let authored =
        drystone::testing::registry_with_shared_keys::<Deps, Authored>(services).expect("their names are good ones");
    let (first, next) = stage.world.swarm.traffic.topic_slices;
    let topics = drystone::testing::topics_in_slices(first, next);
    let all = authored.iter().map(|definition| if definition.name == topics.name { &topics } else { definition });
    all.fold(handlers::registry(stage), |registry, definition| registry.with(watched(stage, definition)))
}

fn watched(stage: &Stage, definition: &Definition) -> Definition {
    let handler = Watched { stage: stage.clone(), inner: definition.handler.clone() };
    Definition { handler: Arc::new(handler), ..definition.clone() }
}

/// The number of the current piece of work, from its name: `pulse-1f-tick/7` is the seventh tick.
fn piece(cx: &Context) -> u64 {
    number_of(&cx.work_id())
}

/// Removes the mark from a work id, so that the fate of the work does not depend on the mark.
fn unmarked(id: &str) -> String {
    let Some((entity, work)) = id.split_once('.').and_then(|(entity, rest)| Some((entity, rest.split_once('-')?.1)))
    else {
        return id.to_owned();
    };
    format!("{entity}-{work}")
}

/// The number at the end of the name of a piece of work.
pub fn number_of(work: &str) -> u64 {
    work.rsplit_once('/').and_then(|(_, number)| number.parse().ok()).unwrap_or_default()
}

impl Stage {
    /// Runs an attempt of an author's code to its end, which the seed decides.
    async fn act(&self, cx: &Context) -> Result<(), String> {
        self.meet(self.world.fate(self.member(cx), &WorkId::new(unmarked(&cx.work_id())), cx.attempt()), || {
            cx.heartbeat();
        })
        .await
    }

    fn member(&self, cx: &Context) -> Number {
        let key = Key { space: SPACE, key: Bytes::copy_from_slice(cx.key()) };
        self.world.cast.number(&key).expect("only the cast is run")
    }
}

//! An app for the tests of what goes wrong: a sender, a taker and an outbox that fail while the world is broken, and two
//! that tick and give up.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drystone::{
    Builder, Client, Context, Events, Failure, LifecycleEvent, Primitives, Provide, Runtime,
    kinds::buffer::Batch,
    primitive,
    runtime::store::{Sqlite, SqliteOptions},
};
use serde::{Deserialize, Serialize};

/// The outside: broken or not, and what it was given.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_broken: AtomicBool,
    log: Mutex<Vec<String>>,
}

impl World {
    pub(crate) fn broken() -> Self {
        let world = Self::default();
        world.0.is_broken.store(true, Ordering::SeqCst);
        world
    }

    pub(crate) fn mend(&self) {
        self.0.is_broken.store(false, Ordering::SeqCst);
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.0.log.lock().unwrap().clone()
    }

    fn give(&self, what: String) -> Result<(), Refusal> {
        if self.0.is_broken.load(Ordering::SeqCst) {
            return Err(Refusal { wanted: what });
        }
        self.0.log.lock().unwrap().push(what);
        Ok(())
    }
}

impl Provide<World> for World {
    fn provide(&self) -> &drystone::author::Same<World> {
        self
    }
}

/// The taker's own error.
#[derive(Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("the world does not take {wanted}")]
pub(crate) struct Refusal {
    pub(crate) wanted: String,
}

/// Sends words to takers.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Sender {
    sent: u32,
}

#[primitive(object)]
impl Sender {
    async fn say(&mut self, to: String, word: String, takers: &Client<Taker>, cx: &Context) {
        cx.emit("said", &serde_json::json!({ "word": word }));
        takers.send(takers.get(to).take(word));
        self.sent += 1;
    }
}

/// Takes words, if the world does.
#[derive(Default, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Taker {
    pub(crate) words: Vec<String>,
}

#[primitive(object)]
impl Taker {
    async fn take(&mut self, word: String, world: &World) -> Result<usize, Refusal> {
        world.give(format!("taken {word}"))?;
        self.words.push(word);
        Ok(self.words.len())
    }
}

/// Buffers words and gives them to the world by twos, trying once.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Outbox;

#[primitive(buffer, max_items = 2, max_attempts = 1)]
impl Outbox {
    #[flush]
    async fn push(&mut self, batch: Batch<String>, world: &World) -> Result<(), Refusal> {
        world.give(format!("flushed {}", batch.items.join(",")))
    }
}

/// Ticks, fails, and leaves its last state.
#[derive(Serialize, Deserialize)]
pub(crate) struct Clock {
    pub(crate) hour: u32,
}

#[primitive(continuous, every = "1h", first = "now", max_attempts = 1, on_exhausted = "destroy")]
impl Clock {
    #[tick]
    async fn strike(&mut self) -> Result<(), Failure> {
        Err("the spring is broken".into())
    }
}

/// Ticks, fails, and stops.
#[derive(Serialize, Deserialize)]
pub(crate) struct Watch {
    pub(crate) hour: u32,
}

#[primitive(continuous, every = "1h", first = "now", max_attempts = 1, on_exhausted = "stop")]
impl Watch {
    #[tick]
    async fn strike(&mut self) -> Result<(), Failure> {
        Err("the spring is broken".into())
    }
}

/// The app.
#[derive(Primitives)]
pub(crate) struct Office {
    sender: Sender,
    taker: Taker,
    outbox: Outbox,
    clock: Clock,
    watch: Watch,
}

/// The app after a mistake: what were takers are read as tellers.
#[derive(Primitives)]
pub(crate) struct Mistaken {
    taker: Teller,
    watch: Watch,
}

/// What a taker is not.
#[derive(Serialize, Deserialize)]
pub(crate) struct Teller {
    told: u32,
}

#[primitive(object)]
impl Teller {
    async fn tell(&mut self) -> u32 {
        self.told += 1;
        self.told
    }
}

/// The words that a taker has.
pub(crate) async fn words(runtime: &Runtime<Office>, taker: &str) -> Vec<String> {
    runtime.client().taker(taker).state().await.unwrap().unwrap_or_default().words
}

/// Starts the app: a message is tried twice, a millisecond apart.
pub(crate) async fn start(builder: Builder<()>, world: &World) -> Runtime<Office> {
    let hurry = |options: &mut drystone::runtime::Options| {
        options.attempts_max = 2;
        options.retry = (Duration::from_millis(1), Duration::from_millis(1));
    };
    builder.services(world.clone()).options(hurry).start::<Office>().await.unwrap()
}

/// Waits until the previous owner of a file has left it.
pub(crate) async fn free(path: &Path) {
    until("the file is free", async || Sqlite::open(path, SqliteOptions::default()).is_ok()).await;
}

/// Waits for an event of this name.
pub(crate) async fn heard(events: &mut Events, name: &str) -> LifecycleEvent {
    loop {
        let event = events.next().await.expect("the app is there");
        if event.name == name {
            return event;
        }
    }
}

/// Lets others go on until something holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..1_000_000 {
        if holds().await {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never came to this: {what}");
}

//! An app for the tests of what goes wrong: a sender, a taker and an outbox that fail while the world is broken, and a
//! clock that gives up. Written as the macros would expand it, with fewer handles.

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
    Builder, Call, Events, Failure, Handle, LifecycleEvent, PartOf, Primitive, Provide, Runtime,
    author::{
        Action, Address, App, Args, Code, Desk, Env, Given, HookCode, Making, Params, Registrar, Running, Runs,
        TakenBy, Thrown, action_ended, hook_ended, nothing, returned,
    },
    kinds::{buffer, continuous, object},
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

const NO_CODE: Code = Code { actions: &[], hooks: &[], init: None, has_destroy: false, has_reduce: false };

fn unknown<'a>() -> Running<'a> {
    Box::pin(async { Err(Thrown::Unknown) })
}

fn no_init<'a, T: Send + 'a>() -> Making<'a, T> {
    Box::pin(async { Err(Thrown::Unknown) })
}

/// Sends words to takers.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Sender {
    sent: u32,
}

impl Primitive for Sender {
    type Kind = object::Options;
    type Handle = SenderHandle;
    const CODE: Code = Code { actions: &[Action { name: "say", writes: true, pure: false }], ..NO_CODE };
    fn kind() -> object::Options {
        object::Options::NEW
    }
    fn handle(address: Address) -> SenderHandle {
        SenderHandle(Handle::new(address))
    }
    fn initial() -> Option<Self> {
        Some(Self::default())
    }
}

impl<D: Send + Sync + 'static, A: 'static> Runs<D, A> for Sender
where
    Taker: PartOf<A>,
{
    fn read<'a>(&'a self, _: &'a str, _: Given, _: &'a Env<D, A>) -> Running<'a> {
        unknown()
    }
    fn write<'a>(&'a mut self, _: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async move {
            let mut params = Params::read(&given.body, 2).map_err(Thrown::Malformed)?;
            let (to, word): (String, String) =
                (params.take().map_err(Thrown::Malformed)?, params.take().map_err(Thrown::Malformed)?);
            let takers = env.client::<Taker>();
            takers.send(takers.get(to).take(&word));
            self.sent += 1;
            env.context().emit("said", &serde_json::json!({ "word": word }));
            returned(&())
        })
    }
    fn init<'a>(_: &'a Env<D, A>) -> Making<'a, Self> {
        no_init()
    }
}

pub(crate) struct SenderHandle(Handle<Sender>);

impl SenderHandle {
    pub(crate) fn say(&self, to: &str, word: &str) -> Call<()> {
        self.0.address().call("say", Args::new().put(&to.to_owned()).put(&word.to_owned()))
    }
}

/// Takes words, if the world does.
#[derive(Default, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Taker {
    pub(crate) words: Vec<String>,
}

impl Primitive for Taker {
    type Kind = object::Options;
    type Handle = TakerHandle;
    const CODE: Code = Code { actions: &[Action { name: "take", writes: true, pure: false }], ..NO_CODE };
    fn kind() -> object::Options {
        object::Options::NEW
    }
    fn handle(address: Address) -> TakerHandle {
        TakerHandle(Handle::new(address))
    }
    fn initial() -> Option<Self> {
        Some(Self::default())
    }
}

impl<D: Provide<World> + Send + Sync + 'static, A: 'static> Runs<D, A> for Taker {
    fn read<'a>(&'a self, _: &'a str, _: Given, _: &'a Env<D, A>) -> Running<'a> {
        unknown()
    }
    fn write<'a>(&'a mut self, _: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async move {
            let word: String =
                Params::read(&given.body, 1).and_then(|mut params| params.take()).map_err(Thrown::Malformed)?;
            action_ended(env.service::<World>().give(format!("taken {word}")).map(|()| {
                self.words.push(word);
                self.words.len()
            }))
        })
    }
    fn init<'a>(_: &'a Env<D, A>) -> Making<'a, Self> {
        no_init()
    }
}

pub(crate) struct TakerHandle(pub(crate) Handle<Taker>);

impl TakerHandle {
    pub(crate) fn take(&self, word: &str) -> Call<usize, Refusal> {
        self.0.address().call("take", Args::new().put(&word.to_owned()))
    }
    pub(crate) async fn words(&self) -> Vec<String> {
        self.0.state().await.unwrap().unwrap_or_default().words
    }
}

/// Buffers words and gives them to the world by twos, trying once.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Outbox;

impl Primitive for Outbox {
    type Kind = buffer::Options;
    type Handle = buffer::Verbs<Outbox, buffer::Batch<String>>;
    const CODE: Code = Code { hooks: &[HookCode { name: "flush", writes: true, applies: false }], ..NO_CODE };
    fn kind() -> buffer::Options {
        buffer::Options::NEW.max_items(2).max_attempts(1).checked()
    }
    fn handle(address: Address) -> Self::Handle {
        Handle::new(address).into()
    }
    fn initial() -> Option<Self> {
        Some(Self)
    }
}

impl<D: Provide<World> + Send + Sync + 'static, A: 'static> Runs<D, A> for Outbox {
    fn read<'a>(&'a self, _: &'a str, _: Given, _: &'a Env<D, A>) -> Running<'a> {
        unknown()
    }
    fn write<'a>(&'a mut self, _: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async move {
            let batch = <buffer::Batch<String> as TakenBy<buffer::flush>>::take(given).map_err(Thrown::Malformed)?;
            hook_ended(env.service::<World>().give(format!("flushed {}", batch.items.join(","))), nothing)
        })
    }
    fn init<'a>(_: &'a Env<D, A>) -> Making<'a, Self> {
        no_init()
    }
}

/// Ticks, fails, and stops; or is destroyed and leaves its last state.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Ticking<const STOPS: bool> {
    pub(crate) hour: u32,
}

pub(crate) type Clock = Ticking<false>;
pub(crate) type Watch = Ticking<true>;

impl<const STOPS: bool> Primitive for Ticking<STOPS> {
    type Kind = continuous::Options;
    type Handle = Handle<Self>;
    const CODE: Code = Code { hooks: &[HookCode { name: "tick", writes: true, applies: false }], ..NO_CODE };
    fn kind() -> continuous::Options {
        let then = if STOPS { "stop" } else { "destroy" };
        continuous::Options::NEW.every("1h").first("now").max_attempts(1).on_exhausted(then).checked()
    }
    fn handle(address: Address) -> Self::Handle {
        Handle::new(address)
    }
    fn initial() -> Option<Self> {
        None
    }
}

impl<const STOPS: bool, D: Send + Sync + 'static, A: 'static> Runs<D, A> for Ticking<STOPS> {
    fn read<'a>(&'a self, _: &'a str, _: Given, _: &'a Env<D, A>) -> Running<'a> {
        unknown()
    }
    fn write<'a>(&'a mut self, _: &'a str, _: Given, _: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async { hook_ended(Err::<(), _>(Failure::from("the spring is broken")), nothing) })
    }
    fn init<'a>(_: &'a Env<D, A>) -> Making<'a, Self> {
        no_init()
    }
}

/// The app.
pub(crate) struct Office;

pub(crate) struct OfficeClient(Desk);

impl OfficeClient {
    pub(crate) fn sender(&self, key: &str) -> SenderHandle {
        Sender::handle(self.0.address("sender", key))
    }
    pub(crate) fn taker(&self, key: &str) -> TakerHandle {
        Taker::handle(self.0.address("taker", key))
    }
    pub(crate) fn outbox(&self, key: &str) -> <Outbox as Primitive>::Handle {
        Outbox::handle(self.0.address("outbox", key))
    }
    pub(crate) fn clock(&self, key: &str) -> Handle<Clock> {
        Clock::handle(self.0.address("clock", key))
    }
    pub(crate) fn watch(&self, key: &str) -> Handle<Watch> {
        Watch::handle(self.0.address("watch", key))
    }
}

impl drystone::Primitives for Office {
    type Client = OfficeClient;
    fn client(desk: Desk) -> OfficeClient {
        OfficeClient(desk)
    }
}

impl App<World> for Office {
    fn register(registrar: &mut Registrar<World, Self>) {
        registrar.add::<Sender>("sender");
        registrar.add::<Taker>("taker");
        registrar.add::<Outbox>("outbox");
        registrar.add::<Clock>("clock");
        registrar.add::<Watch>("watch");
    }
}

/// The app after a mistake: what were takers are read as senders.
pub(crate) struct Mistaken;

impl drystone::Primitives for Mistaken {
    type Client = ();
    fn client(_: Desk) {}
}

impl App<World> for Mistaken {
    fn register(registrar: &mut Registrar<World, Self>) {
        registrar.add::<Sender>("taker");
        registrar.add::<Watch>("watch");
    }
}

impl PartOf<Mistaken> for Taker {
    const NAME: &'static str = "taker";
}

impl PartOf<Office> for Sender {
    const NAME: &'static str = "sender";
}
impl PartOf<Office> for Taker {
    const NAME: &'static str = "taker";
}
impl PartOf<Office> for Outbox {
    const NAME: &'static str = "outbox";
}
impl PartOf<Office> for Clock {
    const NAME: &'static str = "clock";
}

/// Starts the app: a message is tried twice, a millisecond apart.
pub(crate) async fn start(builder: Builder<()>, world: &World) -> Runtime<Office> {
    let hurry = |options: &mut drystone::runtime::Options| {
        options.attempts_max = 2;
        options.retry = (Duration::from_millis(1), Duration::from_millis(1));
    };
    builder.services(world.clone()).options(hurry).start::<Office>().await.unwrap()
}

/// Starts the app on a file whose previous owner may still be on its way out.
pub(crate) async fn reopen(path: &Path, world: &World) -> Runtime<Office> {
    until("the file is free", async || Sqlite::open(path, SqliteOptions::default()).is_ok()).await;
    start(Runtime::sqlite(path), world).await
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

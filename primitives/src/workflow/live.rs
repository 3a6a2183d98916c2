//! A body in memory: polled until it comes to rest, told one entry of the journal at a time.

use std::{
    cell::Cell,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use bytes::Bytes;
use drystone_runtime::{Key, Millis, kernel::panic_message};

use super::{
    Body, Divergence, Flow, Workflow,
    ask::{Ask, Code},
    core::{Core, Moves, OpId, Stop},
    journal::{End, Entry, What},
    nudge::Nudge,
    record::Record,
    update::Update,
};
use crate::primitive::Thrown;

/// A body, and what it has asked for.
pub(super) struct Live {
    body: Body,
    pub(super) core: Core,
    root: Arc<Root>,
    /// What is outstanding: the hash of what was asked, and what it was.
    open: BTreeMap<OpId, (u64, &'static str)>,
    /// Code that the body made and that was not handed over yet.
    pub(super) codes: BTreeMap<OpId, Code>,
    /// How many entries of the journal it was told, or stood for before it began.
    pub(super) told: u64,
    /// Whether it is the `#[cancelled]` body.
    pub(super) is_cleanup: bool,
    /// How it has ended, in a replay of a run that has.
    pub(super) ended: Option<End>,
    /// The generation that it is the body of.
    pub(super) generation: u32,
    /// How an update is applied, and how in a replay.
    apply: [Apply; 2],
    /// Whether it is being replayed.
    pub(super) is_replayed: bool,
}

type Apply = fn(&Update, &Core) -> Result<(), String>;

/// How a body has come to rest.
pub(super) enum Rest {
    Waits,
    Ended(Result<Bytes, Thrown>),
    Panicked(String),
    Stopped(Stop),
}

impl Rest {
    /// Whether nothing more of this generation follows.
    pub(super) fn is_an_end(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Stopped(Stop::Fault(_) | Stop::Continue(_)))
    }
}

/// Who a run is, for what is the same in every replay.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) key: Bytes,
    pub(super) seed: u64,
    /// Which versions of its code it is pinned to.
    pub(super) versions: BTreeMap<String, u32>,
    /// How it is looked at, if it is in a kernel.
    pub(super) nudge: Option<(Arc<Nudge>, Key)>,
}

impl Identity {
    /// A run that is in a kernel.
    pub(super) fn in_kernel(key: &Key, record: &Record, nudge: &Arc<Nudge>) -> Self {
        let (seed, versions) = (record.seed, record.versions.clone());
        Self { key: key.key.clone(), seed, versions, nudge: Some((nudge.clone(), key.clone())) }
    }
}

thread_local! {
    /// Whether this thread polls a body, or tells it something: then a wake is the engine's doing, or a combinator's.
    static OURS: Cell<bool> = const { Cell::new(false) };
}

/// The waker of a body. Whatever is durable wakes it while the engine is at it; anything else does not, and is noticed.
struct Root {
    woken: AtomicBool,
    foreign: AtomicBool,
    key: Bytes,
    nudge: Option<(Arc<Nudge>, Key)>,
}

/// What is wrong with a body that something else has woken.
pub(super) const WOKEN: &str =
    "the body was woken by something that is not durable; what acts or waits belongs in a step";

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        if OURS.get() {
            self.woken.store(true, Ordering::Release);
        } else if !self.foreign.swap(true, Ordering::AcqRel) {
            self.stranger();
        }
    }
}

impl Root {
    /// It is told at once, and looked at: while it waits for something durable, no other turn may come for days.
    fn stranger(&self) {
        tracing::error!(key = %self.key.escape_ascii(), "{WOKEN}");
        if let Some((nudge, key)) = &self.nudge {
            nudge.look_at(key);
        }
    }
}

/// How often a body may wake itself in one go before it is taken for one that never rests.
const WAKES_MAX: u32 = 100_000;

impl Live {
    /// The body of a run that begins with these parameters; the reason if they cannot be read.
    pub(super) fn begin<W: Workflow>(who: &Identity, input: &[u8], now: Millis) -> Result<Self, String> {
        let core = Self::core::<W>(who, W::initial(), now);
        let body = W::body(Flow::new(core.clone()), input)?;
        Ok(Self::new::<W>(who, core, body, false))
    }

    /// The `#[cancelled]` body, with the state as the body left it; `None` if there is none.
    pub(super) fn cleanup<W: Workflow>(who: &Identity, state: W, now: Millis) -> Option<Self> {
        let core = Self::core::<W>(who, state, now);
        core.set_branch("!/");
        let body = W::cancelled(Flow::new(core.clone()))?;
        Some(Self::new::<W>(who, core, body, true))
    }

    fn core<W: Workflow>(who: &Identity, state: W, now: Millis) -> Core {
        let core = Core::new(who.key.clone(), who.seed, Box::new(state));
        core.set_now(now);
        core.with_versions(|versions| versions.pin(&who.versions));
        core
    }

    fn new<W: Workflow>(who: &Identity, core: Core, body: Body, is_cleanup: bool) -> Self {
        let (woken, foreign) = (AtomicBool::new(false), AtomicBool::new(false));
        let root = Arc::new(Root { woken, foreign, key: who.key.clone(), nudge: who.nudge.clone() });
        let (open, codes) = (BTreeMap::new(), BTreeMap::new());
        let (generation, is_replayed) = (0, false);
        let apply: [Apply; 2] = [Update::apply::<W>, Update::apply_again::<W>];
        Self { body, core, root, open, codes, told: 0, is_cleanup, ended: None, generation, apply, is_replayed }
    }

    /// Polls until nothing moves.
    pub(super) fn poll(&mut self) -> Rest {
        let polled = catch_unwind(AssertUnwindSafe(|| self.poll_to_rest()));
        let rest = polled.unwrap_or_else(|panic| Rest::Panicked(panic_message(&*panic)));
        match (self.core.take_stop(), rest) {
            // What it has done since then it did not mean.
            (Some(stop @ Stop::Unsupported(_)), _) | (Some(stop), Rest::Waits) => Rest::Stopped(stop),
            (_, rest) => rest,
        }
    }

    fn poll_to_rest(&mut self) -> Rest {
        let _ours = Ours::begin();
        let waker = Waker::from(self.root.clone());
        let (core, body) = (self.core.clone(), &mut self.body);
        for _ in 0..WAKES_MAX {
            self.root.woken.store(false, Ordering::Release);
            let polled = core.enter(|| body.as_mut().poll(&mut Context::from_waker(&waker)));
            if let Poll::Ready(ended) = polled {
                return Rest::Ended(ended);
            }
            if !self.root.woken.load(Ordering::Acquire) {
                return self.rest();
            }
        }
        Rest::Panicked("the body wakes itself again and again and never comes to rest".to_owned())
    }

    /// What a macro cannot see is seen here: a body that waits for nothing durable, or was woken by something else.
    fn rest(&self) -> Rest {
        if self.was_woken() {
            return Rest::Panicked(WOKEN.to_owned());
        }
        if !self.core.waits() && !self.core.has_stop() {
            return Rest::Panicked(
                "the body awaits something that is not durable, and nothing would ever wake it".to_owned(),
            );
        }
        Rest::Waits
    }

    /// Whether something else than the engine has woken it.
    pub(super) fn was_woken(&self) -> bool {
        self.root.foreign.load(Ordering::Acquire)
    }

    /// Tells the body an entry of the journal; where they part if it has no such operation.
    pub(super) fn tell(&mut self, entry: &Entry) -> Result<(), Divergence> {
        if let What::Updated(update) = &entry.what {
            return self.update(update, entry);
        }
        let Some(recorded) = entry.recorded() else {
            self.told += 1;
            return Ok(());
        };
        let number = self.told;
        let Some((hash, _)) = self.open.remove(entry.op.as_str()) else {
            return Err(Divergence::not_asked(number, entry, self.asked_instead(entry).as_deref()));
        };
        if hash != entry.hash {
            return Err(Divergence::asked_otherwise(number, entry));
        }
        self.core.set_now(Millis(entry.at));
        let _ours = Ours::begin();
        self.core.tell(&entry.op, recorded);
        self.told += 1;
        Ok(())
    }

    /// Its state is updated, by what was taken before.
    fn update(&mut self, update: &Update, entry: &Entry) -> Result<(), Divergence> {
        self.core.set_now(Millis(entry.at));
        let _ours = Ours::begin();
        let apply = self.apply[usize::from(self.is_replayed)];
        let what = format!("the update `{}`", update.name);
        apply(update, &self.core).map_err(|reason| Divergence::unreadable(self.told, &what, &reason))?;
        self.told += 1;
        Ok(())
    }

    /// What the body asks for where an entry of another operation is.
    fn asked_instead(&self, entry: &Entry) -> Option<String> {
        let name = super::pending::step_name(&entry.op);
        let like = |op: &&OpId| super::pending::step_name(op) == name;
        self.open.keys().find(like).or_else(|| self.open.keys().next()).map(ToString::to_string)
    }

    /// What the body has asked for and let go since this was last asked.
    pub(super) fn take_moves(&mut self) -> Moves {
        let Moves { mut asked, dropped, released } = self.core.take_moves();
        for (op, ask) in &mut asked {
            self.open.insert(op.clone(), (ask.hash(), ask.noun()));
            if let Ask::Code { code, .. } = ask {
                self.codes.insert(op.clone(), std::mem::replace(code, Box::pin(std::future::pending())));
            }
        }
        for op in &dropped {
            self.open.remove(op);
            self.codes.remove(op);
        }
        asked.retain(|(op, _)| self.open.contains_key(op));
        Moves { asked, dropped, released }
    }

    /// What is outstanding.
    pub(super) fn open(&self) -> impl Iterator<Item = (&str, u64)> {
        self.open.iter().map(|(op, (hash, _))| (&**op, *hash))
    }
}

/// What a body drops may look at its run, and wake what else is in the body: that is its own doing, too.
impl Drop for Live {
    fn drop(&mut self) {
        let body = std::mem::replace(&mut self.body, Box::pin(std::future::pending()));
        let _ours = Ours::begin();
        self.core.enter(|| drop(body));
    }
}

/// While it lives, wakes on this thread are the engine's own.
struct Ours(bool);

impl Ours {
    fn begin() -> Self {
        Self(OURS.replace(true))
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        OURS.set(self.0);
    }
}

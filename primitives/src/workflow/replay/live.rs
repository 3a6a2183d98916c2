//! A body in memory: polled until it rests, with one journal entry delivered at a time.

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
    ask::{Ask, Code},
    core::{Core, Moves, Stop},
    foreign_wake::Nudge,
    journal::{End, Entry, What},
    op_id::OpId,
    update::Update,
};
use crate::{
    primitive::Thrown,
    workflow::{Body, Divergence, Flow, Workflow, record::Record},
};

/// A body in memory, and the operations that it asked for.
pub(in crate::workflow) struct Live {
    body: Body,
    pub(in crate::workflow) core: Core,
    root: Arc<Root>,
    /// The outstanding operations: the hash of each request, and a noun for it.
    open: BTreeMap<OpId, (u64, &'static str)>,
    /// Code of `flow.run` that the body made and the engine has not taken yet.
    pub(in crate::workflow) codes: BTreeMap<OpId, Code>,
    /// How many journal entries were delivered to the body, or lie before its beginning.
    pub(in crate::workflow) told: u64,
    /// Whether this is the `#[cancelled]` body.
    pub(in crate::workflow) is_cleanup: bool,
    /// How the body ended, in the replay of a run that has ended.
    pub(in crate::workflow) ended: Option<End>,
    /// The generation of this body.
    pub(in crate::workflow) generation: u32,
    /// The functions that apply an update: for the first time, and in a replay.
    apply: [Apply; 2],
    /// Whether the body is being replayed.
    pub(in crate::workflow) is_replayed: bool,
}

type Apply = fn(&Update, &Core) -> Result<(), String>;

/// How a body came to rest.
pub(in crate::workflow) enum Rest {
    Waits,
    Ended(Result<Bytes, Thrown>),
    Panicked(String),
    Stopped(Stop),
}

impl Rest {
    /// Whether this is the end of the generation.
    pub(in crate::workflow) fn is_an_end(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Stopped(Stop::Fault(_) | Stop::Continue(_)))
    }
}

/// The identity of a run, from which follows everything that is the same in every replay.
#[derive(Clone)]
pub(in crate::workflow) struct Identity {
    pub(in crate::workflow) key: Bytes,
    pub(in crate::workflow) seed: u64,
    /// The versions of its code that the run is pinned to.
    pub(in crate::workflow) versions: BTreeMap<String, u32>,
    /// How the kernel is asked to look at the run; `None` outside a kernel.
    pub(in crate::workflow) nudge: Option<(Arc<Nudge>, Key)>,
}

impl Identity {
    /// The identity of a run in a kernel.
    pub(in crate::workflow) fn in_kernel(key: &Key, record: &Record, nudge: &Arc<Nudge>) -> Self {
        let (seed, versions) = (record.seed, record.versions.clone());
        Self { key: key.key.clone(), seed, versions, nudge: Some((nudge.clone(), key.clone())) }
    }
}

thread_local! {
    /// Whether this thread polls a body or delivers an entry to it: a wake then comes from the engine or a
    /// combinator.
    static OURS: Cell<bool> = const { Cell::new(false) };
}

/// The waker of a body. Durable futures wake it only while the engine polls or delivers. Any other wake is
/// foreign: it is noticed, and stops the run.
struct Root {
    woken: AtomicBool,
    foreign: AtomicBool,
    key: Bytes,
    nudge: Option<(Arc<Nudge>, Key)>,
}

/// The message for a body with a foreign wake.
pub(in crate::workflow) const WOKEN: &str =
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
    /// Reports a foreign wake and has the kernel look at the run, both at once: while the body waits for
    /// something durable, its next turn may be days away.
    fn stranger(&self) {
        tracing::error!(key = %self.key.escape_ascii(), "{WOKEN}");
        if let Some((nudge, key)) = &self.nudge {
            nudge.look_at(key);
        }
    }
}

/// How often a body may wake itself before its next rest. A body beyond this is stopped, because it never
/// rests.
const WAKES_MAX: u32 = 100_000;

impl Live {
    /// The body of a run that begins with these parameters. The error says why they cannot be read.
    pub(in crate::workflow) fn begin<W: Workflow>(who: &Identity, input: &[u8], now: Millis) -> Result<Self, String> {
        let core = Self::core::<W>(who, W::initial(), now);
        let body = W::body(Flow::new(core.clone()), input)?;
        Ok(Self::new::<W>(who, core, body, false))
    }

    /// The `#[cancelled]` body, with the state that the body left; `None` if the workflow has no such body.
    pub(in crate::workflow) fn cleanup<W: Workflow>(who: &Identity, state: W, now: Millis) -> Option<Self> {
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

    /// Polls the body until it rests.
    pub(in crate::workflow) fn poll(&mut self) -> Rest {
        let polled = catch_unwind(AssertUnwindSafe(|| self.poll_to_rest()));
        let rest = polled.unwrap_or_else(|panic| Rest::Panicked(panic_message(&*panic)));
        match (self.core.take_stop(), rest) {
            // Ignore everything that the body did after it reached an unsupported version.
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

    /// Finds what a macro cannot see: a body that waits for nothing durable, or had a foreign wake.
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

    /// Whether the body had a foreign wake.
    pub(in crate::workflow) fn was_woken(&self) -> bool {
        self.root.foreign.load(Ordering::Acquire)
    }

    /// Delivers a journal entry to the body. Fails with the divergence if the body has not asked for the
    /// operation.
    pub(in crate::workflow) fn tell(&mut self, entry: &Entry) -> Result<(), Divergence> {
        if let What::Updated(update) = &entry.what {
            return self.update(update, entry);
        }
        let Some(recorded) = entry.recorded() else {
            self.told += 1;
            return Ok(());
        };
        let number = self.told;
        let asked = entry.op.as_ref().and_then(|op| Some((op, self.open.remove(op)?)));
        let Some((op, (hash, _))) = asked else {
            return Err(Divergence::not_asked(number, entry, self.asked_instead(entry)));
        };
        if hash != entry.hash {
            return Err(Divergence::asked_otherwise(number, entry));
        }
        self.core.set_now(Millis(entry.at));
        let _ours = Ours::begin();
        self.core.tell(op, recorded);
        self.told += 1;
        Ok(())
    }

    /// Applies an update that was accepted before.
    fn update(&mut self, update: &Update, entry: &Entry) -> Result<(), Divergence> {
        self.core.set_now(Millis(entry.at));
        let _ours = Ours::begin();
        let apply = self.apply[usize::from(self.is_replayed)];
        let what = format!("the update `{}`", update.name);
        apply(update, &self.core).map_err(|reason| Divergence::unreadable(self.told, &what, &reason))?;
        self.told += 1;
        Ok(())
    }

    /// The operation that the body asks for instead of the entry's.
    fn asked_instead(&self, entry: &Entry) -> Option<&OpId> {
        let label = entry.op.as_ref().map(OpId::label);
        let like = |op: &&OpId| Some(op.label()) == label;
        self.open.keys().find(like).or_else(|| self.open.keys().next())
    }

    /// Takes the operations that the body asked for and released since the last call.
    pub(in crate::workflow) fn take_moves(&mut self) -> Moves {
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
        // An operation that was dropped in the same poll is of no interest to the engine.
        asked.retain(|(op, _)| self.open.contains_key(op));
        Moves { asked, dropped, released }
    }

    /// The outstanding operations, with the hashes of their requests.
    pub(in crate::workflow) fn open(&self) -> impl Iterator<Item = (&OpId, u64)> {
        self.open.iter().map(|(op, (hash, _))| (op, *hash))
    }
}

/// Dropping the body may use its `flow` and wake other parts of the body. These wakes are the body's own.
impl Drop for Live {
    fn drop(&mut self) {
        let body = std::mem::replace(&mut self.body, Box::pin(std::future::pending()));
        let _ours = Ours::begin();
        self.core.enter(|| drop(body));
    }
}

/// While this value lives, wakes on this thread count as the engine's own.
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

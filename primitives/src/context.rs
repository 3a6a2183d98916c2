//! What an entity's code may ask and say (E14).

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{
    Change, Cx, Entity, Lifecycle, Mark, Message, Millis, Name,
    store::sql::{ScriptCode, Scripted},
};
use serde::Serialize;

use crate::{
    Call, Desk, Error, Timestamp, encode,
    handler::is_asked_for,
    topics,
    workflow::{Heart, TopicEvent},
};

/// The circumstances of the code that runs: take it as a parameter, `cx: &Context`.
///
/// What the code says through it (an alarm, an event, a message) happens with the commit of its success, or not at all
/// (E5). An action with `&self` has no commit: it fails if it says anything.
pub struct Context {
    cx: Cx,
    is_shared: bool,
    past: Option<Past>,
    /// Whether its name belongs to its entity, and not to who asked for it.
    is_own: bool,
    outbox: Outbox,
    heart: Option<Heart>,
    /// The mark of the work, if it was found in a row that was read after the work had begun.
    mark_in_row: OnceLock<Mark>,
}

/// What was before, read only if it is asked for: a record may be long, and code that starts waits for nothing.
pub(crate) struct Past {
    pub(crate) head: Bytes,
    pub(crate) run_count: fn(&[u8]) -> u64,
    pub(crate) hook: Option<(Box<Entity>, ScheduledFor)>,
}

/// The time that a hook stands for.
pub(crate) type ScheduledFor = fn(&Entity, Millis) -> Option<Timestamp>;

/// Where code puts what it says until its commit.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Mutex<Said>>);

/// What code said while it ran.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) alarm: Change<Millis>,
    pub(crate) send: Vec<Message>,
    pub(crate) emit: Vec<Lifecycle>,
    /// The first thing that could not be said; the code fails with it.
    pub(crate) error: Option<String>,
}

impl Context {
    pub(crate) fn new(cx: Cx, is_shared: bool, past: Option<Past>) -> Self {
        let is_own = cx.id.is_some() && !is_asked_for(cx.work.as_str());
        let (outbox, heart, mark_in_row) = Default::default();
        Self { cx, is_shared, past, is_own, outbox, heart, mark_in_row }
    }

    /// The circumstances of a step.
    pub(crate) fn of_step(cx: Cx, is_shared: bool, heart: Option<Heart>) -> Self {
        let (outbox, mark_in_row) = Default::default();
        Self { cx, is_shared, past: None, is_own: true, outbox, heart, mark_in_row }
    }

    /// The entity's key.
    pub fn key(&self) -> &[u8] {
        &self.cx.key.key
    }

    /// The entity's key as text, with what is not UTF-8 replaced.
    pub fn key_text(&self) -> String {
        String::from_utf8_lossy(self.key()).into_owned()
    }

    /// The name of its definition: its field in the app.
    pub fn definition(&self) -> &str {
        &self.cx.definition
    }

    /// When this attempt started.
    pub fn now(&self) -> Timestamp {
        self.cx.now.into()
    }

    /// The time that a tick stands for: the point of its schedule, however late it runs and however often it is tried; for
    /// one that was triggered, when that was. For any other code it is [`now`](Self::now).
    pub fn scheduled_for(&self) -> Timestamp {
        let hook = self.past.as_ref().and_then(|past| past.hook.as_ref());
        hook.and_then(|(entity, of)| of(entity, self.cx.now)).unwrap_or_else(|| self.now())
    }

    /// Which attempt this is, from 1: one more than have failed. One that a crash cut short has not failed, and comes again
    /// under the same number.
    pub fn attempt(&self) -> u32 {
        self.cx.attempt
    }

    /// The id of this piece of work: an idempotency key for the outside, such as a payment provider.
    ///
    /// The id is unique in the world, also among files that the same program made and among copies of one file. Each
    /// opening of a store draws a random mark. What is recorded keeps the mark that it was recorded under, and its id
    /// contains it: `checkout-100000001.4fQz0b7XkLm-charge#1`. A piece of work that was recorded keeps its id over
    /// retries, restarts, restoring a backup, and copying or moving the file. A piece that is recorded after a restore,
    /// in a copy or in a new file gets another id.
    ///
    /// | code | recorded when | the id is the same |
    /// |---|---|---|
    /// | step, `flow.run` code, transactional step, undo | the run's generation began | in every attempt and replay, and in every copy that has the run |
    /// | tick | the tick before it ended, or it was the first, or it was triggered | in every attempt of this tick |
    /// | alarm of an object | the alarm was set | in every attempt of this alarm |
    /// | flush | the first item of the batch was added | in every attempt; the batch keeps its own [`id`](crate::kinds::buffer::Batch::id) also when a dead letter is replayed |
    /// | processing of an item | the item was enqueued | in every attempt; the item keeps its own [`id`](crate::kinds::queue::Item::id) also when a dead letter is replayed |
    /// | `#[apply]` | its hook ended | in every attempt |
    /// | `#[destroy]` | the end was asked for | in every attempt |
    /// | action, `#[create]` or `#[init]` that a message asks for | the message was sent | in every try of the message |
    /// | action, `#[create]` or `#[init]` that a caller asks for | never | in this execution only: a call that is made again has another id. Hand in a key of the caller's, or let a message or a run ask |
    /// | `flow.call` | the target's action runs for a caller | the run records the result; the target's action has an id per execution |
    /// | child run | the child began | the child's steps have the child's mark |
    /// | hook of a kind that keeps no marks | the entity was bound | in every attempt |
    ///
    /// Work that a build without marks recorded keeps the id that it had, which is unique in its file only.
    ///
    /// The id names the piece of work, not its input. It is no secret and says nothing about order; for that see
    /// [`fencing_token`](Self::fencing_token). After a restore, a run that the backup holds repeats its later steps under
    /// the ids that they had before, so that the outside recognizes them.
    pub fn work_id(&self) -> String {
        let (definition, work) = (self.definition(), self.cx.work.as_str());
        let entity = match self.cx.id {
            Some(id) if self.is_own => format!("{definition}-{:x}", id.0),
            // Between two tries of a message its entity may have been bound, or have ended.
            _ => format!("{definition}-{}", self.key().escape_ascii()),
        };
        marked_id(&entity, self.cx.mark.or(self.mark_in_row.get().copied()), work)
    }

    /// The row that the work is given was read, and says this of its mark.
    pub(crate) fn set_mark(&self, mark: Option<Mark>) {
        if let Some(mark) = mark {
            self.mark_in_row.get_or_init(|| mark);
        }
    }

    /// How often the hook of this kind has succeeded before.
    pub fn run_count(&self) -> u64 {
        self.past.as_ref().map_or(0, |past| (past.run_count)(&past.head))
    }

    /// A number that grows with every owner and commit of the entity: whoever acts outside can refuse a lower one.
    pub fn fencing_token(&self) -> u64 {
        self.cx.fence.0
    }

    /// Says that the code is alive: silence is counted from here.
    pub fn heartbeat(&self) {
        self.cx.heartbeat();
    }

    /// Wakes the entity after `span`: its `#[alarm]` runs. Replaces an alarm set before (A1). In a `#[primitive]` block a
    /// literal may stand for the duration, `cx.alarm_in("5m")`; elsewhere it is `d!("5m")`.
    pub fn alarm_in(&self, span: Duration) {
        self.outbox.said().alarm = Change::Set(self.cx.now.after(span));
    }

    /// Wakes the entity at `time`; at once if that is past.
    pub fn alarm_at(&self, time: Timestamp) {
        self.outbox.said().alarm = Change::Set(time.into());
    }

    /// Takes the alarm back.
    pub fn clear_alarm(&self) {
        self.outbox.said().alarm = Change::Clear;
    }

    /// Tells listeners, after the commit (E15). The fields of `particulars` become the event's.
    pub fn emit(&self, name: impl Into<Name>, particulars: &impl Serialize) {
        match fields(particulars) {
            Ok(fields) => self.outbox.said().emit.push(Lifecycle { name: name.into(), fields }),
            Err(reason) => self.outbox.refuse(reason),
        }
    }

    /// Publishes an event, with the commit of the code's success (T1). What comes of it is told to nobody: one that is refused
    /// because its topic is full is tried again, and in the end a dead letter.
    pub fn publish<E: TopicEvent>(&self, event: E) {
        self.outbox.send(topics::publish(&self.desk(), event));
    }

    pub(crate) fn heart(&self) -> Option<&Heart> {
        self.heart.as_ref()
    }

    pub(crate) fn has_said_anything(&self) -> bool {
        let said = self.outbox.said();
        said.alarm != Change::Keep || !said.send.is_empty() || !said.emit.is_empty()
    }

    /// What was said, once the code has ended.
    pub(crate) fn take_said(&self) -> Said {
        self.outbox.take_said()
    }

    pub(crate) fn outbox(&self) -> Outbox {
        self.outbox.clone()
    }

    /// Where calls are made, with this entity among those who wait.
    pub(crate) fn desk(&self) -> Desk {
        Desk::inside(self.cx.clone(), self.is_shared)
    }

    pub(crate) async fn transact(
        &self,
        row: (drystone_runtime::Lane, drystone_runtime::RowKey),
        before: Bytes,
        limit: Duration,
        code: ScriptCode,
    ) -> Result<Scripted, Error> {
        self.cx.transact(row, before, limit, code).await
    }

    pub(crate) async fn rows(&self, range: drystone_runtime::Range) -> Result<Vec<drystone_runtime::Row>, Error> {
        self.cx.rows(range).await
    }
}

impl Outbox {
    pub(crate) fn send<T, E>(&self, call: Call<T, E>) {
        match call.into_message() {
            Ok(message) => self.said().send.push(message),
            Err(error) => self.refuse(error.to_string()),
        }
    }

    pub(crate) fn refuse(&self, reason: String) {
        self.said().error.get_or_insert(reason);
    }

    /// What was said, once the code has ended.
    pub(crate) fn take_said(&self) -> Said {
        std::mem::take(&mut self.said())
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of a piece of work, as the outside knows it.
pub(crate) fn marked_id(entity: &str, mark: Option<Mark>, work: &str) -> String {
    match mark {
        Some(mark) => format!("{entity}.{mark}-{work}"),
        None => format!("{entity}-{work}"),
    }
}

/// The fields of a struct or a map, each as JSON; anything else is one field, `value`.
pub(crate) fn fields(particulars: &impl Serialize) -> Result<BTreeMap<Name, Bytes>, String> {
    let value = serde_json::to_value(particulars).map_err(|error| error.to_string())?;
    let fields = match value {
        serde_json::Value::Object(fields) => fields.into_iter().collect(),
        serde_json::Value::Null => Vec::new(),
        other => vec![("value".to_owned(), other)],
    };
    fields.into_iter().map(|(name, value)| Ok((Name::from(name), encode(&value)?))).collect()
}

impl fmt::Debug for Context {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cx, out)
    }
}

//! The context of running code: what the code may ask, and what it adds to its commit (E14).

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
    Call, Desk, Error, Timestamp, encode, event::TopicEvent, handler::is_asked_for, system::topics, workflow::Heart,
};

/// The context of the code that runs: take it as a parameter, `cx: &Context`.
///
/// An alarm, an event or a message that the code sets here is part of the commit of the code's success. If
/// the code fails, all of them are dropped (E5). An action with `&self` has no commit, and fails if it sets
/// any of them.
pub struct Context {
    cx: Cx,
    is_shared: bool,
    past: Option<Past>,
    /// Whether the work id is made from the entity's id. The id of work that a caller or a message asked for
    /// is made from the key.
    is_own: bool,
    outbox: Outbox,
    heart: Option<Heart>,
    /// The mark of the work, if the mark was in a row that was read after the work had begun.
    mark_in_row: OnceLock<Mark>,
}

/// The stored record of the entity. It is decoded only on demand: a record may be long, and starting code
/// must not wait.
pub(crate) struct Past {
    pub(crate) head: Bytes,
    pub(crate) run_count: fn(&[u8]) -> u64,
    pub(crate) hook: Option<(Box<Entity>, ScheduledFor)>,
}

/// Returns the time that a hook stands for.
pub(crate) type ScheduledFor = fn(&Entity, Millis) -> Option<Timestamp>;

/// Collects what code sets, until the commit of the code. The context and the clients of the code share it.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Mutex<Said>>);

/// The alarm, messages and events that code set while it ran.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) alarm: Change<Millis>,
    pub(crate) send: Vec<Message>,
    pub(crate) emit: Vec<Lifecycle>,
    /// Why an alarm, message or event could not be set: the first reason, with which the code fails.
    pub(crate) error: Option<String>,
}

impl Context {
    pub(crate) fn new(cx: Cx, is_shared: bool, past: Option<Past>) -> Self {
        let is_own = cx.id.is_some() && !is_asked_for(cx.work.as_str());
        let (outbox, heart, mark_in_row) = Default::default();
        Self { cx, is_shared, past, is_own, outbox, heart, mark_in_row }
    }

    /// The context of a step.
    pub(crate) fn of_step(cx: Cx, is_shared: bool, heart: Option<Heart>) -> Self {
        let (outbox, mark_in_row) = Default::default();
        Self { cx, is_shared, past: None, is_own: true, outbox, heart, mark_in_row }
    }

    /// Returns the entity's key.
    pub fn key(&self) -> &[u8] {
        &self.cx.key.key
    }

    /// Returns the entity's key as text; bytes that are not UTF-8 are replaced.
    pub fn key_text(&self) -> String {
        String::from_utf8_lossy(self.key()).into_owned()
    }

    /// Returns the name of the entity's definition, which is the name of its field in the app.
    pub fn definition(&self) -> &str {
        &self.cx.definition
    }

    /// Returns the start time of this attempt.
    pub fn now(&self) -> Timestamp {
        self.cx.now.into()
    }

    /// Returns the time that a tick stands for: its point on the schedule, however late the tick runs and
    /// however often it is tried. For a triggered tick it is the time of the trigger. For any other code it
    /// is [`now`](Self::now).
    pub fn scheduled_for(&self) -> Timestamp {
        let hook = self.past.as_ref().and_then(|past| past.hook.as_ref());
        hook.and_then(|(entity, of)| of(entity, self.cx.now)).unwrap_or_else(|| self.now())
    }

    /// Returns the number of this attempt, from 1: one more than the number of failed attempts. An attempt
    /// that a crash cut short has not failed, and runs again under the same number.
    pub fn attempt(&self) -> u32 {
        self.cx.attempt
    }

    /// Returns the id of this piece of work: an idempotency key for other systems, such as a payment
    /// provider.
    ///
    /// The id is unique in the world, also among files that the same program made and among copies of one
    /// file. Each opening of a store draws a random mark. Recorded work keeps the mark that it was recorded
    /// under, and its id contains that mark: `checkout-100000001.4fQz0b7XkLm-charge#1`. Recorded work keeps
    /// its id over retries, restarts, restoring a backup, and copying or moving the file. Work that is
    /// recorded after a restore, in a copy or in a new file gets another id.
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
    /// | action, `#[create]` or `#[init]` that a caller asks for | never | in this execution only: a call that is made again has another id. Pass a key of the caller's as a parameter, or let a message or a run make the call |
    /// | `flow.call` | the target's action runs for a caller | the run records the result; the target's action has an id per execution |
    /// | child run | the child began | the child's steps have the child's mark |
    /// | hook of a kind that keeps no marks | the entity was bound | in every attempt |
    ///
    /// Work that was recorded by a build without marks keeps its old id, which is unique in its file only.
    ///
    /// The id names the piece of work, not its input. The id is no secret and says nothing about order; for
    /// order see [`fencing_token`](Self::fencing_token). After a restore, a run from the backup
    /// repeats its later steps under their old ids, so that other systems recognize the steps.
    pub fn work_id(&self) -> String {
        let (definition, work) = (self.definition(), self.cx.work.as_str());
        let entity = match self.cx.id {
            Some(id) if self.is_own => format!("{definition}-{:x}", id.0),
            // The key, because the entity may be bound or may end between two tries of a message.
            _ => format!("{definition}-{}", self.key().escape_ascii()),
        };
        marked_id(&entity, self.cx.mark.or(self.mark_in_row.get().copied()), work)
    }

    /// Sets the mark that was found in the row of the work.
    pub(crate) fn set_mark(&self, mark: Option<Mark>) {
        if let Some(mark) = mark {
            self.mark_in_row.get_or_init(|| mark);
        }
    }

    /// Returns how often the hook of this kind has succeeded before.
    pub fn run_count(&self) -> u64 {
        self.past.as_ref().map_or(0, |past| (past.run_count)(&past.head))
    }

    /// Returns a number that grows with every owner and every commit of the entity. An outside system can
    /// refuse a number that is lower than the last one it saw.
    pub fn fencing_token(&self) -> u64 {
        self.cx.fence.0
    }

    /// Reports that the code is alive: the limit on silence counts from here.
    pub fn heartbeat(&self) {
        self.cx.heartbeat();
    }

    /// Sets the alarm: the entity's `#[alarm]` hook runs after `span`. Replaces an alarm that was set before
    /// (A1). In a `#[primitive]` block the duration may be a literal, `cx.alarm_in("5m")`; elsewhere write
    /// `d!("5m")`.
    pub fn alarm_in(&self, span: Duration) {
        self.outbox.said().alarm = Change::Set(self.cx.now.after(span));
    }

    /// Sets the alarm to `time`. The alarm rings at once if that time has passed.
    pub fn alarm_at(&self, time: Timestamp) {
        self.outbox.said().alarm = Change::Set(time.into());
    }

    /// Clears the alarm.
    pub fn clear_alarm(&self) {
        self.outbox.said().alarm = Change::Clear;
    }

    /// Emits a lifecycle event to listeners, after the commit (E15). The fields of `particulars` become the
    /// fields of the event.
    pub fn emit(&self, name: impl Into<Name>, particulars: &impl Serialize) {
        match fields(particulars) {
            Ok(fields) => self.outbox.said().emit.push(Lifecycle { name: name.into(), fields }),
            Err(reason) => self.outbox.refuse(reason),
        }
    }

    /// Publishes an event with the commit of the code's success (T1). The code does not learn the result: an
    /// event that is refused because its topic is full is retried, and finally becomes a dead letter.
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

    /// Takes the effects that were set, once the code has ended.
    pub(crate) fn take_said(&self) -> Said {
        self.outbox.take_said()
    }

    pub(crate) fn outbox(&self) -> Outbox {
        self.outbox.clone()
    }

    /// Returns the desk for calls from this code. Each call carries the chain of entities that wait.
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

    /// Takes the effects that were set, once the code has ended.
    pub(crate) fn take_said(&self) -> Said {
        std::mem::take(&mut self.said())
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the id of a piece of work, as other systems see it.
pub(crate) fn marked_id(entity: &str, mark: Option<Mark>, work: &str) -> String {
    match mark {
        Some(mark) => format!("{entity}.{mark}-{work}"),
        None => format!("{entity}-{work}"),
    }
}

/// Returns the fields of a struct or a map, each as JSON; any other value becomes one field, `value`.
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

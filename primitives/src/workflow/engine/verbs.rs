//! Calls and messages to a run.

use bytes::Bytes;
use drystone_runtime::{Borrow, Commit, Error, Name, Next, Row, To, Work};
use serde_json::value::RawValue;

use super::{
    Caller, Engine,
    events::{
        queue::{Queued, number_in},
        ready::ready_for_event,
        topic_waits,
        waits::refused,
    },
    generations::restart::not_restarted,
    memory::Memory,
    others::child,
    start::{Start, answering, only},
    steps::{
        end::{Running, answer, result_of},
        work::RunWork,
    },
    turn::{Halt, Seen, Turned, Turning},
};
use crate::{
    Timestamp, decode, encode,
    primitive::Action,
    system::topics::wire,
    workflow::{
        Flows, RestartError, RunError, RunStatus, SendError, Started, Workflow,
        body::heartbeat::BEAT,
        client::{
            handle::{EventsPage, QueuedEvent},
            history::HistoryPage,
            restart::DROPPING,
        },
        record::Record,
        replay::{
            ask::canonical_hash,
            journal::{End, Entry, What},
        },
    },
};

/// The name under which callers that wait for the result are held.
pub(super) const RESULT: &str = "result";

/// The entries of a history that one answer holds at most.
const HISTORY_PAGE: u64 = 500;

/// The bytes of those entries at most.
const HISTORY_BYTES: usize = 512 << 10;

/// The limits of an answer that lists events: events, and their bytes.
const EVENTS_PAGE: usize = 200;
const EVENTS_BYTES: usize = 512 << 10;

/// A verb of a run.
#[derive(Clone, Copy)]
pub(super) enum Verb {
    Start,
    StartOrGet,
    StartWith,
    SendOrStart,
    Send,
    Result,
    TryResult,
    Status,
    State,
    Events,
    History,
    /// The value says what happens to running steps.
    Cancel(Running),
    Terminate,
    Resume,
    Destroy,
    Execute,
    /// Sent by a parent and by a child, in messages only (L6).
    ChildBegin,
    ChildEnded,
    /// Sent by a topic, in messages only (T).
    TopicEvent,
    TopicLeft,
    /// A query of the author's.
    Query(&'static Action),
    Pause,
    ResumeShifted,
    /// The value says whether queued events are dropped.
    Restart(bool),
    /// An update of the author's, which changes the state.
    Update(&'static str),
    /// A running step reports its progress.
    Beat,
}

/// The verbs of every run.
const VERBS: &[(&str, Verb)] = &[
    ("start", Verb::Start),
    ("start_or_get", Verb::StartOrGet),
    ("start_with", Verb::StartWith),
    ("send_or_start", Verb::SendOrStart),
    ("send", Verb::Send),
    ("result", Verb::Result),
    ("try_result", Verb::TryResult),
    ("status", Verb::Status),
    ("state", Verb::State),
    ("events", Verb::Events),
    ("history", Verb::History),
    ("cancel", Verb::Cancel(Running::EndsFirst)),
    ("cancel_abandoning_steps", Verb::Cancel(Running::IsAbandoned)),
    ("terminate", Verb::Terminate),
    ("resume", Verb::Resume),
    ("destroy", Verb::Destroy),
    ("force_destroy", Verb::Destroy),
    ("execute", Verb::Execute),
    (child::BEGIN, Verb::ChildBegin),
    (child::ENDED, Verb::ChildEnded),
    (wire::DELIVERED, Verb::TopicEvent),
    (wire::LEFT, Verb::TopicLeft),
    ("pause", Verb::Pause),
    ("resume_shifted", Verb::ResumeShifted),
    ("restart", Verb::Restart(false)),
    (DROPPING, Verb::Restart(true)),
];

impl Verb {
    pub(super) fn of<W: Workflow>(name: &str) -> Option<Self> {
        let own = VERBS.iter().find(|(verb, _)| *verb == name).map(|(_, verb)| *verb);
        let query = || W::SCRIPT.queries.iter().find(|query| query.name == name).map(Self::Query);
        let update = || W::SCRIPT.updates.iter().find(|update| **update == name).map(|update| Self::Update(update));
        let beat = (name == BEAT).then_some(Self::Beat);
        own.or(beat).or_else(query).or_else(update)
    }
}

impl<W, D, A> Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    pub(super) fn called(
        &self,
        memory: &mut Memory,
        seen: Seen<'_>,
        (name, body): (&str, &Bytes),
        caller: Caller,
    ) -> Turned {
        let verb = Verb::of::<W>(name).ok_or_else(|| Halt::Refuse(self.unknown(name)))?;
        match (verb, caller) {
            (Verb::ChildBegin, None) => return child::begun::<W>(memory, seen, body),
            (Verb::ChildEnded, None) => return child::ended::<W>(memory, seen, body),
            (Verb::TopicEvent, None) => return topic_waits::delivered::<W>(memory, seen, body),
            (Verb::TopicLeft, None) => return topic_waits::left::<W>(memory, seen, body),
            (Verb::ChildBegin | Verb::ChildEnded | Verb::TopicEvent | Verb::TopicLeft, Some(_)) => {
                return Err(Halt::Refuse(self.unknown(name)));
            }
            _ => {}
        }
        if seen.entity.is_none() {
            return self.called_unbound(memory, seen, (verb, body), caller);
        }
        match verb {
            Verb::Query(query) => Ok(Next::Run(query_work(query, body, caller))),
            Verb::Beat => Self::beat(memory, seen, body, caller),
            Verb::Update(name) => Self::updated(memory, seen, (name, body), caller),
            Verb::Start | Verb::StartWith => Self::found(memory, seen, None, caller),
            Verb::StartOrGet => Self::found(memory, seen, Some(body), caller),
            Verb::Send => {
                let (event, payload) = event_in(body)?;
                Self::sent(memory, seen, (&event, &payload), caller)
            }
            Verb::SendOrStart => {
                let (_, event, payload) = start_in(body)?;
                Self::sent(memory, seen, (&event, &payload), caller)
            }
            Verb::Execute => Self::executed_again(memory, seen, body, caller),
            Verb::ChildBegin | Verb::ChildEnded | Verb::TopicEvent | Verb::TopicLeft => Ok(Next::nothing()),
            Verb::Result => Self::result(memory, seen, caller, true),
            Verb::TryResult => Self::result(memory, seen, caller, false),
            Verb::Status => Self::status(memory, seen, caller),
            Verb::State => only(caller, seen.entity.map_or_else(Bytes::new, |entity| entity.state.clone())),
            Verb::Events => Self::events(memory, seen, body, caller),
            Verb::History => self.history(memory, seen, body, caller),
            Verb::Cancel(running) => Self::changed_by(memory, seen, caller, |turning| turning.cancel(running)),
            Verb::Terminate => Self::changed_by(memory, seen, caller, Turning::terminate),
            Verb::Resume => Self::changed_by(memory, seen, caller, |turning| turning.resume(false)),
            Verb::ResumeShifted => Self::changed_by(memory, seen, caller, |turning| turning.resume(true)),
            Verb::Pause => Self::changed_by(memory, seen, caller, |turning| Ok(turning.pause())),
            Verb::Restart(_) if known(memory, seen)?.goes => Err(not_restarted(&RestartError::NotFound)),
            Verb::Restart(drops_events) => Self::restarted(memory, seen, (body, drops_events), caller),
            Verb::Destroy => Self::destroyed(memory, seen, caller),
        }
    }

    pub(super) fn called_unbound(
        &self,
        memory: &mut Memory,
        seen: Seen<'_>,
        (verb, body): (Verb, &Bytes),
        caller: Caller,
    ) -> Turned {
        match verb {
            Verb::Start => {
                let start = Start { input: body, event: None, parent: None };
                Turning::<W>::started(memory, seen, &start, caller, |_| encode(&()))
            }
            Verb::StartOrGet => {
                let start = Start { input: body, event: None, parent: None };
                Turning::<W>::started(memory, seen, &start, caller, |_| encode(&Started::Started))
            }
            Verb::Execute => Self::executed(memory, seen, body, caller),
            Verb::ChildBegin | Verb::ChildEnded | Verb::TopicEvent | Verb::TopicLeft => Ok(Next::nothing()),
            Verb::StartWith | Verb::SendOrStart => {
                let (input, event, payload) = start_in(body)?;
                let start = Start { input: input.get().as_bytes(), event: Some((&event, &payload)), parent: None };
                let answer = |sent: Option<crate::workflow::Sent>| encode(&sent);
                let turned = Turning::<W>::started(memory, seen, &start, caller, answer);
                turned.map_err(|halt| if matches!(verb, Verb::StartWith) { of_start(halt) } else { halt })
            }
            Verb::Send => Err(refused(SendError::NotFound)),
            Verb::Result | Verb::TryResult => {
                Err(encode(&RunError::<()>::NotFound).map_or_else(Halt::Malformed, Halt::Failed))
            }
            Verb::Status => only(caller, Bytes::from_static(b"null")),
            // The answer is empty if there is no state: `null` is the state of a struct without fields.
            Verb::State => only(caller, Bytes::new()),
            Verb::Events => only(caller, encode(&EventsPage::default()).map_err(Halt::Malformed)?),
            Verb::Cancel(_)
            | Verb::Terminate
            | Verb::Resume
            | Verb::Destroy
            | Verb::Pause
            | Verb::ResumeShifted
            | Verb::Beat => only(caller, Bytes::from_static(b"false")),
            Verb::Restart(_) => Err(not_restarted(&RestartError::NotFound)),
            Verb::History | Verb::Query(_) | Verb::Update(_) => {
                Err(Halt::Refuse(Error::NotBound { key: seen.key.clone() }))
            }
        }
    }

    /// Starts a run, and holds its caller until the run ends.
    fn executed(memory: &mut Memory, seen: Seen<'_>, input: &[u8], caller: Caller) -> Turned {
        let (turning, _) = Turning::<W>::start(seen, &Start { input, event: None, parent: None })?;
        // Only `close` decides whether the run has ended, because its record or state may be too long.
        let Next::Commit(mut commit) = turning.close(memory, None)? else { return Ok(Next::nothing()) };
        let all = To::All(Name::new(RESULT));
        let ended = commit.replies.iter().find(|(to, _)| *to == all).map(|(_, reply)| reply.clone());
        match (ended, caller) {
            (Some(reply), Some(ticket)) => commit.replies.push((To::Ticket(ticket), reply)),
            (Some(_), None) => {}
            (None, caller) => commit.hold = caller.map(|_| Name::new(RESULT)),
        }
        Ok(Next::Commit(commit))
    }

    /// Handles `execute` on an existing run: if the run was started with this input, the caller waits for
    /// its end.
    fn executed_again(memory: &mut Memory, seen: Seen<'_>, input: &[u8], caller: Caller) -> Turned {
        let record = known(memory, seen)?;
        if canonical_hash(input) == record.input {
            return Self::result(memory, seen, caller, true);
        }
        let status = record.phase().word().to_owned();
        let error = encode(&RunError::<()>::AlreadyExists { status }).map_err(Halt::Malformed)?;
        Ok(answering(caller, Err(Error::Declined(error))))
    }

    /// Destroys a run. The parent of an unfinished run is told that the run was terminated. A run that must
    /// send more than one commit can is removed when all of it is sent.
    fn destroyed(memory: &mut Memory, seen: Seen<'_>, caller: Caller) -> Turned {
        let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
        if turning.has_much_to_tell() {
            return turning.destroy_when_told(memory, caller);
        }
        if turning.record.end.is_none() {
            let pending = std::mem::take(&mut turning.record.pending);
            pending.iter().for_each(|pending| turning.let_go(pending));
            turning.permits().release_all();
            turning.tell_parent(&End::Terminated)?;
            #[cfg(feature = "cron")]
            turning.tell_schedule();
        }
        let send = turning.commit.take_messages();
        let replies = caller.map(|caller| (drystone_runtime::To::Ticket(caller), Ok(Bytes::from_static(b"true"))));
        Ok(Next::Commit(Commit { destroy: true, send, replies: replies.into_iter().collect(), ..Commit::default() }))
    }

    fn found(memory: &mut Memory, seen: Seen<'_>, input: Option<&[u8]>, caller: Caller) -> Turned {
        let Some(turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
        let found = reply_of(turning.found(input))?;
        turning.close(memory, None)?;
        Ok(answering(caller, found))
    }

    fn sent(memory: &mut Memory, seen: Seen<'_>, (event, body): (&str, &RawValue), caller: Caller) -> Turned {
        ready_for_event::<W>(memory, seen, (event, body))?;
        let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
        let reply = match reply_of(turning.send(event, body))? {
            Ok(number) => {
                turning.go_on_if_due()?;
                Ok(encode(&turning.queues().sent(number, event)).map_err(Halt::Malformed)?)
            }
            Err(error) if caller.is_some() => Err(error),
            Err(error) => return Err(Halt::Refuse(error)),
        };
        turning.close(memory, Some((caller, reply)))
    }

    fn changed_by<'a>(
        memory: &mut Memory,
        seen: Seen<'a>,
        caller: Caller,
        change: impl FnOnce(&mut Turning<'a, W>) -> Result<bool, Halt>,
    ) -> Turned {
        let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
        let changed = encode(&change(&mut turning)?).map_err(Halt::Malformed)?;
        turning.close(memory, Some((caller, Ok(changed))))
    }

    fn result(memory: &mut Memory, seen: Seen<'_>, caller: Caller, waits: bool) -> Turned {
        let record = known(memory, seen)?;
        if record.end.is_none() {
            return if waits {
                Ok(Next::Commit(Commit { hold: Some(Name::new(RESULT)), ..Commit::default() }))
            } else {
                only(caller, Bytes::new())
            };
        }
        let last = entries(record, seen, record.entries - 1, record.entries)?;
        let Some(Entry { what: What::Ended(end), .. }) = last.first() else {
            return Err(Halt::Park("the journal of a run that has ended does not end with its end".to_owned()));
        };
        Ok(answering(caller, result_of(answer(end)?)))
    }

    fn status(memory: &mut Memory, seen: Seen<'_>, caller: Caller) -> Turned {
        let record = known(memory, seen)?;
        let time = Timestamp::from_millis;
        let status = RunStatus {
            phase: record.phase(),
            started_at: time(record.started_at),
            ended_at: record.end.as_ref().map(|end| time(end.at)),
            entries: record.entries,
            waits_for: record.shown_pending(),
            queued: record.shown_queues(),
            stopped: record.stopped.as_ref().map(|halted| halted.why.clone()),
            cleanup_error: record.end.as_ref().and_then(|end| end.cleanup_error.clone()),
            generation: record.generation,
            late: record.late,
            paused_since: record.paused.as_ref().map(|paused| time(paused.at)),
            undos_left: record.undos.left,
            undos_failed: record.undos.failed.clone(),
        };
        only(caller, encode(&Some(status)).map_err(Halt::Malformed)?)
    }

    /// Lists queued events of all types behind a number, in order: one page.
    fn events(memory: &mut Memory, seen: Seen<'_>, body: &[u8], caller: Caller) -> Turned {
        let after = decode::<Vec<u64>>(body).map_err(Halt::Malformed)?.first().copied().unwrap_or(0);
        let record = known(memory, seen)?;
        let full = record.queues.iter().filter(|(_, queue)| queue.count > 0).map(|(event, _)| event);
        // One event more than a page holds shows whether there is another page.
        let behind = |event| super::events::queue::behind(record.drops, event, after, EVENTS_PAGE as u32 + 1);
        let ranges: Vec<_> = full.map(|event| (event, behind(event))).collect();
        let missing: Vec<_> = ranges.iter().filter(|(_, range)| seen.rows.get(range).is_none()).collect();
        if !missing.is_empty() {
            return Err(Halt::Read(missing.into_iter().map(|(_, range)| range.clone()).collect()));
        }
        let rows = |(event, range)| seen.rows.get(range).unwrap_or_default().iter().map(move |row| (event, row));
        let mut rows: Vec<(&String, &Row)> =
            ranges.iter().map(|(event, range)| (*event, range)).flat_map(rows).collect();
        rows.sort_by_key(|(_, row)| number_in(&row.key));
        only(caller, encode(&events_page(&rows)?).map_err(Halt::Malformed)?)
    }

    fn history(&self, memory: &mut Memory, seen: Seen<'_>, body: &[u8], caller: Caller) -> Turned {
        let [from]: [u64; 1] = decode(body).map_err(Halt::Malformed)?;
        let record = known(memory, seen)?;
        let until = (from + HISTORY_PAGE).min(record.entries);
        let texts = record.texts_in(seen.rows, from, until).map_err(|range| Halt::Read(vec![range]))?;
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for (number, text) in texts {
            bytes += text.len();
            if bytes > HISTORY_BYTES && !entries.is_empty() {
                break;
            }
            entries.push(Entry::of_text(number, text).map_err(Halt::Park)?);
        }
        let is_last = from + entries.len() as u64 >= record.entries;
        let (workflow, key) = (self.name.to_string(), seen.key.key.to_vec());
        let versions = record.versions.clone();
        let (seed, generation) = (record.seed, record.generation);
        let pending = record.waits().filter(|_| is_last);
        let page = HistoryPage { workflow, key, seed, entries, is_last, generation, versions, pending };
        only(caller, encode(&page).map_err(Halt::Malformed)?)
    }

    pub(super) fn unknown(&self, verb: &str) -> Error {
        let queries = W::SCRIPT.queries.iter().map(|query| query.name).chain(W::SCRIPT.updates.iter().copied());
        let verbs = VERBS.iter().map(|(verb, _)| *verb).filter(|verb| !verb.contains(':'));
        let known = verbs.chain(queries).map(str::to_owned).collect();
        Error::UnknownVerb { definition: self.name.to_string(), verb: verb.to_owned(), known }
    }
}

impl<W: Workflow> Turning<'_, W> {
    /// Ends the run at once.
    fn terminate(&mut self) -> Result<bool, Halt> {
        if self.record.end.is_some() {
            return Ok(false);
        }
        self.end(crate::workflow::replay::journal::End::Terminated)?;
        Ok(true)
    }
}

/// Turns a typed error into a reply, which the turn can still commit.
pub(super) fn reply_of<T>(asked: Result<T, Halt>) -> Result<Result<T, Error>, Halt> {
    match asked {
        Ok(value) => Ok(Ok(value)),
        Err(Halt::Failed(error)) => Ok(Err(Error::Declined(error))),
        Err(halt) => Err(halt),
    }
}

/// Returns a page with the first of these events.
fn events_page(rows: &[(&String, &Row)]) -> Result<EventsPage, Halt> {
    let (mut page, mut bytes) = (EventsPage::default(), 0);
    for (event, row) in rows {
        bytes += row.body.len();
        if page.events.len() == EVENTS_PAGE || bytes > EVENTS_BYTES && !page.events.is_empty() {
            page.next = page.events.last().map(|event| event.number);
            break;
        }
        let queued: Queued = decode(&row.body).map_err(Halt::Park)?;
        let body = decode(queued.event.get().as_bytes()).map_err(Halt::Park)?;
        let (number, sent_at) = (number_in(&row.key), Timestamp::from_millis(queued.at));
        page.events.push(QueuedEvent { event: (*event).clone(), number, sent_at, body });
    }
    Ok(page)
}

/// Returns the record, for a turn that does not change it.
pub(super) fn known<'m>(memory: &'m mut Memory, seen: Seen<'_>) -> Result<&'m Record, Halt> {
    let entity = seen.entity.ok_or_else(|| Halt::Refuse(Error::NotBound { key: seen.key.clone() }))?;
    memory.record(&entity.head).map_err(Halt::Park)
}

/// Returns the entries of the journal from one number up to, but not including, another.
pub(super) fn entries(record: &Record, seen: Seen<'_>, from: u64, until: u64) -> Result<Vec<Entry>, Halt> {
    let texts = record.texts_in(seen.rows, from, until).map_err(|range| Halt::Read(vec![range]))?;
    let entries = texts.into_iter().map(|(number, text)| Entry::of_text(number, text));
    entries.collect::<Result<_, _>>().map_err(Halt::Park)
}

/// Returns the work that runs a query.
fn query_work(query: &Action, body: &Bytes, caller: Caller) -> Work {
    let number = caller.map_or(0, |caller| caller.number);
    Work { borrow: Borrow::Shared, pure: query.pure, input: body.clone(), ..RunWork::query(query.name, number) }
}

/// Reads an event and its payload. A replayed dead letter also names the topic of the event, which a run
/// ignores.
fn event_in(body: &[u8]) -> Result<(String, Box<RawValue>), Halt> {
    type Replayed = (String, Box<RawValue>, Option<Box<RawValue>>);
    if let Ok((event, payload, _)) = decode::<Replayed>(body) {
        return Ok((event, payload));
    }
    decode(body).map_err(Halt::Malformed)
}

fn start_in(body: &[u8]) -> Result<(Box<RawValue>, String, Box<RawValue>), Halt> {
    decode(body).map_err(Halt::Malformed)
}

/// Turns the error of an event into the error of the start that brought the event.
fn of_start(halt: Halt) -> Halt {
    match halt {
        Halt::Failed(error) => {
            let told = decode::<SendError>(&error).map(crate::workflow::StartError::Event);
            told.and_then(|error| encode(&error)).map_or_else(Halt::Malformed, Halt::Failed)
        }
        other => other,
    }
}

//! A schedule: an entity of the workflow, under a key of the author's choice, that starts a run at each time
//! of the wall clock.
//!
//! A start is a message in the commit that advances the schedule, and a run tells its end in a message of
//! its own last commit, so each of them is taken exactly once (M1). The key of a run is made of the key of
//! its schedule and the time.

use bytes::Bytes;
use drystone_runtime::{Change, Commit, Error, Input, Key, Message, Name, Next, Status, To};
use serde::{Deserialize, Serialize};

use super::{
    Caller, Engine,
    events::waits::refused,
    memory::Memory,
    start::{Start, only},
    turn::{Halt, Seen, Turned, Turning},
    verbs::Verb,
};
use crate::{
    Timestamp, decode, encode,
    workflow::{
        Flows, RunError, SendError, StartError, Tick, Workflow,
        definition::tick::SUFFIX_BYTES,
        record::{
            Notify,
            schedule::{self, Plan, Planned, is_plan},
        },
    },
};

/// A schedule starts a run.
const START: &str = "drystone:tick";

/// A run reports the end to the schedule.
const ENDED: &str = "drystone:ended";

/// The message that starts a run.
#[derive(Serialize, Deserialize)]
struct StartTick {
    schedule: Vec<u8>,
    time: Timestamp,
    /// Whether the schedule waits for the end of the run.
    is_told: bool,
}

impl<W, D, A> Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    /// Takes the turn of a schedule, or of a run with its schedule; `None` if the input concerns a run
    /// alone.
    pub(super) fn scheduled(&self, memory: &mut Memory, seen: Seen<'_>, input: &Input) -> Option<Turned> {
        let plan = seen.entity.filter(|entity| is_plan(&entity.head));
        match input {
            Input::Message { verb, body, .. } if verb.as_str() == START => Some(Self::ticks(memory, seen, body)),
            Input::Message { verb, body, .. } if verb.as_str() == ENDED => {
                Some(plan.map_or(Ok(Next::nothing()), |_| self.run_ended(seen, body)))
            }
            Input::Call { verb, body, ticket, .. } => self.plan_called(memory, seen, (verb, body), Some(*ticket)),
            Input::Message { verb, body, .. } => self.plan_called(memory, seen, (verb, body), None),
            Input::Alarm { .. } => plan.map(|_| self.moved(seen, |plan, now| plan.due(&W::options().wall, now))),
            Input::Changed => plan.map(|_| self.moved(seen, |plan, now| plan.changed(&W::options().wall, now))),
            Input::Done { .. } | Input::Gone { .. } => plan.map(|_| Ok(Next::nothing())),
        }
    }

    fn plan_called(
        &self,
        memory: &mut Memory,
        seen: Seen<'_>,
        (name, body): (&str, &Bytes),
        caller: Caller,
    ) -> Option<Turned> {
        let is_plan = seen.entity.is_some_and(|entity| is_plan(&entity.head));
        if !is_plan && W::options().wall.cron.is_none() {
            return None;
        }
        match (name, is_plan) {
            ("schedule", true) => Some(said(caller, &false)),
            ("schedule", false) => Some(self.schedule(memory, seen, caller)),
            ("unschedule" | "destroy" | "force_destroy", true) => Some(unscheduled(caller)),
            ("unschedule", false) => Some(said(caller, &false)),
            ("schedule_status", true) => {
                Some(planned(seen).and_then(|plan| said(caller, &Some(plan.shown(&W::options().wall)))))
            }
            ("schedule_status", false) => Some(only(caller, Bytes::from_static(b"null"))),
            (_, false) => None,
            (_, true) => Some(self.asked_of_a_plan(memory, seen, (name, body), caller)),
        }
    }

    /// Answers a verb of runs on the key of a schedule, which has no run and can have none.
    fn asked_of_a_plan(
        &self,
        memory: &mut Memory,
        seen: Seen<'_>,
        (name, body): (&str, &Bytes),
        caller: Caller,
    ) -> Turned {
        match Verb::of::<W>(name) {
            Some(Verb::Start | Verb::StartOrGet | Verb::StartWith) => Err(taken("scheduled")),
            // The record of a run would overwrite the plan.
            Some(Verb::Execute) => Err(not_executed("scheduled")),
            Some(Verb::SendOrStart) => Err(refused(SendError::NotFound)),
            Some(verb) => self.called_unbound(memory, seen, (verb, body), caller),
            None => Err(Halt::Refuse(self.unknown(name))),
        }
    }

    /// Schedules the key. The first run starts at the first time after now.
    fn schedule(&self, memory: &mut Memory, seen: Seen<'_>, caller: Caller) -> Turned {
        if let Some(entity) = seen.entity {
            let record = memory.record(&entity.head).map_err(Halt::Park)?;
            return Err(taken(record.phase().word()));
        }
        let (found, limit) = (seen.key.key.len() + SUFFIX_BYTES, drystone_runtime::key_bytes_max());
        if found > limit {
            return Err(Halt::Refuse(Error::TooLarge { what: drystone_runtime::Limit::KeyBytes, found, limit }));
        }
        let mut commit = self.written(seen, Plan::new(seen.now.into()), Vec::new())?;
        commit.replies.extend(reply(caller, &true)?);
        Ok(Next::Commit(commit))
    }

    fn moved(&self, seen: Seen<'_>, change: impl FnOnce(&mut Plan, Timestamp) -> Vec<Timestamp>) -> Turned {
        let mut plan = planned(seen)?;
        let starts = change(&mut plan, seen.now.into());
        Ok(Next::Commit(self.written(seen, plan, starts)?))
    }

    fn run_ended(&self, seen: Seen<'_>, body: &[u8]) -> Turned {
        let time: Timestamp = decode(body).map_err(Halt::Malformed)?;
        self.moved(seen, |plan, _| plan.ended(time, &W::options().wall).into_iter().collect())
    }

    /// Builds the commit that stores the plan and starts runs for these times.
    fn written(&self, seen: Seen<'_>, plan: Plan, starts: Vec<Timestamp>) -> Result<Commit, Halt> {
        let wall = W::options().wall;
        let alarm = schedule::alarm(&plan, &wall);
        let status = if alarm.is_some() { Status::live("scheduled") } else { Status::failing("without a schedule") };
        let mut commit =
            Commit { head: Some(encode(&Planned::from(plan)).map_err(Halt::Malformed)?), ..Commit::default() };
        commit.alarm = alarm.map_or(Change::Clear, Change::Set);
        commit.status = seen.entity.is_none_or(|entity| entity.status != status).then_some(status);
        for time in starts {
            commit.send.push(self.start_of(seen, time, Plan::is_told(&wall))?);
        }
        Ok(commit)
    }

    fn start_of(&self, seen: Seen<'_>, time: Timestamp, is_told: bool) -> Result<Message, Halt> {
        let schedule = seen.key.key.to_vec();
        let suffix = Tick::new("", time).key();
        let key = [&schedule, suffix.as_bytes()].concat();
        let to = Key::new(seen.key.space.clone(), key).map_err(Halt::Refuse)?;
        let body = encode(&StartTick { schedule, time, is_told }).map_err(Halt::Malformed)?;
        Ok(Message { to, definition: self.name.clone(), verb: Name::new(START), body })
    }

    /// Handles the message with which a schedule starts this run. If the run exists already, it stands for
    /// this time, and only tells its end.
    fn ticks(memory: &mut Memory, seen: Seen<'_>, body: &[u8]) -> Turned {
        let StartTick { schedule, time, is_told } = decode(body).map_err(Halt::Malformed)?;
        let notify = is_told.then(|| Notify { schedule: schedule.clone(), time: time.as_millis() });
        let mut turning = match seen.entity {
            Some(entity) if is_plan(&entity.head) => return Ok(Next::nothing()),
            Some(_) => match Turning::<W>::open(memory, seen)? {
                Some(turning) => turning,
                None => return Ok(Next::nothing()),
            },
            None => {
                let tick = Tick::new(String::from_utf8_lossy(&schedule), time);
                let input = encode(&[tick]).map_err(Halt::Malformed)?;
                Turning::<W>::start(seen, &Start { input: &input, event: None, parent: None })?.0
            }
        };
        if notify.is_some() {
            turning.record.notify = notify;
        }
        if turning.record.end.is_some() {
            turning.tell_schedule();
        }
        turning.close(memory, None)
    }
}

impl<W: Workflow> Turning<'_, W> {
    /// Tells the schedule, in the same commit, that the run has ended.
    pub(super) fn tell_schedule(&mut self) {
        let told = self.record.notify.take().and_then(|notify| farewell(self.seen, &notify));
        self.commit.send(told);
    }
}

/// Builds the message that tells a schedule the end of a run.
fn farewell(seen: Seen<'_>, notify: &Notify) -> Option<Message> {
    let to = Key::new(seen.key.space.clone(), notify.schedule.clone()).ok()?;
    let body = encode(&Timestamp::from_millis(notify.time)).ok()?;
    Some(Message { to, definition: seen.definition.clone(), verb: Name::new(ENDED), body })
}

fn planned(seen: Seen<'_>) -> Result<Plan, Halt> {
    let head = seen.entity.map_or_else(Bytes::new, |entity| entity.head.clone());
    decode::<Planned>(&head).map(|planned| planned.schedule).map_err(Halt::Park)
}

fn unscheduled(caller: Caller) -> Turned {
    let mut commit = Commit { destroy: true, ..Commit::default() };
    commit.replies.extend(reply(caller, &true)?);
    Ok(Next::Commit(commit))
}

fn said(caller: Caller, value: &impl Serialize) -> Turned {
    only(caller, encode(value).map_err(Halt::Malformed)?)
}

fn reply(caller: Caller, value: &impl Serialize) -> Result<Option<(To, drystone_runtime::Reply)>, Halt> {
    let value = encode(value).map_err(Halt::Malformed)?;
    Ok(caller.map(|ticket| (To::Ticket(ticket), Ok(value))))
}

fn taken(status: &str) -> Halt {
    let error = StartError::AlreadyExists { status: status.to_owned() };
    encode(&error).map_or_else(Halt::Malformed, Halt::Failed)
}

fn not_executed(status: &str) -> Halt {
    let error = RunError::<()>::AlreadyExists { status: status.to_owned() };
    encode(&error).map_or_else(Halt::Malformed, Halt::Failed)
}

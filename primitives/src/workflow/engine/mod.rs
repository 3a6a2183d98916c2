//! The handler of a workflow, which joins a body to the kernel. A turn records what has happened, delivers
//! it to the body, and stores the operations that the body then waits for. A single commit holds all of
//! that.
//!
//! *Only a body at rest is recorded*: an entry is delivered to the body before the next entry is written. So
//! the journal is the order in which the body saw its entries, and a replay can repeat it.

pub(crate) mod commit;
mod events;
mod generations;
mod lifecycle;
mod memory;
mod others;
pub(crate) mod outbox;
pub(crate) mod requests;
pub(crate) mod revive;
#[cfg(feature = "cron")]
pub(crate) mod schedule;
pub(crate) mod start;
mod steps;
pub(crate) mod turn;
mod turn_commit;
pub(crate) mod verbs;

use std::{marker::PhantomData, pin::Pin, sync::Arc};

use bytes::Bytes;

use drystone_runtime::{
    Borrow, Cause, Cx, Definition, Entity, Handler, Hot, Input, Key, Millis, Name, Needed, Next, Now, Outcome, Rows,
    Ticket, Work, kernel::WeakKernel,
};
use serde::Serialize;

use self::{
    events::ready::ready,
    memory::{Memory, Parcels},
    turn::{Seen, Turning},
    verbs::Verb,
};
use super::{
    EventOptions, Flows, Options, StepCode, Workflow,
    body::{heartbeat::Hearts, names::Names},
    replay::foreign_wake::Nudge,
};
use crate::{Error, app::key_space::space_of, encode};

/// Builds the definition of a workflow. `name` is the name of its field in the app.
pub fn define<W, D, A>(name: &'static str, services: Arc<D>, is_shared: bool) -> Result<Definition, Error>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    let name = Name::new(name).checked()?;
    let config = encode(&config::<W>()).map_err(|reason| Error::Malformed { verb: name.to_string(), reason })?;
    let space = space_of(&name, is_shared);
    let parcels = Parcels::default();
    let (names, hearts) = (Names::new(W::clients(), is_shared), Hearts::default());
    let (nudge, app) = (Arc::default(), PhantomData);
    let handler = Engine::<W, D, A> { name: name.clone(), services, is_shared, parcels, names, hearts, nudge, app };
    Ok(Definition { name, kind: Name::new(KIND), space, config, handler: Arc::new(handler) })
}

/// The `primitive:type` of every workflow.
pub(super) const KIND: &str = "workflow";

/// The configuration of a workflow, as the view shows it. A change of this value shows that the code has
/// changed.
#[derive(Serialize)]
struct Config {
    options: Options,
    steps: &'static [StepCode],
    events: Vec<(&'static str, EventOptions)>,
    code: u64,
}

fn config<W: Workflow>() -> Config {
    let events = W::SCRIPT.events.iter().map(|event| (event.name, event.options)).collect();
    Config { options: W::options(), steps: W::SCRIPT.steps, events, code: W::SCRIPT.hash }
}

/// The handler of one workflow.
pub(super) struct Engine<W, D, A> {
    name: Name,
    services: Arc<D>,
    is_shared: bool,
    /// Code that bodies made, held from when it is listed until it starts.
    parcels: Parcels,
    /// The progress of the steps that run in this process.
    hearts: Hearts,
    /// The names of the primitives that the body calls.
    names: Names,
    /// Reaches the kernel that the runs are in, so that a body which something foreign has woken gets a
    /// turn.
    nudge: Arc<Nudge>,
    app: PhantomData<fn() -> (W, A)>,
}

impl<W, D, A> Handler for Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    fn borrow(&self, verb: &str) -> Borrow {
        match Verb::of::<W>(verb) {
            Some(Verb::Query(_)) => Borrow::Shared,
            _ => Borrow::None,
        }
    }

    fn turn(
        &self,
        hot: &mut Hot,
        key: &Key,
        entity: Option<&Entity>,
        rows: &Rows,
        input: &Input,
        Now { at: now, mark }: Now,
    ) -> Next {
        let memory = Memory::of(hot);
        let (definition, names, nudge) = (&self.name, &self.names, &self.nudge);
        let seen = Seen { definition, names, nudge, key, entity, rows, now, mark };
        self.take(memory, seen, input)
    }

    fn resumes(&self, verb: &str) -> Option<Bytes> {
        matches!(verb, "resume" | "resume_shifted").then(|| Bytes::from_static(b"true"))
    }

    fn work(&self, hot: &mut Hot, entity: &Entity, rows: &Rows, now: Millis) -> Needed<Vec<Work>> {
        self.listed(Memory::of(hot), entity, rows, now)
    }

    fn run(
        &self,
        _: &mut Hot,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        self.start(entity, work, cx)
    }

    fn opened(&self, weak_kernel: &WeakKernel) {
        self.nudge.set(weak_kernel);
    }

    fn scripts(&self) -> Vec<Name> {
        W::SCRIPT.steps.iter().filter(|step| step.transaction).map(|step| Name::new(step.name)).collect()
    }
}

impl<W, D, A> Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    fn take(&self, memory: &mut Memory, seen: Seen<'_>, input: &Input) -> Next {
        #[cfg(feature = "cron")]
        if let Some(turned) = self.scheduled(memory, seen, input) {
            return turned.unwrap_or_else(|halt| halt.into_next(&input.name()));
        }
        let (verb, turned) = match input {
            Input::Call { verb, body, ticket, .. } => {
                (verb.as_str(), self.called(memory, seen, (verb, body), Some(*ticket)))
            }
            Input::Message { verb, body, .. } => (verb.as_str(), self.called(memory, seen, (verb, body), None)),
            Input::Alarm { .. } => ("alarm", Self::rang(memory, seen)),
            Input::Done { work, attempt, cause: Cause::Listed, outcome } => {
                (work.as_str(), self.step_done(memory, seen, (work.as_str(), *attempt), outcome))
            }
            // Only queries run as part of a call, and the kernel answers them outside turns.
            Input::Done { .. } | Input::Gone { .. } => ("gone", Ok(Next::nothing())),
            Input::Changed => ("changed", Self::changed(memory, seen)),
        };
        turned.unwrap_or_else(|halt| halt.into_next(verb))
    }

    /// The alarm of the run rang: a timer is due, or work is left for a run that has ended.
    fn rang(memory: &mut Memory, seen: Seen<'_>) -> turn::Turned {
        ready(memory, seen)?;
        let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
        if turning.record.end.is_some() {
            turning.after_the_end()?;
        } else if turning.record.holds_timers() {
            // The alarm was set before the pause. Nothing is due while the run is paused.
        } else if turning.record.stopped.is_some() {
            turning.resume_if(|halted| halted.retry_at <= seen.now.0)?;
        } else {
            turning.retries_are_due();
            if turning.record.undoes() {
                turning.wind_down()?;
            } else {
                turning.go_on()?;
            }
        }
        turning.close(memory, None)
    }

    /// The code has changed: a run that other code had stopped is tried again (W4).
    fn changed(memory: &mut Memory, seen: Seen<'_>) -> turn::Turned {
        memory.live = None;
        let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
        turning.resume_if(|halted| halted.code != W::SCRIPT.hash)?;
        turning.close(memory, None)
    }
}

/// The caller that waits for the reply; `None` for a message.
type Caller = Option<Ticket>;

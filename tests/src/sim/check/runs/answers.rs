//! E4, L1–L3, V: the answers of a run are durable, and stay true.

use bytes::Bytes;
use drystone::{
    RunError,
    workflow::{EventsPage, QueuedEvent, Restarted, RunStatus, SendError, Sent},
};
use serde::de::DeserializeOwned;

use crate::sim::{
    check::Span,
    drawing::roster::Number,
    recording::{log::Class, witness::Run},
    running::world::World,
    workflows::{End, Kind, Life, Phase, Told},
};

/// A call that a run answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// The run.
    pub member: Number,
    /// The verb of the call.
    pub verb: &'static str,
    /// The number that identifies the effect of the call.
    pub number: u64,
}

impl Answered {
    /// Checks a successful answer at the moment when it arrives.
    pub fn told(&self, world: &World, bytes: &Bytes) {
        if self.verb == "restart" {
            return self.restarted(world, bytes);
        }
        if self.may_be_of_another(world) {
            return;
        }
        let durable = world.witness.durable();
        let run = durable.errands().of(self.member);
        let Some((run, life)) = run.and_then(|run| Some((run, run.life.as_ref()?))) else {
            return self.unbound(world, bytes);
        };
        let holds = match self.verb {
            "start" | "start_or_get" => run.root.is_none_or(|root| root == self.number),
            "start_with" => run.root.is_none_or(|root| root + 1 == self.number) && sent(world, run, self.number, bytes),
            "send" | "send_or_start" => sent(world, run, self.number, bytes),
            "mark" => life.ground.marks.contains(&self.number) || run.record.generation > 1,
            "cancel" | "cancel_abandoning_steps" => read(bytes) != Some(true) || life.is_cancelled,
            "terminate" => read(bytes) != Some(true) || life.phase == Phase::Over(End::Terminated),
            "result" => read::<Told>(bytes).is_some_and(|told| life.phase == Phase::Over(End::Succeeded(told))),
            "status" => read::<Option<RunStatus>>(bytes).is_some_and(|status| fits(run, life, status.as_ref())),
            "events" => read::<EventsPage>(bytes).is_some_and(|page| queued(run, &page.events)),
            _ => true,
        };
        self.check(world, holds, || format!("{bytes:?}, and is {life:?}"));
    }

    /// Checks an error of the run at the moment when it arrives.
    pub fn failed(&self, world: &World, error: &Bytes) {
        if self.may_be_of_another(world) {
            return;
        }
        let durable = world.witness.durable();
        let Some(life) = durable.errands().of(self.member).and_then(|run| run.life.as_ref()) else { return };
        let holds = match self.verb {
            "result" | "try_result" => {
                let end = read::<RunError<String>>(error);
                match (&life.phase, &end) {
                    (Phase::Over(End::Failed(told)), Some(RunError::Failed(error))) => told == error,
                    (Phase::Over(End::Fault(told)), Some(RunError::Fault(fault))) => told == fault,
                    (Phase::Over(End::Cancelled(_)), Some(RunError::Cancelled))
                    | (Phase::Over(End::Terminated), Some(RunError::Terminated)) => true,
                    // The run may have begun after the answer.
                    (_, Some(RunError::NotFound)) => true,
                    _ => false,
                }
            }
            "send" | "send_or_start" => {
                let is_terminated = matches!(read::<SendError>(error), Some(SendError::Terminated { .. }));
                !is_terminated || life.is_over()
            }
            _ => true,
        };
        self.check(world, holds, || format!("the error {error:?}, and is {life:?}"));
    }

    /// Checks that the generation in the answer of a restart has begun (L4).
    fn restarted(&self, world: &World, bytes: &Bytes) {
        let durable = world.witness.durable();
        let (Some(run), Some(told)) = (durable.errands().of(self.member), read::<Restarted>(bytes)) else { return };
        let is_destroyed = world.calls.of(self.member).iter().any(Span::drops);
        self.check(world, is_destroyed || told.generation <= run.record.generation, || {
            format!("{told:?}, and is in generation {}", run.record.generation)
        });
    }

    /// Whether the answer may belong to an earlier run or generation under this key.
    fn may_be_of_another(&self, world: &World) -> bool {
        world.calls.of(self.member).iter().any(|span| span.drops() || span.restarts())
    }

    fn unbound(&self, world: &World, bytes: &Bytes) {
        let holds = match self.verb {
            "start" | "start_or_get" | "start_with" | "send_or_start" | "send" | "result" => false,
            "cancel" | "cancel_abandoning_steps" | "terminate" => read(bytes) == Some(false),
            _ => true,
        };
        self.check(world, holds, || format!("{bytes:?}, and has not begun"));
    }

    fn check(&self, world: &World, holds: bool, message: impl FnOnce() -> String) {
        world.chronicle.check(holds, Class::Lost, "E4 L1", || {
            format!("{} answered {self:x?} with {}", world.cast.member(self.member).key, message())
        });
    }
}

/// Checks that an acknowledged event was seen, unless its type has lost events. An event that was
/// overwritten at once was never seen.
fn sent(world: &World, run: &Run, number: u64, bytes: &Bytes) -> bool {
    let Some(sent) = read::<Sent>(bytes) else { return false };
    // A bid that arrives in the same write that ends its run has no row.
    let has_ended = run.life.as_ref().is_some_and(Life::is_over);
    let may_be_lost = |kind| may_be_lost(run, kind) || has_ended && kind == Kind::Bid;
    let lost = world.recorder.acted.kind_of(number).is_some_and(may_be_lost);
    // The events that an older generation took went with its journal.
    let lost = lost || run.record.generation > 1 && world.recorder.acted.was_heard(number);
    if sent.taken { run.taken.contains(&number) || lost } else { run.seen.contains(&number) || lost }
}

/// Whether events of this type were overwritten or expired.
pub(in crate::sim::check) fn may_be_lost(run: &Run, kind: Kind) -> bool {
    run.lost(kind) > 0
}

fn fits(run: &Run, life: &Life, status: Option<&RunStatus>) -> bool {
    let Some(status) = status else { return true };
    let is_known = status.generation < run.record.generation || status.entries <= run.journal.len() as u64;
    is_known && (!status.phase.has_ended() || life.is_over())
}

fn queued(run: &Run, events: &[QueuedEvent]) -> bool {
    let known = |event: &QueuedEvent| event.body["number"].as_u64().is_some_and(|number| run.seen.contains(&number));
    events.iter().all(known) && events.is_sorted_by_key(|event| event.number)
}

fn read<T: DeserializeOwned>(bytes: &Bytes) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

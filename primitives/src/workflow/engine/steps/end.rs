//! The end of a step's attempt, and the end of a run.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use drystone_runtime::{Millis, Next, Outcome, Refusal};

use super::work::RunWork;
use crate::{
    Failure, decode, encode,
    planted::Bug,
    workflow::{
        Divergence, Fault, Flows, Policy, RunError, Workflow,
        client::{fault::Cause, status::RunPhase},
        engine::{
            Engine,
            events::ready::ready,
            memory::Memory,
            turn::{BYTES_MAX, Halt, Seen, Turned, Turning, beyond, raw},
        },
        record::{
            Cancel, Ended,
            cached_json::Written,
            pending::{Code, Pending, Stepping, Waiting},
        },
        replay::{
            journal::{End, Entry, What},
            live::Live,
            op_id::OpId,
        },
    },
};

/// The pause before a step runs again if the store did not give its input.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// The bytes that are kept of the reason why a `#[cancelled]` body failed.
const REASON_BYTES_MAX: usize = 16 << 10;

/// The fate of running steps when their run is cancelled (L3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::workflow::engine) enum Running {
    /// The steps end first, and their outcomes are recorded.
    EndsFirst,
    /// The steps are dropped at once, and their outcomes are unknown.
    IsAbandoned,
}

impl<W, D, A> Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    /// Records the end of a step's attempt, or plans another attempt (W3).
    pub(in crate::workflow::engine) fn step_done(
        &self,
        memory: &mut Memory,
        seen: Seen<'_>,
        (work, attempt): (&str, u32),
        outcome: &Outcome,
    ) -> Turned {
        let named = RunWork::parse(work);
        let is_code = matches!(&named, RunWork::Step { op, .. } if op.is_code());
        if is_code {
            seen.entity.and_then(|entity| self.parcels.take(entity.id, work));
        }
        ready(memory, seen)?;
        let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
        let RunWork::Step { generation, op } = named else {
            turning.go_on()?;
            return turning.close(memory, None);
        };
        // A later generation may ask for an operation of the same name, and must not take this outcome (L5).
        if generation != turning.record.generation && !Bug::LateGenerationTaken.planted() {
            turning.record.late += 1;
            return turning.close(memory, None);
        }
        let index = turning.record.position(&op);
        let step = index.and_then(|index| turning.record.pending[index].step());
        // The step was released, or another attempt counts: a late end changes nothing.
        let is_late = step.is_none_or(|step| step.attempt != attempt) || !turning.record.goes_on();
        if is_late && !Bug::LateStepRevives.planted() {
            turning.record.late += 1;
            return turning.close(memory, None);
        }
        let is_again = turning.attempt_ended(&op, outcome)?;
        if is_again && is_code {
            // Only the body can make the code anew, so the body is replayed.
            turning.live = None;
        }
        turning.close(memory, None)
    }
}

impl<W: Workflow> Turning<'_, W> {
    /// Handles the end of an attempt. Returns whether the step is tried again.
    fn attempt_ended(&mut self, op: &OpId, outcome: &Outcome) -> Result<bool, Halt> {
        self.no_longer_runs(op);
        let what = match outcome {
            Outcome::Ok(produced) if produced.value.len() > BYTES_MAX => self.too_long(op, produced.value.len()),
            Outcome::Ok(produced) => {
                self.commit.send(produced.send.iter().cloned());
                self.commit.emit_all(produced.emit.iter().cloned());
                self.permits().note_given(op);
                What::Ok(raw(&produced.value).map_err(Halt::Park)?)
            }
            Outcome::Refused(Refusal::NoSuchCode) => {
                self.diverge(Divergence::no_such_step(self.record.entries, op));
                return Ok(false);
            }
            Outcome::Refused(Refusal::Unavailable(_)) => {
                self.ask_store_again(op);
                return Ok(true);
            }
            Outcome::Refused(Refusal::NotClaimed) => {
                self.claim_late(op);
                self.ask_store_again(op);
                return Ok(true);
            }
            Outcome::Refused(Refusal::Unreadable(reason)) => match self.unreadable_input(op) {
                Some(reason) => fault(op, Cause::Refused { reason }),
                // The code has changed. A fault would end the run; a diverged run resumes when the code
                // fits.
                None => {
                    self.diverge(Divergence::unreadable(self.record.entries, &format!("the input of `{op}`"), reason));
                    return Ok(false);
                }
            },
            Outcome::Refused(Refusal::Other(reason)) => fault(op, Cause::Refused { reason: reason.clone() }),
            Outcome::Failed(_) | Outcome::Panicked(_) | Outcome::TimedOut | Outcome::Silent => {
                if self.try_again(op, outcome) {
                    return Ok(true);
                }
                self.given_up(op, outcome)?
            }
        };
        let hash = self.record.position(op).map_or(0, |index| self.record.pending[index].hash);
        self.happened(&Entry::new(op, hash, self.seen.now, what.clone()))?;
        self.undo_ended(op, &what);
        if self.record.winds_down() {
            self.wind_down()?;
        } else {
            self.go_on()?;
        }
        Ok(false)
    }

    /// Returns the final outcome of a step: its own last error, or a fault if its last attempt returned no
    /// error.
    fn given_up(&self, op: &OpId, outcome: &Outcome) -> Result<What, Halt> {
        let attempts = self.stepping(op).map_or(1, |step| step.attempt);
        Ok(match outcome {
            Outcome::Failed(error) if error.len() > BYTES_MAX => self.too_long(op, error.len()),
            Outcome::Failed(error) => What::Failed(raw(error).map_err(Halt::Park)?),
            Outcome::Panicked(message) => fault(op, Cause::Panicked { message: message.clone(), attempts }),
            Outcome::TimedOut => fault(op, Cause::TimedOut { attempts }),
            _ => fault(op, Cause::Silent { attempts }),
        })
    }

    fn too_long(&self, op: &OpId, found: usize) -> What {
        let reason = format!("what it returned has {found} bytes, more than {BYTES_MAX}");
        fault(op, Cause::Refused { reason })
    }

    fn stepping(&self, op: &OpId) -> Option<&Stepping> {
        self.record.position(op).and_then(|index| self.record.pending[index].step())
    }

    /// Returns why the code that asked for the step could not read the input back; `None` if it could.
    fn unreadable_input(&self, op: &OpId) -> Option<String> {
        let reason = self.stepping(op)?.unreadable.as_ref()?;
        Some(format!("its input: {reason}"))
    }

    /// Plans another attempt. Returns `false` if the policy allows no other.
    fn try_again(&mut self, op: &OpId, outcome: &Outcome) -> bool {
        let now = self.seen.now;
        // A run that winds down begins no further attempt, except of its undos.
        let is_worth_it = match outcome {
            Outcome::Failed(error) => op.function().is_none_or(|name| W::is_worth_retrying(name, error)),
            _ => true,
        } && (!self.record.winds_down() || op.undone().is_some());
        let seed = self.record.seed;
        let Some(index) = self.record.position(op).filter(|_| is_worth_it) else { return false };
        let Waiting::Step(step) = &mut self.record.pending[index].what else { return false };
        let policy = policy::<W>(op, step);
        let spent = now.since(Millis(step.since));
        let Some(pause) = policy.pause_after(step.attempt, spent, seed ^ u64::from(step.attempt)) else { return false };
        step.error = Some(told(outcome).shortened());
        step.is_unsure |= !matches!(outcome, Outcome::Failed(_));
        step.attempt += u32::from(!Bug::AttemptsKept.planted());
        step.retry_at = Some(now.after(pause.max(Duration::from_millis(1))).0);
        true
    }

    /// Runs the same attempt again after a pause, because the store was in trouble. The attempt is not
    /// counted again.
    fn ask_store_again(&mut self, op: &OpId) {
        let again = self.seen.now.after(STORE_PAUSE).0;
        if let Some(index) = self.record.position(op)
            && let Waiting::Step(step) = &mut self.record.pending[index].what
        {
            step.retry_at = Some(again);
        }
    }

    /// Lets attempts run whose pause is over.
    pub(in crate::workflow::engine) fn retries_are_due(&mut self) {
        let now = self.seen.now.0;
        for pending in &mut self.record.pending {
            let is_over = pending.step().and_then(|step| step.retry_at).is_some_and(|at| at <= now);
            if is_over && let Waiting::Step(step) = &mut pending.what {
                step.retry_at = None;
            }
        }
    }

    /// Ends the run: pending operations are released, and callers that wait for the result are answered
    /// (L3).
    pub(in crate::workflow::engine) fn end(&mut self, end: End) -> Result<(), Halt> {
        let end = self.short_enough(end);
        if self.begins_to_undo(&end)? {
            return Ok(());
        }
        let cleanup_error = match &end {
            End::Cancelled(error) => error.clone(),
            _ => None,
        };
        let phase = match &end {
            End::Succeeded(_) => RunPhase::Succeeded,
            End::Failed(_) | End::Fault(_) => RunPhase::Failed,
            End::Cancelled(_) => RunPhase::Cancelled,
            End::Terminated => RunPhase::Terminated,
        };
        for pending in std::mem::take(&mut self.record.pending) {
            self.let_go(&pending);
        }
        self.drop_traces();
        self.undo_stack().forget();
        self.permits().release_all();
        self.tell_parent(&end)?;
        self.answer_result(answer(&end).map(result_of)?);
        self.append(&Entry::of_run(self.seen.now, What::Ended(end)))?;
        self.record.stopped = None;
        self.record.paused = None;
        self.record.untold = 0;
        self.record.end = Some(Ended { phase, at: self.seen.now.0, cleanup_error });
        #[cfg(feature = "cron")]
        self.tell_schedule();
        let event = match phase {
            RunPhase::Succeeded => "workflow.succeeded",
            RunPhase::Failed => "workflow.failed",
            RunPhase::Cancelled => "workflow.cancelled",
            _ => "workflow.terminated",
        };
        self.commit.emit(event, &[]);
        Ok(())
    }

    /// Returns an end that fits into an entry of the journal. This is decided before anyone is told of the
    /// end, because a run ends once (L1).
    fn short_enough(&self, mut end: End) -> End {
        if let End::Cancelled(Some(reason)) = &mut end {
            // The record holds this reason, too.
            reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
        }
        let entry = Entry::of_run(self.seen.now, What::Ended(end));
        let is_long = entry.written().is_ok_and(|written| written.len() > BYTES_MAX);
        match entry.what {
            What::Ended(end) if !is_long => end,
            _ => beyond("run", "bytes in its result", BYTES_MAX),
        }
    }

    /// Cancels the run (L3). Running steps end first, or are abandoned.
    pub(in crate::workflow::engine) fn cancel(&mut self, running: Running) -> Result<bool, Halt> {
        if running == Running::IsAbandoned && self.record.awaits_last_steps() {
            return self.abandon_steps().map(|()| true);
        }
        if self.record.end.is_some() || self.record.cancel.is_some() || self.record.undoes() {
            return Ok(false);
        }
        if Bug::CancelForgotten.planted() && self.record.steps_due(self.seen.now).next().is_some() {
            return Ok(true);
        }
        self.append(&Entry::of_run(self.seen.now, What::CancelAsked))?;
        self.record.cancel = Some(Cancel { began: None });
        // A stopped body does not matter here: the cancelled run ends without it.
        self.record.stopped = None;
        self.record.untold = 0;
        self.live = None;
        // Every step that is due counts as running. Only memory knows which steps really run, and memory may
        // be gone (E13).
        let due: BTreeSet<OpId> = self.record.steps_due(self.seen.now).map(|(pending, _)| pending.op.clone()).collect();
        let drops = running == Running::IsAbandoned || Bug::RunningDropped.planted();
        let stays = |pending: &Written<Pending>| due.contains(&pending.op) && !drops;
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut self.record.pending).into_iter().partition(stays);
        self.record.pending = kept;
        self.let_all_go(&gone);
        self.record.paused = None;
        self.wind_down()?;
        Ok(true)
    }

    /// Releases the steps that a cancelled run waits for. Their outcomes come too late and change nothing.
    fn abandon_steps(&mut self) -> Result<(), Halt> {
        let pending = std::mem::take(&mut self.record.pending);
        self.let_all_go(&pending);
        self.wind_down()
    }

    /// Ends a run that winds down, as soon as no step runs any more. First the due undos run. Then the
    /// `#[cancelled]` body begins, or the run ends if there is none.
    pub(in crate::workflow::engine) fn wind_down(&mut self) -> Result<(), Halt> {
        if !self.record.pending.is_empty() {
            return Ok(());
        }
        if self.undoes()? {
            return Ok(());
        }
        if self.record.cancel.is_none() {
            return self.end_undone();
        }
        if !W::SCRIPT.has_cancelled {
            return self.end(End::Cancelled(None));
        }
        let state = self.seen.entity.map_or_else(Bytes::new, |entity| entity.state.clone());
        let began = Entry::of_run(self.seen.now, What::CancelBegan(raw(&state).map_err(Halt::Park)?));
        if began.written().is_ok_and(|written| written.len() > BYTES_MAX) {
            let reason = format!("its state is too long to begin the `#[cancelled]` body with: {} bytes", state.len());
            return self.end(End::Cancelled(Some(reason)));
        }
        let decoded = match W::codec().read(&state) {
            Ok(decoded) => decoded,
            Err(reason) => {
                self.diverge(Divergence::unreadable(self.record.entries, "its state", &reason));
                return Ok(());
            }
        };
        let Some(live) = Live::cleanup::<W>(&self.identity(), decoded, self.seen.now) else {
            return self.end(End::Cancelled(None));
        };
        self.record.cancel = Some(Cancel { began: Some(self.record.entries) });
        self.append(&began)?;
        self.begin(live);
        self.go_on()
    }
}

/// Returns the policy of a step. The code is authoritative for it, except for code that the body made.
pub(in crate::workflow::engine) fn policy<W: Workflow>(op: &OpId, step: &Stepping) -> Policy {
    match &step.code {
        Code::Body(policy) => *policy,
        _ if op.is_call() => Policy::ONCE,
        Code::Input(_) | Code::Row(_) | Code::Part(_) => {
            let name = op.label();
            W::SCRIPT.steps.iter().find(|code| code.name == name).map_or(Policy::NEW, |code| code.policy)
        }
    }
}

fn fault(op: &OpId, cause: Cause) -> What {
    What::Fault(Fault { step: op.to_string(), cause })
}

/// Returns the error of a failed attempt, as the status shows it.
fn told(outcome: &Outcome) -> Failure {
    match outcome {
        Outcome::Failed(error) => {
            decode::<Failure>(error).unwrap_or_else(|_| Failure::from(String::from_utf8_lossy(error).into_owned()))
        }
        Outcome::Panicked(message) => format!("it panicked: {message}").into(),
        Outcome::TimedOut => "it took longer than its timeout".into(),
        _ => "it gave no sign of life".into(),
    }
}

/// Returns the reply to callers that wait for the result of a run: its result, or its error as JSON.
pub(in crate::workflow::engine) fn answer(end: &End) -> Result<Result<Bytes, Bytes>, Halt> {
    use serde_json::value::RawValue;
    let error = |error: &RunError<&RawValue>| encode(error).map(Err).map_err(Halt::Malformed);
    match end {
        End::Succeeded(value) => Ok(Ok(Bytes::copy_from_slice(value.get().as_bytes()))),
        End::Failed(failed) => error(&RunError::Failed(failed)),
        End::Fault(fault) => error(&RunError::Fault(fault.clone())),
        End::Cancelled(_) => error(&RunError::Cancelled),
        End::Terminated => error(&RunError::Terminated),
    }
}

pub(in crate::workflow::engine) fn result_of(answer: Result<Bytes, Bytes>) -> drystone_runtime::Reply {
    answer.map_err(drystone_runtime::Error::Failed)
}

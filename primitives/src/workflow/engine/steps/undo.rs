//! Undos (W9). A row notes each step that is due to be undone. When the run fails or is cancelled, these
//! steps are undone one after another, the last first. This does not need the body: the rows and the journal
//! hold everything.

use bytes::Bytes;
use drystone_runtime::{Name, Range};
use serde_json::value::RawValue;

use super::{inputs::inputs_lane, transaction::transactional};
use crate::{
    Failure, decode, decode_part, encode,
    planted::Bug,
    workflow::{
        Cause, Fault, UndoCode, UndoTakes, Workflow,
        engine::{
            turn::{BYTES_MAX, Delivery, Halt, Turning, beyond},
            turn_commit::TurnCommit,
        },
        record::{
            Paused,
            cached_json::Written,
            pending::{Code, Pending, Stepping, Waiting},
            undo::{Began, Due, FailedUndo, Undos},
        },
        replay::{
            ask::canonical_hash,
            journal::{self, End, Entry, What},
            op_id::OpId,
        },
    },
};

/// The limit of steps in a row of undos. Steps that lose a race together take few rows, and no row is too
/// long.
const DUES_PER_ROW: usize = 256;

/// The steps that are due to be undone, as a stack of rows.
pub(in crate::workflow::engine) struct UndoStack<'t> {
    undos: &'t mut Undos,
    /// Undos that are due and not written yet.
    dues: &'t mut Vec<Due>,
    commit: &'t mut TurnCommit,
    generation: u32,
}

impl UndoStack<'_> {
    fn push(self, dues: &[Due]) {
        self.undos.left += dues.len() as u64;
        self.dues.extend_from_slice(dues);
    }

    /// Writes the undos that are not written yet.
    pub(in crate::workflow::engine) fn write(self) {
        for dues in std::mem::take(self.dues).chunks(DUES_PER_ROW) {
            self.undos.rows += 1;
            let row = encode(&dues).expect("what was read as JSON can be written");
            self.commit.put((undo_lane(self.generation), journal::row_key(self.undos.rows)), row);
        }
    }

    /// Removes the last undo, which has run.
    fn pop(self) {
        let undos = self.undos;
        undos.left = undos.left.saturating_sub(1);
        undos.done += 1;
        if undos.done >= undos.of {
            let key = journal::row_key(undos.rows);
            (undos.rows, undos.done) = (undos.rows - 1, 0);
            if !Bug::UndoneForward.planted() {
                self.commit.remove((undo_lane(self.generation), key));
            }
        }
    }

    /// Drops the undos that will not run, at the end of the run, however many there are (K6).
    pub(in crate::workflow::engine) fn forget(self) {
        self.dues.clear();
        if self.undos.rows == 0 {
            return;
        }
        self.commit.drop_lane(undo_lane(self.generation));
        (self.undos.rows, self.undos.left, self.undos.done) = (0, 0, 0);
    }
}

impl<W: Workflow> Turning<'_, W> {
    pub(in crate::workflow::engine) fn undo_stack(&mut self) -> UndoStack<'_> {
        let generation = self.record.generation;
        UndoStack { undos: &mut self.record.undos, dues: &mut self.dues, commit: &mut self.commit, generation }
    }

    /// Handles the end of a step, whose entry is the last one. The undo is due if the step succeeded or its
    /// outcome is unknown.
    pub(in crate::workflow::engine) fn step_ended(&mut self, pending: &Pending, (entry, number): (&Entry, u64)) {
        let due = self.undo_of(pending).and_then(|(undo, step)| {
            let is_unknown = match &entry.what {
                What::Ok(_) => false,
                What::Fault(_) => true,
                // The last attempt failed, but the outcome of an earlier attempt is unknown.
                What::Failed(_) => step.is_unsure,
                _ => return None,
            };
            let succeeded = matches!(entry.what, What::Ok(_)).then_some(number);
            match undo.takes {
                UndoTakes::Output => succeeded.map(|number| due(&undo, pending, Some(number), None)),
                UndoTakes::Input if (is_unknown && !Bug::UnknownNotUndone.planted()) || succeeded.is_some() => {
                    Some(due(&undo, pending, succeeded, Some(step.code.clone())))
                }
                UndoTakes::Input => None,
            }
        });
        // A step whose end is delivered again was noted the first time.
        let is_noted = number < self.record.undos.noted;
        let due = due.filter(|_| !is_noted);
        if due.is_some() {
            self.record.undos.noted = number + 1;
        }
        let keeps_input = due.as_ref().is_some_and(|due| due.input.is_some());
        if keeps_input {
            self.forget_traces(pending);
        } else {
            self.forget_input(pending);
        }
        self.note(due.as_slice());
        self.claim_next(pending);
    }

    /// Notes an operation that is asked for in this turn. A step has not run yet, so nothing of it is to be
    /// undone. But a step that the body asks for while kept entries are delivered may have run in the
    /// generation before. A wait whose deadline passed while the run was stopped finds the events that came
    /// meanwhile.
    pub(in crate::workflow::engine) fn is_asked_now(&mut self, pending: &Pending) {
        let is_overdue = pending.step().is_none() && pending.due_at().is_some_and(|at| at <= self.seen.now.0);
        if is_overdue || self.undo_of(pending).is_some() && !self.is_told_kept() {
            self.fresh.insert(pending.op.clone());
        }
    }

    /// Notes the steps that the pause held back: they have not run either, unless the outcome of an earlier
    /// attempt is unknown.
    pub(in crate::workflow::engine) fn begin_now(&mut self, paused: &Paused) {
        let is_sure = |pending: &&Pending| pending.step().is_some_and(|step| !step.is_unsure);
        let held = self.record.pending().filter(is_sure).filter(|pending| !paused.runs.contains(&pending.op));
        let held: Vec<OpId> = held.map(|pending| pending.op.clone()).collect();
        self.fresh.extend(held);
    }

    /// Releases operations that the body dropped before their end. If the body is given the same entries
    /// again, their undos are noted already.
    pub(in crate::workflow::engine) fn body_lets_go(&mut self, gone: &[Written<Pending>]) {
        if self.told() <= self.record.undos.lost {
            return gone.iter().for_each(|pending| self.let_go(pending));
        }
        let left = self.record.undos.left;
        self.let_all_go(gone);
        if self.record.undos.left > left {
            self.record.undos.lost = self.told();
        }
    }

    /// Releases operations before their end. A step that may have run has an unknown outcome, so its undo is
    /// noted.
    pub(in crate::workflow::engine) fn let_all_go(&mut self, gone: &[Written<Pending>]) {
        let mut dues = Vec::new();
        for pending in gone {
            let undo = self.undo_of(pending).filter(|(undo, step)| {
                undo.takes == UndoTakes::Input
                    && self.may_have_happened(pending, step)
                    && !Bug::UnknownNotUndone.planted()
            });
            match undo {
                Some((undo, step)) => {
                    self.inputs().note(Some(&step.code));
                    dues.push(due(&undo, pending, None, Some(step.code.clone())));
                    self.forget_traces(pending);
                }
                None => self.let_go(pending),
            }
        }
        self.note(&dues);
    }

    /// Whether a step may have had an effect that is unknown. It has had none if it never began, or if all
    /// its attempts failed and none is in flight: it waits for a retry, or is held by a pause.
    fn may_have_happened(&self, pending: &Pending, step: &Stepping) -> bool {
        let is_held = self.record.paused.as_ref().is_some_and(|paused| !paused.runs.contains(&pending.op));
        let is_under_way = !is_held && step.retry_at.is_none_or(|at| at <= self.seen.now.0);
        (is_under_way || step.is_unsure) && !self.fresh.contains(&pending.op)
    }

    /// Returns the undo of an operation, if it has one. Undos and the steps of a `#[cancelled]` body are not
    /// undone.
    fn undo_of<'p>(&self, pending: &'p Pending) -> Option<(UndoCode, &'p Stepping)> {
        // A step whose input cannot be read is not executed.
        let step = pending.step().filter(|step| !matches!(step.code, Code::Body(_)) && step.unreadable.is_none())?;
        let is_cleanup = self.record.cancel.as_ref().is_some_and(|cancel| cancel.began.is_some());
        if self.record.undos.began.is_some() || is_cleanup {
            return None;
        }
        Some((undo_of::<W>(&pending.op)?, step))
    }

    /// Notes undos. While kept entries are delivered, rows are written only at the end, because a row for
    /// each step could be more than one commit may put.
    fn note(&mut self, dues: &[Due]) {
        dues.iter().for_each(|due| self.inputs().note(due.input.as_ref()));
        self.undo_stack().push(dues);
        if self.delivery != Delivery::Anew {
            self.undo_stack().write();
        }
    }

    /// Begins the undos of a run that is to end like this, and returns whether any is due. This reads
    /// nothing, because the first undo begins in another turn.
    pub(in crate::workflow::engine) fn begins_to_undo(&mut self, end: &End) -> Result<bool, Halt> {
        let fails = matches!(end, End::Failed(_) | End::Fault(_));
        if !fails || self.record.undos.began.is_some() {
            return Ok(false);
        }
        let pending = std::mem::take(&mut self.record.pending);
        self.let_all_go(&pending);
        self.undo_stack().write();
        if self.record.undos.rows == 0 {
            return Ok(false);
        }
        self.keep_state()?;
        if self.record.undos.began.is_some() {
            // The state is too long, and the run ends by that fault after its undos.
            return Ok(true);
        }
        self.live = None;
        self.record.stopped = None;
        self.record.untold = 0;
        self.begin_to_undo(end.clone())?;
        Ok(true)
    }

    fn begin_to_undo(&mut self, end: End) -> Result<(), Halt> {
        let entry = Entry::of_run(self.seen.now, What::UndoBegan(end));
        let is_long = entry.written().is_ok_and(|body| body.len() > BYTES_MAX);
        let end = beyond("run", "bytes in its result", BYTES_MAX);
        let entry = if is_long { Entry::of_run(self.seen.now, What::UndoBegan(end)) } else { entry };
        let (number, rows) = (self.record.entries, self.record.undos.rows);
        self.record.undos.began = Some(Began { entry: number, at: self.seen.now.0, rows });
        self.commit.emit("workflow.undoing", &[("count", self.record.undos.left.into())]);
        self.append(&entry)
    }

    /// Begins the next undo, and returns whether there is one. The body is gone, and no step runs any more.
    pub(in crate::workflow::engine) fn undoes(&mut self) -> Result<bool, Halt> {
        if self.record.undos.is_over || (self.record.undos.rows == 0 && self.record.undos.began.is_none()) {
            return Ok(false);
        }
        while let Some((due, input)) = self.next_due_undo()? {
            if self.record.undos.began.is_none() {
                self.begin_to_undo(End::Cancelled(None))?;
            }
            if input.len() <= BYTES_MAX {
                self.undo(&due, &input);
                return Ok(true);
            }
            let what = self.too_long_to_undo(&due, input.len());
            let op = due.undo_op();
            self.append(&Entry::new(&op, 0, self.seen.now, what.clone()))?;
            if let Some(Code::Row(number)) = due.input {
                self.commit.remove((inputs_lane(self.record.generation), journal::row_key(number)));
            }
            self.undo_ended(&op, &what);
        }
        self.record.undos.is_over = true;
        Ok(false)
    }

    fn undo(&mut self, due: &Due, input: &Bytes) {
        let (op, hash) = (due.undo_op(), canonical_hash(input));
        self.record.undos.last = Some(due.op.clone());
        let code = match &due.input {
            // The undo takes over the row of its step.
            Some(Code::Row(number)) => self.inputs().replace(*number, input),
            _ => self.inputs().store(input, false),
        };
        let step = Stepping::new(code, self.seen.now);
        self.record.pending.push(Pending { op: op.clone(), hash, what: Waiting::Step(step) }.into());
        if transactional::<W>(&op).is_some() {
            self.claim_late(&op);
        }
    }

    fn too_long_to_undo(&self, due: &Due, found: usize) -> What {
        let reason = format!("what it would be given has {found} bytes, more than {BYTES_MAX}");
        What::Fault(Fault { step: due.undo_op().to_string(), cause: Cause::Refused { reason } })
    }

    /// Returns the last step that is still to be undone, and the input of its undo.
    fn next_due_undo(&mut self) -> Result<Option<(Due, Bytes)>, Halt> {
        let undos = &self.record.undos;
        if undos.rows == 0 {
            return Ok(None);
        }
        let mut number = undos.rows;
        if Bug::UndoneForward.planted()
            && let Some(began) = undos.began
        {
            number = began.rows - undos.rows + 1;
        }
        let row = self.row(&undo_lane(self.record.generation), number)?;
        let mut dues: Vec<Due> = decode_part("undo", &row).map_err(Halt::Park)?;
        self.record.undos.of = u32::try_from(dues.len()).unwrap_or(u32::MAX);
        dues.truncate(dues.len().saturating_sub(self.record.undos.done as usize));
        let Some(due) = dues.pop() else { return Err(Halt::Park("a row of undos is empty".to_owned())) };
        let input = self.undo_input(&due)?;
        Ok(Some((due, input)))
    }

    /// Returns the input of an undo: the output of its step, or the inputs of the step followed by its
    /// output.
    fn undo_input(&self, due: &Due) -> Result<Bytes, Halt> {
        let output = due.entry.map(|number| self.output(number)).transpose()?;
        let Some(input) = &due.input else {
            return encode(&[output]).map_err(Halt::Park);
        };
        let mut parameters: Vec<Option<Box<RawValue>>> = decode(&self.input_of(input)?).map_err(Halt::Park)?;
        parameters.push(output);
        encode(&parameters).map_err(Halt::Park)
    }

    /// Returns the output of the step that this entry records.
    fn output(&self, number: u64) -> Result<Box<RawValue>, Halt> {
        match self.entry(number)?.what {
            What::Ok(output) => Ok(output),
            _ => Err(Halt::Park(format!("entry {number} of the journal is not what is to be undone"))),
        }
    }

    /// Returns an entry of the journal, even if this turn has added it.
    fn entry(&self, number: u64) -> Result<Entry, Halt> {
        if let Some(text) = self.record.brief.get(number) {
            return Entry::of_text(number, text).map_err(Halt::Park);
        }
        let text = self.row(&journal::lane(self.record.journal()), number)?;
        Entry::of_text(number, &text).map_err(Halt::Park)
    }

    /// Returns a single row, also from the rows that this turn puts.
    pub(in crate::workflow::engine) fn row(&self, lane: &Name, number: u64) -> Result<Bytes, Halt> {
        let key = journal::row_key(number);
        if let Some(row) = self.commit.rows_put().iter().find(|row| row.lane == *lane && row.key == key) {
            return Ok(row.body.clone());
        }
        let rows = self.rows(&Range::at(lane.clone(), key.clone()))?;
        let row = rows.first().filter(|row| row.key == key);
        row.map(|row| row.body.clone()).ok_or_else(|| Halt::Park(format!("{lane}[{number}] is not there")))
    }

    /// Handles the end of an undo, successful or not: it is no longer due.
    pub(in crate::workflow::engine) fn undo_ended(&mut self, op: &OpId, what: &What) {
        let Some(undone) = op.undone() else { return };
        let error = match what {
            What::Failed(error) => decode::<Failure>(error.get().as_bytes())
                .unwrap_or_else(|_| Failure::from(error.get().to_owned()))
                .shortened(),
            What::Fault(fault) => Failure::from(told(&fault.cause)).shortened(),
            _ => return self.undone(),
        };
        let (operation, undo) = (undone.to_owned(), op.label().to_owned());
        tracing::error!(key = %self.seen.key, operation, undo, %error, "workflow.undo_failed");
        let fields = [
            ("operation", operation.clone().into()),
            ("undo", undo.clone().into()),
            ("error", error.to_string().into()),
        ];
        self.commit.emit("workflow.undo_failed", &fields);
        self.record.undos.failed(FailedUndo { operation, undo, error });
        self.undone();
    }

    fn undone(&mut self) {
        if !std::mem::replace(&mut self.has_undone, true) && Bug::UndoneAgain.planted() {
            return;
        }
        self.undo_stack().pop();
    }

    /// Ends the run after its undos, in the way that the journal says.
    pub(in crate::workflow::engine) fn end_undone(&mut self) -> Result<(), Halt> {
        let Some(began) = self.record.undos.began else { return Ok(()) };
        match self.entry(began.entry)?.what {
            What::UndoBegan(end) => self.end(end),
            _ => Err(Halt::Park("the journal does not say how the run was to end".to_owned())),
        }
    }
}

fn due(undo: &UndoCode, pending: &Pending, entry: Option<u64>, input: Option<Code>) -> Due {
    Due { op: pending.op.clone(), undo: undo.step.to_owned(), entry, input }
}

fn undo_of<W: Workflow>(op: &OpId) -> Option<UndoCode> {
    let name = op.function()?;
    W::SCRIPT.steps.iter().find(|code| code.name == name).and_then(|code| code.undo)
}

/// Whether the undo of an operation takes the inputs of the operation.
pub(in crate::workflow::engine) fn undo_wants_input<W: Workflow>(op: &OpId) -> bool {
    undo_of::<W>(op).is_some_and(|undo| undo.takes == UndoTakes::Input)
}

fn told(cause: &Cause) -> String {
    format!("it {cause}")
}

/// The lane of steps that are due to be undone.
pub(in crate::workflow::engine) fn undo_lane(generation: u32) -> Name {
    Name::from(format!("undo/{generation}"))
}

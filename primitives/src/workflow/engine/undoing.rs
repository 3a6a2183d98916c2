//! Undos (W9): what is due to be undone is noted with what it undoes, and when the run fails or is cancelled it is undone, one step
//! after another, the last first. Neither needs the body: the rows and the journal say it all.

use bytes::Bytes;
use drystone_runtime::{Name, Range, Row};
use serde_json::value::RawValue;

use super::{
    super::{
        Cause, Fault, UndoCode, UndoTakes, Workflow,
        ask::canonical_hash,
        journal::{self, End, Entry, What},
        pending::{Code, Pending, Stepping, Waiting, function_of, step_name},
        record::Paused,
        undo::{Began, Due, FailedUndo, undo_op, undone_by},
        written::Written,
    },
    inputs::inputs_lane,
    transacting::transactional,
    turning::{BYTES_MAX, Halt, Turning, beyond},
};
use crate::{Failure, decode, decode_part, encode, planted::Bug};

/// Steps that are noted in one row: all that lose a race together are few rows, and none is too long.
const DUES_PER_ROW: usize = 256;

impl<W: Workflow> Turning<'_, W> {
    /// A step has ended, and its entry is the last one: its undo is due if it succeeded, or if nobody knows.
    pub(super) fn step_ended(&mut self, pending: &Pending, (entry, number): (&Entry, u64)) {
        let due = self.undo_of(pending).and_then(|(undo, step)| {
            let is_unknown = match &entry.what {
                What::Ok(_) => false,
                What::Fault(_) => true,
                // It failed in the end, but of an attempt before nobody knows what it did.
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
        // Told again, it was noted when it was told first.
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

    /// A step that is asked for in this very turn has not run yet: until then nothing of it is to be undone. One that a body asks for
    /// again, while it is told what was kept, may have run in the generation before. A wait whose time is up before it is asked for, since
    /// its run was stopped, finds what has come meanwhile.
    pub(super) fn is_asked_now(&mut self, pending: &Pending) {
        let is_overdue = pending.step().is_none() && pending.due_at().is_some_and(|at| at <= self.seen.now.0);
        if is_overdue || self.undo_of(pending).is_some() && !self.is_told_kept() {
            self.fresh.insert(pending.op.clone());
        }
    }

    /// Nor has one that was held until this very turn, unless nobody knows of an attempt before.
    pub(super) fn begin_now(&mut self, paused: &Paused) {
        let is_sure = |pending: &&Pending| pending.step().is_some_and(|step| !step.is_unsure);
        let held = self.record.pending().filter(is_sure).filter(|pending| !paused.runs.contains(&pending.op));
        let held: Vec<String> = held.map(|pending| pending.op.clone()).collect();
        self.fresh.extend(held);
    }

    /// The body lets operations go before they have ended. Told again, it was noted when it was told first.
    pub(super) fn body_lets_go(&mut self, gone: &[Written<Pending>]) {
        if self.told() <= self.record.undos.lost {
            return gone.iter().for_each(|pending| self.let_go(pending));
        }
        let left = self.record.undos.left;
        self.let_all_go(gone);
        if self.record.undos.left > left {
            self.record.undos.lost = self.told();
        }
    }

    /// Operations are let go before they have ended: nobody knows what became of a step that may have run.
    pub(super) fn let_all_go(&mut self, gone: &[Written<Pending>]) {
        let mut dues = Vec::new();
        for pending in gone {
            let undo = self.undo_of(pending).filter(|(undo, step)| {
                undo.takes == UndoTakes::Input
                    && self.may_have_happened(pending, step)
                    && !Bug::UnknownNotUndone.planted()
            });
            match undo {
                Some((undo, step)) => {
                    self.note_input(Some(&step.code));
                    dues.push(due(&undo, pending, None, Some(step.code.clone())));
                    self.forget_traces(pending);
                }
                None => self.let_go(pending),
            }
        }
        self.note(&dues);
    }

    /// Whether a step may have done something that nobody knows of. One that has not begun has not, nor has one that is not under way
    /// and whose attempts have all failed: in its pause, or held.
    fn may_have_happened(&self, pending: &Pending, step: &Stepping) -> bool {
        let is_held = self.record.paused.as_ref().is_some_and(|paused| !paused.runs.contains(&pending.op));
        let is_under_way = !is_held && step.retry_at.is_none_or(|at| at <= self.seen.now.0);
        (is_under_way || step.is_unsure) && !self.fresh.contains(&pending.op)
    }

    /// The undo of an operation that has one. What runs on the way out is not undone any more.
    fn undo_of<'p>(&self, pending: &'p Pending) -> Option<(UndoCode, &'p Stepping)> {
        // A step that is given what it cannot read is not executed.
        let step = pending.step().filter(|step| !matches!(step.code, Code::Body(_)) && step.unreadable.is_none())?;
        let is_cleanup = self.record.cancel.as_ref().is_some_and(|cancel| cancel.began.is_some());
        if self.record.undos.began.is_some() || is_cleanup {
            return None;
        }
        Some((undo_of::<W>(&pending.op)?, step))
    }

    /// What is due of what was kept is noted when all of it is told: a row for each step could be more than one commit may put.
    fn note(&mut self, dues: &[Due]) {
        self.record.undos.left += dues.len() as u64;
        dues.iter().for_each(|due| self.note_input(due.input.as_ref()));
        self.dues.extend_from_slice(dues);
        if !self.is_told_anew {
            self.write_dues();
        }
    }

    pub(super) fn write_dues(&mut self) {
        for dues in std::mem::take(&mut self.dues).chunks(DUES_PER_ROW) {
            self.record.undos.rows += 1;
            let row = encode(&dues).expect("what was read as JSON can be written");
            let (lane, key) = (undo_lane(self.record.generation), journal::row_key(self.record.undos.rows));
            self.commit.put.push(Row { lane, key, body: row });
        }
    }

    /// The run ends so, once what is due is undone; whether anything is. Reads nothing: the first undo begins in another turn.
    pub(super) fn begins_to_undo(&mut self, end: &End) -> Result<bool, Halt> {
        let fails = matches!(end, End::Failed(_) | End::Fault(_));
        if !fails || self.record.undos.began.is_some() {
            return Ok(false);
        }
        let pending = std::mem::take(&mut self.record.pending);
        self.let_all_go(&pending);
        self.write_dues();
        if self.record.undos.rows == 0 {
            return Ok(false);
        }
        self.keep_state()?;
        if self.record.undos.began.is_some() {
            // Its state is too long, and it ends by that.
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
        self.tell_listeners("workflow.undoing", &[("count", self.record.undos.left.into())]);
        self.append(&entry)
    }

    /// Whether an undo is under way now. The body is gone, and no step runs any more.
    pub(super) fn undoes(&mut self) -> Result<bool, Halt> {
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
            let op = undo_op(&due);
            self.append(&Entry::new(&op, 0, self.seen.now, what.clone()))?;
            if let Some(Code::Row(number)) = due.input {
                self.remove_row((inputs_lane(self.record.generation), journal::row_key(number)));
            }
            self.undo_ended(&op, &what);
        }
        self.record.undos.is_over = true;
        Ok(false)
    }

    fn undo(&mut self, due: &Due, input: &Bytes) {
        let (op, hash) = (undo_op(due), canonical_hash(input));
        self.record.undos.last = Some(due.op.clone());
        let code = match &due.input {
            // Its row becomes its undo's.
            Some(Code::Row(number)) => self.replace_input(*number, input),
            _ => self.input(input, false),
        };
        let step = Stepping::new(code, self.seen.now);
        self.record.pending.push(Pending { op: op.clone(), hash, what: Waiting::Step(step) }.into());
        if transactional::<W>(&op).is_some() {
            self.claim_late(&op);
        }
    }

    fn too_long_to_undo(&self, due: &Due, found: usize) -> What {
        let reason = format!("what it would be given has {found} bytes, more than {BYTES_MAX}");
        What::Fault(Fault { step: undo_op(due), cause: Cause::Refused { reason } })
    }

    /// The last that is due and not undone yet, and what its undo is given.
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

    /// What an undo is given: what the step returned; or what it took, followed by that.
    fn undo_input(&self, due: &Due) -> Result<Bytes, Halt> {
        let output = due.entry.map(|number| self.output(number)).transpose()?;
        let Some(input) = &due.input else {
            return encode(&[output]).map_err(Halt::Park);
        };
        let mut parameters: Vec<Option<Box<RawValue>>> = decode(&self.input_of(input)?).map_err(Halt::Park)?;
        parameters.push(output);
        encode(&parameters).map_err(Halt::Park)
    }

    /// What the step returned that has this entry.
    fn output(&self, number: u64) -> Result<Box<RawValue>, Halt> {
        match self.entry(number)?.what {
            What::Ok(output) => Ok(output),
            _ => Err(Halt::Park(format!("entry {number} of the journal is not what is to be undone"))),
        }
    }

    /// An entry of the journal, be it one that this very turn has added.
    fn entry(&self, number: u64) -> Result<Entry, Halt> {
        if let Some(text) = self.record.brief.get(number) {
            return Entry::of_text(number, text).map_err(Halt::Park);
        }
        let text = self.row(&journal::lane(self.record.journal()), number)?;
        Entry::of_text(number, &text).map_err(Halt::Park)
    }

    /// One row, be it one that this very turn has put.
    pub(super) fn row(&self, lane: &Name, number: u64) -> Result<Bytes, Halt> {
        let key = journal::row_key(number);
        if let Some(row) = self.commit.put.iter().find(|row| row.lane == *lane && row.key == key) {
            return Ok(row.body.clone());
        }
        let rows = self.rows(&Range::at(lane.clone(), key.clone()))?;
        let row = rows.first().filter(|row| row.key == key);
        row.map(|row| row.body.clone()).ok_or_else(|| Halt::Park(format!("{lane}[{number}] is not there")))
    }

    /// The long input of a step becomes that of its undo.
    fn replace_input(&mut self, number: u64, input: &Bytes) -> Code {
        let (lane, key) = (inputs_lane(self.record.generation), journal::row_key(number));
        self.commit.put.retain(|row| row.lane != lane || row.key != key);
        self.commit.put.push(Row { lane, key, body: input.clone() });
        Code::Row(number)
    }

    /// An undo has ended, for good or ill: it is not due any more.
    pub(super) fn undo_ended(&mut self, op: &str, what: &What) {
        let Some(undone) = undone_by(op) else { return };
        let error = match what {
            What::Failed(error) => decode::<Failure>(error.get().as_bytes())
                .unwrap_or_else(|_| Failure::from(error.get().to_owned()))
                .shortened(),
            What::Fault(fault) => Failure::from(told(&fault.cause)).shortened(),
            _ => return self.undone(),
        };
        let (operation, undo) = (undone.to_owned(), step_name(op).to_owned());
        tracing::error!(key = %self.seen.key, operation, undo, %error, "workflow.undo_failed");
        let fields = [
            ("operation", operation.clone().into()),
            ("undo", undo.clone().into()),
            ("error", error.to_string().into()),
        ];
        self.tell_listeners("workflow.undo_failed", &fields);
        self.record.undos.failed(FailedUndo { operation, undo, error });
        self.undone();
    }

    fn undone(&mut self) {
        if !std::mem::replace(&mut self.has_undone, true) && Bug::UndoneAgain.planted() {
            return;
        }
        let lane = undo_lane(self.record.generation);
        let undos = &mut self.record.undos;
        undos.left = undos.left.saturating_sub(1);
        undos.done += 1;
        if undos.done >= undos.of {
            let key = journal::row_key(undos.rows);
            (undos.rows, undos.done) = (undos.rows - 1, 0);
            if !Bug::UndoneForward.planted() {
                self.remove_row((lane, key));
            }
        }
    }

    /// All is undone: the run ends as it would have without.
    pub(super) fn end_undone(&mut self) -> Result<(), Halt> {
        let Some(began) = self.record.undos.began else { return Ok(()) };
        match self.entry(began.entry)?.what {
            What::UndoBegan(end) => self.end(end),
            _ => Err(Halt::Park("the journal does not say how the run was to end".to_owned())),
        }
    }

    /// What nobody will undo any more goes with the end of the run, however much it is (K6).
    pub(super) fn forget_undos(&mut self) {
        self.dues.clear();
        if self.record.undos.rows == 0 {
            return;
        }
        self.drop_lane(undo_lane(self.record.generation));
        (self.record.undos.rows, self.record.undos.left, self.record.undos.done) = (0, 0, 0);
    }
}

fn due(undo: &UndoCode, pending: &Pending, entry: Option<u64>, input: Option<Code>) -> Due {
    Due { op: pending.op.clone(), undo: undo.step.to_owned(), entry, input }
}

fn undo_of<W: Workflow>(op: &str) -> Option<UndoCode> {
    let name = function_of(op)?;
    W::SCRIPT.steps.iter().find(|code| code.name == name).and_then(|code| code.undo)
}

/// Whether the undo of an operation takes what that was given.
pub(super) fn undo_wants_input<W: Workflow>(op: &str) -> bool {
    undo_of::<W>(op).is_some_and(|undo| undo.takes == UndoTakes::Input)
}

fn told(cause: &Cause) -> String {
    format!("it {cause}")
}

/// The lane of what is due to be undone.
pub(super) fn undo_lane(generation: u32) -> Name {
    Name::from(format!("undo/{generation}"))
}

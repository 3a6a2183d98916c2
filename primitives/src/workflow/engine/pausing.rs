//! A run that is held (H2): the steps that run end and are recorded, and the body may ask for what follows; but nothing begins,
//! no timer fires and no event is taken until it is resumed.

use super::{
    super::{Workflow, pending::Waiting, record::Paused},
    turning::{Halt, Turning},
};

impl<W: Workflow> Turning<'_, W> {
    /// Holds the run, unless it is held, has ended or is on its way out.
    pub(super) fn pause(&mut self) -> bool {
        let is_on_its_way_out = self.record.cancel.is_some() || self.record.undoes();
        if self.record.is_held() || self.record.end.is_some() || is_on_its_way_out {
            return false;
        }
        // What is due may run: whether it does, memory could say, and memory may be gone (E13).
        let runs = self.record.steps_due(self.seen.now).map(|(pending, _)| pending.op.clone()).collect();
        self.record.paused = Some(Paused { at: self.seen.now.0, runs, asked: [].into() });
        self.tell_listeners("workflow.paused", &[]);
        true
    }

    /// Lets a run go on that was held or stopped; whether it was. If it is `shifted`, its deadlines are later by the pause.
    pub(super) fn resume(&mut self, shifted: bool) -> Result<bool, Halt> {
        let Some(paused) = self.record.paused.take() else { return self.resume_if(|_| true) };
        if shifted {
            self.shift(&paused);
        }
        self.tell_listeners("workflow.resumed", &[]);
        self.begin_now(&paused);
        self.retries_are_due();
        if !self.resume_if(|_| true)? {
            self.go_on()?;
        }
        Ok(true)
    }

    /// A step has ended, or its attempt: while the run is held there is no other.
    pub(super) fn no_longer_runs(&mut self, op: &str) {
        if let Some(paused) = &mut self.record.paused {
            paused.runs.retain(|runs| runs != op);
            paused.asked.insert(op.to_owned(), self.seen.now.0);
        }
    }

    /// What was asked for in the pause is later by what was left of it.
    fn shift(&mut self, paused: &Paused) {
        let now = self.seen.now.0;
        for pending in &mut self.record.pending {
            let since = paused.asked.get(&pending.op).copied().unwrap_or(paused.at);
            let by = now.saturating_sub(since).max(0);
            match &mut pending.what {
                Waiting::Sleep(until) => *until = until.saturating_add(by),
                Waiting::Event(awaited) => {
                    awaited.until = awaited.until.map(|(until, after)| (until.saturating_add(by), after));
                }
                Waiting::Step(step) => {
                    // What is given up after a time is given up after as much of it.
                    step.since = step.since.saturating_add(by);
                    step.retry_at = step.retry_at.map(|at| at.saturating_add(by));
                }
                Waiting::Child(_) | Waiting::Until => {}
            }
        }
        self.move_deadlines_of_waits();
    }
}

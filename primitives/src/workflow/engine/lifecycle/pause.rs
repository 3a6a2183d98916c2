//! Paused runs (H2). Running steps end and are recorded, and the body may ask for what follows. But until
//! the run is resumed, no step begins, no timer fires and no event is taken.

use crate::workflow::{
    Workflow,
    engine::turn::{Halt, Turning},
    record::{Paused, pending::Waiting},
    replay::op_id::OpId,
};

impl<W: Workflow> Turning<'_, W> {
    /// Pauses the run, unless it is paused, has ended or is ending.
    pub(in crate::workflow::engine) fn pause(&mut self) -> bool {
        let is_on_its_way_out = self.record.cancel.is_some() || self.record.undoes();
        if self.record.is_held() || self.record.end.is_some() || is_on_its_way_out {
            return false;
        }
        // Every step that is due counts as running. Only memory knows which steps really run, and memory may
        // be gone (E13).
        let runs = self.record.steps_due(self.seen.now).map(|(pending, _)| pending.op.clone()).collect();
        self.record.paused = Some(Paused { at: self.seen.now.0, runs, asked: [].into() });
        self.commit.emit("workflow.paused", &[]);
        true
    }

    /// Resumes a run that was paused or stopped. Returns whether it was. If `shifted`, its deadlines move by
    /// the length of the pause.
    pub(in crate::workflow::engine) fn resume(&mut self, shifted: bool) -> Result<bool, Halt> {
        let Some(paused) = self.record.paused.take() else { return self.resume_if(|_| true) };
        if shifted {
            self.shift(&paused);
        }
        self.commit.emit("workflow.resumed", &[]);
        self.begin_now(&paused);
        self.retries_are_due();
        if !self.resume_if(|_| true)? {
            self.go_on()?;
        }
        Ok(true)
    }

    /// Notes that an attempt of a step has ended. During a pause no other attempt begins.
    pub(in crate::workflow::engine) fn no_longer_runs(&mut self, op: &OpId) {
        if let Some(paused) = &mut self.record.paused {
            paused.runs.retain(|runs| runs != op);
            paused.asked.insert(op.clone(), self.seen.now.0);
        }
    }

    /// Moves each deadline by the length of the pause, or by the rest of it if the deadline was asked for
    /// during the pause.
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
                    // The pause does not count towards `give_up_after`.
                    step.since = step.since.saturating_add(by);
                    step.retry_at = step.retry_at.map(|at| at.saturating_add(by));
                }
                Waiting::Child(_) | Waiting::Until => {}
            }
        }
        self.topic_waits().move_deadlines();
    }
}

//! Stopped runs: a run that cannot continue is stopped with the reason, and tried again later.

use crate::workflow::{
    Divergence, Workflow,
    client::status::Stopped,
    engine::turn::{Delivery, Halt, Turning},
    record::Halted,
    replay::live::{Live, WOKEN},
};

impl<W: Workflow> Turning<'_, W> {
    pub(in crate::workflow::engine) fn diverge(&mut self, divergence: Divergence) {
        self.halt(Stopped::Diverged(divergence));
    }

    /// Stops the run. The body is not polled until its code changes, a caller resumes the run, or it is
    /// tried again.
    pub(in crate::workflow::engine) fn halt(&mut self, why: Stopped) {
        let (event, text) = match &why {
            Stopped::Panicked { message, .. } => ("workflow.panicked", message.clone()),
            Stopped::Diverged(divergence) => ("workflow.diverged", divergence.to_string()),
        };
        if !self.is_tried_again {
            tracing::error!(key = %self.seen.key, why = text, "{event}");
            self.commit.emit(event, &[("why", text.into())]);
        }
        self.live = None;
        if self.record.untold > 0 && self.delivery == Delivery::Anew {
            self.keep_from_the_start();
        }
        self.record.stopped = Some(Halted::new(why, W::SCRIPT.hash, self.seen.now));
    }

    /// Stops a body that something foreign has woken: it may have seen what no replay would show it.
    pub(in crate::workflow::engine) fn stop_if_woken(&mut self) {
        if self.live.as_ref().is_some_and(Live::was_woken) {
            self.halt(Stopped::Panicked { message: WOKEN.to_owned(), entry: self.told() });
        }
    }

    /// Resumes a stopped run, if `which` accepts the reason. Returns whether the run was resumed.
    pub(in crate::workflow::engine) fn resume_if(&mut self, which: impl FnOnce(&Halted) -> bool) -> Result<bool, Halt> {
        if self.record.is_held() {
            return Ok(false);
        }
        let Some(halted) = self.record.stopped.take_if(|halted| which(halted)) else { return Ok(false) };
        tracing::debug!(key = %self.seen.key, was = ?halted.why, "a run that was stopped is tried again");
        self.is_tried_again = true;
        if self.record.winds_down() {
            self.wind_down()?;
        } else {
            self.go_on()?;
        }
        // A run that is stopped again waits longer before its next try.
        let again = self.record.stopped.take();
        self.record.stopped = again.map(|again| again.tried(halted.tries + 1, self.seen.now));
        Ok(true)
    }
}

//! The end of a turn: the record, the state, the alarm and the status go into the commit.

use drystone_runtime::{Millis, Reply, To};

use super::{
    Caller,
    memory::Memory,
    turn::{BYTES_MAX, Halt, NextTurn, Turned, Turning, beyond},
};
use crate::{
    encode,
    planted::Bug,
    workflow::{
        Fault, Workflow,
        body::version::Versions,
        client::fault::Cause,
        replay::{fault_of, journal::End},
    },
};

impl<W: Workflow> Turning<'_, W> {
    /// Builds the commit. The record and the state are written only if they have changed.
    pub(super) fn close(mut self, memory: &mut Memory, answer: Option<(Caller, Reply)>) -> Turned {
        self.write_state()?;
        self.keep_versions();
        self.watch_topics();
        let before = self.seen.entity.map(|entity| &entity.head);
        let mut head = encode(&*self.record).map_err(Halt::Malformed)?;
        let is_too_long = head.len() > BYTES_MAX && self.record.end.is_none();
        if is_too_long {
            self.end(beyond("run", "bytes in its record", BYTES_MAX))?;
        }
        // The end of a run may also have more messages than one commit can send.
        if self.outbox().flush()? || is_too_long {
            head = encode(&*self.record).map_err(Halt::Malformed)?;
        }
        self.set_alarm();
        let changed = (before != Some(&head)).then(|| head.clone());
        if let Some((Some(ticket), reply)) = answer {
            self.commit.reply(To::Ticket(ticket), reply);
        }
        let has_ended = self.record.end.is_some();
        memory.live = self.live.filter(|_| !has_ended);
        memory.fronts = self.fronts;
        memory.has_undone = self.has_undone;
        memory.set_record(head, self.record);
        Ok(self.commit.with_head(changed))
    }

    /// Writes the state, if it differs from the stored one.
    fn write_state(&mut self) -> Result<(), Halt> {
        self.keep_state()?;
        if self.seen.entity.is_none() && self.commit.state_mut().is_none() {
            // Nothing was changed, or the first poll panicked or went beyond a limit. A new run is stored
            // with a state all the same.
            let of_body =
                self.live.as_ref().map(|live| live.core.with_state(false, |state: &mut W| W::codec().write(state)));
            let of_body = of_body
                .transpose()
                .map_err(Halt::Malformed)?
                .filter(|state| state.len() <= BYTES_MAX && W::codec().check_null(state).is_ok());
            let initial = || W::codec().write(&W::initial()).map_err(Halt::Malformed);
            *self.commit.state_mut() = Some(of_body.map_or_else(initial, Ok)?);
        }
        let before = self.seen.entity.map(|entity| &entity.state);
        self.commit.state_mut().take_if(|state| before == Some(state));
        Ok(())
    }

    /// Keeps the state as the body has changed it so far in this turn: the body may panic at its next entry,
    /// and its changes would be lost. A state that is too long, or that would not read back, ends the run.
    /// If the run has ended already, the state stays as it was, because a run ends once (L1).
    pub(super) fn keep_state(&mut self) -> Result<(), Halt> {
        let Some(live) = &self.live else { return Ok(()) };
        let is_cleanup = live.is_cleanup;
        if !live.core.take_state_changed() || Bug::StateForgotten.planted() {
            return Ok(());
        }
        let state = live.core.with_state(false, |state: &mut W| W::codec().write(state)).map_err(Halt::Malformed)?;
        let wrong = match W::codec().check_null(&state) {
            Err(reason) => Some(unreadable(&reason)),
            Ok(()) if state.len() > BYTES_MAX => Some(beyond("run", "bytes in its state", BYTES_MAX)),
            Ok(()) => None,
        };
        if let Some(end) = wrong {
            let is_over = self.record.end.is_some() || self.record.undoes();
            return if is_over { Ok(()) } else { self.end(for_cleanup(end, is_cleanup)) };
        }
        *self.commit.state_mut() = Some(state);
        Ok(())
    }

    /// Records the versions of its code that the run was pinned to in this turn.
    fn keep_versions(&mut self) {
        let changed = self.live.as_ref().and_then(|live| live.core.with_versions(Versions::take_changed));
        if let Some(versions) = changed {
            self.record.versions = versions;
        }
    }

    fn set_alarm(&mut self) {
        let at = match (&self.record.end, self.next_turn) {
            // Sending owed messages begins nothing, so a paused run sends them, too.
            (_, NextTurn::NowEvenPaused) => Some(self.seen.now.0),
            _ if !self.record.owes.is_nothing() => Some(self.seen.now.0),
            (None, _) if self.record.holds_timers() => None,
            (_, NextTurn::Now) => Some(self.seen.now.0),
            (Some(end), NextTurn::WhenDue) if self.has_unread() || self.record.goes => Some(end.at),
            (Some(end), NextTurn::WhenDue) => Some(Millis(end.at).after(W::options().keeps_for()).0),
            // A deferred generation gets a turn of its own, whatever this turn was about.
            (None, NextTurn::WhenDue) if self.record.is_deferred() => Some(self.seen.now.0),
            (None, NextTurn::WhenDue) => self.record.next_due(),
        };
        let alarm = at.map(Millis);
        let before = self.seen.entity.and_then(|entity| entity.alarm);
        if alarm != before {
            self.commit.set_alarm(alarm);
        }
        let status = self.record.status(alarm);
        if self.seen.entity.is_none_or(|entity| entity.status != status) {
            self.commit.set_status(status);
        }
    }
}

/// Returns the end of a run whose state cannot be stored. A run that was cancelled still ends as cancelled
/// (L3).
fn for_cleanup(end: End, is_cleanup: bool) -> End {
    match end {
        End::Fault(fault) => fault_of(fault, is_cleanup),
        end => end,
    }
}

/// Returns the end of a run whose state would not read back (W3).
fn unreadable(reason: &str) -> End {
    let cause = Cause::Refused { reason: format!("its state: {reason}") };
    End::Fault(Fault { step: "run".to_owned(), cause })
}

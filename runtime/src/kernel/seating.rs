//! After a crash: an entity that may have been running is counted before any of its code is asked (W2).

use super::{
    body::Body,
    chain::Link,
    effects::{Effects, Ring},
    shared::Shared,
    window::Class,
};
use crate::{Entity, Parked, planted::Bug};

/// From so many crashes on work runs one piece at a time, each named in the store before it starts.
pub(crate) const ONE_AT_A_TIME: u8 = 2;

/// Where an entity stands after its partition was taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// Not looked at since it was read.
    Unasked,
    /// It waits for a place in the window.
    InLine,
    /// Its count is on the way to the store; nothing of its code runs before that is durable.
    Counting,
    /// It may go on, watched in the window.
    Watched,
    /// It may go on.
    Free,
}

impl Seat {
    pub(crate) fn is_taken(self) -> bool {
        matches!(self, Self::Watched | Self::Free)
    }
}

impl Body {
    /// Whether its handler may be asked anything; if not yet, takes the next step towards it.
    pub(crate) fn is_seated(&mut self, at: &Shared, out: &mut Effects) -> bool {
        if matches!(self.seat, Seat::Unasked | Seat::InLine) {
            self.ask_for_seat(at, out);
        }
        self.seat.is_taken()
    }

    fn ask_for_seat(&mut self, at: &Shared, out: &mut Effects) {
        if self.tip.is_none() && self.has_tried_letters() && !self.lease.clean && !Bug::CrashNotCounted.planted() {
            return self.count_letters(at, out);
        }
        let was_there = self.may_have_been_running();
        let tip = self.tip.as_ref().filter(|tip| was_there || is_doubted(tip));
        let Some(crashes) = tip.map(|tip| tip.crashes) else {
            out.wake.extend(at.window.leave(&self.key));
            self.seat = Seat::Free;
            return;
        };
        if !at.window.admit(&self.key, Class::of(crashes)) {
            self.seat = Seat::InLine;
            return;
        }
        if !was_there {
            return self.watch(at, out);
        }
        self.seat = Seat::Counting;
        self.stack_own(at, Link::kernel(), |entity| entity.crashes = entity.crashes.saturating_add(1));
    }

    /// It may go on, and leaves the window when it has got on or has run long enough.
    fn watch(&mut self, at: &Shared, out: &mut Effects) {
        self.seat = Seat::Watched;
        // Even if nothing is due, its record must not keep the count.
        self.relist = true;
        out.timers.push((at.driver.monotonic() + at.options.probation, Ring::Probation));
    }

    /// Nothing is bound, and messages wait: a turn of theirs may be what killed the process. They are counted as
    /// tried, so that one that kills is a dead letter in the end.
    fn count_letters(&mut self, at: &Shared, out: &mut Effects) {
        if !at.window.admit(&self.key, Class::of(self.letter_attempts())) {
            self.seat = Seat::InLine;
            return;
        }
        self.seat = Seat::Counting;
        self.count_letters_as_tried(at, out);
    }

    /// Active, with messages, or with an alarm that the previous owner may have seen ring; and not yet written
    /// by this one.
    fn may_have_been_running(&self) -> bool {
        let Some(entity) = &self.tip else { return false };
        if self.lease.clean || entity.version.epoch() >= self.lease.epoch || Bug::CrashNotCounted.planted() {
            return false;
        }
        let parked = entity.parked.is_some();
        let rang = entity.alarm.is_some_and(|alarm| alarm <= self.lease.highest);
        !parked && (entity.active || rang || self.letters_queued() > 0 || Bug::InnocentExhausted.planted())
    }

    /// A commit is durable: a count lets the entity go on, a record without crashes frees its place.
    pub(crate) fn seat_settled(&mut self, at: &Shared, out: &mut Effects) {
        let crashes =
            self.committed.as_ref().filter(|entity| entity.parked.is_none()).map_or(0, |entity| entity.crashes);
        match self.seat {
            Seat::Counting if crashes > at.options.crashes_max => {
                self.seat = Seat::Watched;
                self.give_up_without_suspect(crashes, at);
            }
            // What was counted is gone: its letters are dead letters now.
            Seat::Counting if self.committed.is_none() && self.letters_queued() == 0 => self.leave_window(at, out),
            Seat::Counting => self.watch(at, out),
            Seat::Watched if crashes == 0 => self.leave_window(at, out),
            _ => {}
        }
    }

    /// With a suspect its work ends as crashed when it is next listed; without one its turn is at fault.
    fn give_up_without_suspect(&mut self, crashes: u8, at: &Shared) {
        self.relist = true;
        if self.committed.as_ref().is_some_and(|entity| entity.suspect.is_none()) {
            self.park(Parked::Poisoned(format!("the process died {crashes} times while it may have been running")), at);
        }
    }

    /// Its work has run long enough: it is not what kills the process.
    pub(crate) fn end_probation(&mut self, at: &Shared, out: &mut Effects) {
        if self.seat != Seat::Watched {
            return;
        }
        if self.tip.as_ref().is_some_and(|tip| tip.crashes > 0 && tip.parked.is_none()) && !self.chain.closed {
            self.stack_own(at, Link::kernel(), |entity| {
                entity.crashes = 0;
                entity.suspect = None;
            });
        }
        self.leave_window(at, out);
    }

    fn leave_window(&mut self, at: &Shared, out: &mut Effects) {
        self.seat = Seat::Free;
        out.wake.extend(at.window.leave(&self.key));
    }
}

/// Whether crashes are held against it, whoever has counted them. An owner that ended in order, or a record that is read again, clears
/// nobody: two who were there would run beside each other once more, and the innocent one be counted again for it (W2).
fn is_doubted(entity: &Entity) -> bool {
    entity.crashes > 0 && entity.parked.is_none() && !Bug::DoubtForgotten.planted()
}

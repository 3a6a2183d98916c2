//! After a crash: deaths held against an entity are counted before any of its code runs, and a suspect is
//! held back before it is tried again (W2).

use std::collections::BTreeMap;

use super::{Body, chain::Link};
use crate::{
    Conviction, Crashes, Entity, Lifecycle, Parked,
    kernel::state::{
        crash_window::Class,
        effects::{Effects, Ring},
        shared::Shared,
    },
    planted::Bug,
};

/// From this number of deaths on, work runs one piece at a time, each named in the store before it starts.
pub(crate) const ONE_AT_A_TIME: u8 = 2;

/// How far an entity is admitted after its partition was taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// Not checked since it was read.
    Unasked,
    /// A suspect in its control: nothing of it runs, while all other entities do.
    HeldBack,
    /// In line for a place in the window.
    InLine,
    /// The count is on its way to the store. No code of the entity runs before the count is durable.
    Counting,
    /// Running, watched in the window.
    Watched,
    /// Running.
    Free,
}

impl Seat {
    pub(crate) fn is_taken(self) -> bool {
        matches!(self, Self::Watched | Self::Free)
    }
}

impl Body {
    /// Whether the handler may be called; if not yet, takes the next step towards it.
    pub(crate) fn is_seated(&mut self, at: &Shared, out: &mut Effects) -> bool {
        if matches!(self.seat, Seat::Unasked | Seat::InLine) && !self.chain.closed {
            self.ask_for_seat(at, out);
        }
        self.seat.is_taken()
    }

    fn ask_for_seat(&mut self, at: &Shared, out: &mut Effects) {
        let crashes = self.crashes();
        if crashes.is_none() && self.crashes_stored().is_none() {
            return self.leave_window(at, out);
        }
        if crashes.deaths() > at.options.crashes_max {
            return self.convict(crashes, at, out);
        }
        if crashes.needs_control() && !self.is_controlled && !Bug::NoControl.planted() {
            return self.hold_back(crashes, at, out);
        }
        if !at.window.admit(&self.key, Class::of(crashes)) {
            self.seat = Seat::InLine;
            if crashes.needs_control() && !self.is_written_with(crashes.waiting()) {
                self.keep_crashes(at, Crashes::waiting);
            }
            return;
        }
        if self.is_written_with(crashes.admitted()) {
            return self.watch(at, out);
        }
        self.seat = Seat::Counting;
        self.keep_crashes(at, Crashes::admitted);
    }

    /// Returns the crashes held against the entity now: the stored count, and how the end of the last owner
    /// changes it.
    fn crashes(&self) -> Crashes {
        match &self.tip {
            Some(entity) => self.crashes_of(entity),
            None => self.crashes_of_letters(),
        }
    }

    fn crashes_of(&self, entity: &Entity) -> Crashes {
        let epoch = entity.version.epoch();
        if entity.parked.is_some() || Bug::DoubtForgotten.planted() && self.lease.clean {
            return Crashes::NONE;
        }
        if epoch >= self.lease.epoch {
            entity.crashes
        } else if self.lease.clean {
            entity.crashes.after_orderly_end()
        } else if entity.crashes.is_none() {
            if self.may_have_been_running(entity) { Crashes::FIRST } else { Crashes::NONE }
        } else {
            entity.crashes.after_death(epoch == self.lease.before)
        }
    }

    /// Whether the entity may have been running: it is active, has messages, or has an alarm that the
    /// previous owner may have seen ring.
    fn may_have_been_running(&self, entity: &Entity) -> bool {
        let rang = entity.alarm.is_some_and(|alarm| alarm <= self.lease.highest);
        (entity.active || rang || self.letters_queued() > 0) && !Bug::CrashNotCounted.planted()
    }

    fn crashes_stored(&self) -> Crashes {
        match &self.tip {
            Some(entity) if entity.parked.is_some() || Bug::DoubtForgotten.planted() && self.lease.clean => {
                Crashes::NONE
            }
            Some(entity) => entity.crashes,
            None => self.crashes_stored_of_letters(),
        }
    }

    /// Whether this owner has stored the count. The version of that write shows it to the next owner.
    fn is_written_with(&self, crashes: Crashes) -> bool {
        match &self.tip {
            Some(entity) => entity.crashes == crashes && entity.version.epoch() >= self.lease.epoch,
            None => self.letters_are_written_with(crashes),
        }
    }

    /// Stores the count, changed by `staged`. The version of the write tells the next owner that this owner
    /// has reached the entity.
    fn keep_crashes(&mut self, at: &Shared, staged: fn(Crashes) -> Crashes) {
        let crashes = staged(self.crashes());
        match self.tip {
            Some(_) => self.stack_own(at, Link::kernel(), |entity| entity.crashes = crashes),
            None => self.keep_crashes_of_letters(at, staged),
        }
    }

    /// Holds the entity back: the process must live without it for a while before it is tried again.
    fn hold_back(&mut self, crashes: Crashes, at: &Shared, out: &mut Effects) {
        let (now, random) = (at.driver.monotonic(), at.driver.random());
        let until = at.window.hold_back(&self.key, now, at.options.probation, random);
        self.seat = Seat::HeldBack;
        out.timers.push((until, Ring::Control));
        tracing::warn!(key = %self.key, deaths = crashes.deaths(), "held back: the process died with it; it runs again if the process lives without it");
        if self.crashes_stored() != crashes {
            self.keep_crashes(at, |crashes| crashes);
        }
    }

    /// Ends the control: the process has lived without the entity.
    pub(crate) fn end_control(&mut self, at: &Shared, out: &mut Effects) {
        if self.seat == Seat::HeldBack {
            self.is_controlled = true;
            self.seat = Seat::InLine;
            out.wake.extend(at.window.end_control(&self.key));
        }
    }

    /// Parks the entity: the process has died with it too often, and lived without it. It resumes by a
    /// person or with another build.
    fn convict(&mut self, crashes: Crashes, at: &Shared, out: &mut Effects) {
        let Some(entity) = &self.tip else { return self.hold_letters(at, out) };
        let conviction = Conviction {
            work: entity.suspect.clone(),
            deaths: crashes.deaths(),
            controls: crashes.controls(),
            build: at.options.build,
        };
        self.keep_crashes(at, Crashes::admitted);
        let link = Link { emit: vec![told("entity.held", &conviction)], ..Link::kernel() };
        self.park_with(Parked::Held(conviction), link, at);
        self.leave_window(at, out);
    }

    /// Lets the entity run. It leaves the window when it has made progress or has run long enough.
    fn watch(&mut self, at: &Shared, out: &mut Effects) {
        self.seat = Seat::Watched;
        // List even if nothing is due: the listing clears the count from the record.
        self.relist = true;
        out.timers.push((at.driver.monotonic() + at.options.probation, Ring::Probation));
    }

    /// Takes note of a durable commit: a stored count lets the entity run, and a record without crashes
    /// frees its place.
    pub(crate) fn seat_settled(&mut self, at: &Shared, out: &mut Effects) {
        match self.seat {
            // Nothing is left to count for: the messages were taken.
            Seat::Counting if self.committed.is_none() && self.letters_queued() == 0 => self.leave_window(at, out),
            Seat::Counting => self.watch(at, out),
            Seat::Watched if self.committed.as_ref().is_none_or(|entity| entity.crashes.is_none()) => {
                self.leave_window(at, out);
            }
            _ => {}
        }
    }

    /// Ends the probation: the work has run long enough, so it does not kill the process.
    pub(crate) fn end_probation(&mut self, at: &Shared, out: &mut Effects) {
        if self.seat != Seat::Watched {
            return;
        }
        if !self.crashes_stored().is_none() && !self.chain.closed {
            match self.tip {
                Some(_) => self.stack_own(at, Link::kernel(), |entity| {
                    entity.crashes = Crashes::NONE;
                    entity.suspect = None;
                }),
                None => self.keep_crashes_of_letters(at, |_| Crashes::NONE),
            }
        }
        self.leave_window(at, out);
    }

    fn leave_window(&mut self, at: &Shared, out: &mut Effects) {
        self.seat = Seat::Free;
        self.is_controlled = false;
        out.wake.extend(at.window.leave(&self.key));
    }
}

/// Returns the lifecycle event for a conviction.
pub(crate) fn told(name: &'static str, conviction: &Conviction) -> Lifecycle {
    let number = |number: u8| number.to_string().into();
    let mut fields = BTreeMap::from([
        ("deaths".into(), number(conviction.deaths)),
        ("controls".into(), number(conviction.controls)),
    ]);
    if let Some(work) = &conviction.work {
        fields.insert("work".into(), format!("{:?}", work.as_str()).into());
    }
    Lifecycle { name: name.into(), fields }
}

//! After a crash: deaths held against an entity are counted before any of its code runs, and a suspect is
//! held back before it is tried again (W2).

use std::collections::BTreeMap;

use super::{
    Resident,
    parts::{
        admission::{crashes_of, crashes_stored},
        chain::Link,
    },
};
use crate::{
    Conviction, Crashes, Lifecycle, Parked,
    kernel::state::{
        crash_window::Class,
        effects::{Effects, Ring},
        shared::Shared,
    },
    planted::Bug,
};

impl Resident {
    /// Whether the handler may be called; if not yet, takes the next step towards it.
    pub(crate) fn is_admitted(&mut self, at: &Shared, out: &mut Effects) -> bool {
        if self.admission.is_to_check() && !self.commits.is_closed() {
            self.ask_for_admission(at, out);
        }
        self.admission.may_run()
    }

    fn ask_for_admission(&mut self, at: &Shared, out: &mut Effects) {
        let crashes = self.crashes();
        if crashes.is_none() && self.crashes_stored().is_none() {
            return self.leave_window(at, out);
        }
        if crashes.deaths() > at.options.crashes_max {
            return self.convict(crashes, at, out);
        }
        if self.admission.needs_control(crashes) && !Bug::NoControl.planted() {
            return self.hold_back(crashes, at, out);
        }
        if !at.window.admit(&self.key, Class::of(crashes)) {
            self.admission.wait_in_line();
            if crashes.needs_control() && !self.is_written_with(crashes.waiting()) {
                self.keep_crashes(at, Crashes::waiting);
            }
            return;
        }
        if self.is_written_with(crashes.admitted()) {
            return self.watch(at, out);
        }
        self.admission.count();
        self.keep_crashes(at, Crashes::admitted);
    }

    /// Returns the crashes held against the entity now: the stored count, and how the end of the last owner
    /// changes it.
    fn crashes(&self) -> Crashes {
        match &self.tip {
            Some(entity) => crashes_of(entity, &self.lease, self.queue.has_messages()),
            None => self.crashes_of_messages(),
        }
    }

    fn crashes_stored(&self) -> Crashes {
        match &self.tip {
            Some(entity) => crashes_stored(entity, &self.lease),
            None => self.crashes_stored_of_messages(),
        }
    }

    /// Whether this owner has stored the count. The version of that write shows it to the next owner.
    fn is_written_with(&self, crashes: Crashes) -> bool {
        match &self.tip {
            Some(entity) => entity.crashes == crashes && entity.version.epoch() >= self.lease.epoch,
            None => self.messages_are_written_with(crashes),
        }
    }

    /// Stores the count, changed by `staged`. The version of the write tells the next owner that this owner
    /// has reached the entity.
    fn keep_crashes(&mut self, at: &Shared, staged: fn(Crashes) -> Crashes) {
        let crashes = staged(self.crashes());
        match self.tip {
            Some(_) => self.stack_own(at, Link::kernel(), |entity| entity.crashes = crashes),
            None => self.keep_crashes_of_messages(at, staged),
        }
    }

    /// Holds the entity back: the process must live without it for a while before it is tried again.
    fn hold_back(&mut self, crashes: Crashes, at: &Shared, out: &mut Effects) {
        let (now, random) = (at.driver.monotonic(), at.driver.random());
        let until = at.window.hold_back(&self.key, now, at.options.probation, random);
        self.admission.hold_back();
        out.timers.push((until, Ring::Control));
        tracing::warn!(key = %self.key, deaths = crashes.deaths(), "held back: the process died with it; it runs again if the process lives without it");
        if self.crashes_stored() != crashes {
            self.keep_crashes(at, |crashes| crashes);
        }
    }

    /// Ends the control: the process has lived without the entity.
    pub(crate) fn end_control(&mut self, at: &Shared, out: &mut Effects) {
        if self.admission.end_control() {
            out.wake.extend(at.window.end_control(&self.key));
        }
    }

    /// Parks the entity: the process has died with it too often, and lived without it. It resumes by a
    /// person or with another build.
    fn convict(&mut self, crashes: Crashes, at: &Shared, out: &mut Effects) {
        let Some(entity) = &self.tip else { return self.hold_messages(at, out) };
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
        self.admission.watch();
        // List even if nothing is due: the listing clears the count from the record.
        self.work.request_list();
        out.timers.push((at.driver.monotonic() + at.options.probation, Ring::Probation));
    }

    /// Takes note of a durable commit: a stored count lets the entity run, and a record without crashes
    /// frees its place.
    pub(crate) fn admission_settled(&mut self, at: &Shared, out: &mut Effects) {
        if self.admission.is_counting() {
            // Nothing is left to count for if the messages were taken.
            match self.committed {
                None if !self.queue.has_messages() => self.leave_window(at, out),
                _ => self.watch(at, out),
            }
        } else if self.admission.is_watched() && self.committed.as_ref().is_none_or(|entity| entity.crashes.is_none()) {
            self.leave_window(at, out);
        }
    }

    /// Ends the probation: the work has run long enough, so it does not kill the process.
    pub(crate) fn end_probation(&mut self, at: &Shared, out: &mut Effects) {
        if !self.admission.is_watched() {
            return;
        }
        if !self.crashes_stored().is_none() && !self.commits.is_closed() {
            match self.tip {
                Some(_) => self.stack_own(at, Link::kernel(), |entity| {
                    entity.crashes = Crashes::NONE;
                    entity.suspect = None;
                }),
                None => self.keep_crashes_of_messages(at, |_| Crashes::NONE),
            }
        }
        self.leave_window(at, out);
    }

    fn leave_window(&mut self, at: &Shared, out: &mut Effects) {
        self.admission.set_free();
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

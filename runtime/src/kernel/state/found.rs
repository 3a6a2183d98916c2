//! How the results of a scan are handled. A record is used as the scan read it only if nothing of its key
//! was written since the scan began; otherwise the key reads it again.

use std::collections::BTreeSet;

use super::{core::Core, mail::Mail};
use crate::{Key, Millis, store::Woken};

impl Core {
    /// Begins a scan: writes from here on are newer than the records that the scan finds.
    pub(crate) fn scan_begins(&mut self) {
        self.written = Some(BTreeSet::new());
    }

    /// Whether a record that the scan found is still the stored one.
    pub(crate) fn is_fresh(&self, key: &Key) -> bool {
        !self.is_resident(key) && self.written.as_ref().is_some_and(|written| !written.contains(key))
    }

    pub(crate) fn scan_ends(&mut self) {
        self.written = None;
    }

    /// Wakes an entity that was running or is parked.
    pub(crate) fn wake(&mut self, woken: Woken) {
        match woken.entity {
            Some(entity) if self.is_fresh(&woken.key) => self.post(&woken.key, Mail::Woken(entity)),
            _ if self.is_resident(&woken.key) => {}
            _ => self.post(&woken.key, Mail::Look),
        }
    }

    /// Has a key read its inbox, which holds messages.
    #[expect(clippy::needless_pass_by_value, reason = "one shape for all that is done with what a scan finds")]
    pub(crate) fn look_at(&mut self, woken: Woken) {
        self.post(&woken.key, Mail::Look);
    }

    /// Rings an alarm that is due and that memory may have lost. An alarm beyond the horizon was not lost:
    /// the horizon reaches it next, in order and at the timer's pace (A4).
    pub(crate) fn ring_again(&mut self, woken: Woken) {
        let alarm = woken.entity.as_ref().and_then(|entity| entity.alarm);
        if self.near.contains(&woken.key) || alarm.is_some_and(|alarm| alarm > self.near.horizon()) {
            return;
        }
        if let Some(entity) = woken.entity.filter(|_| self.is_fresh(&woken.key)) {
            self.post(&woken.key, Mail::Woken(entity));
        }
        self.post(&woken.key, Mail::Alarm);
    }

    /// Keeps a page of alarms that ring soon. Returns whether the scan may continue with another page.
    /// `forgotten` is how often the horizon had been forgotten when the scan began. If a partition was
    /// taken over since, its older alarms lie behind the scan, and the scan must begin again.
    pub(crate) fn extend_near(&mut self, page: Vec<Woken>, reached: Millis, next_page: usize, forgotten: u64) -> bool {
        if self.near.forgotten() != forgotten {
            self.scan_ends();
            return false;
        }
        self.near.extend(reached);
        self.keep_written();
        for woken in page {
            self.keep_near(woken);
        }
        self.scan_ends();
        let goes_on = self.near.horizon() == reached && self.near.has_room(next_page);
        if !goes_on {
            self.near.stop_before(reached);
        }
        goes_on
    }

    /// Keeps alarms that were set during the scan: they were beyond the horizon then.
    fn keep_written(&mut self) {
        for key in self.written.iter().flatten() {
            let Some(resident) = self.slots.get(key).and_then(|slot| slot.resident.as_ref()) else { continue };
            let alarm = resident.stored_alarm();
            self.near.set(key, alarm, None);
        }
    }

    fn keep_near(&mut self, woken: Woken) {
        let Some(entity) = woken.entity else { return };
        let resident =
            self.slots.get(&woken.key).map(|slot| slot.resident.as_ref().filter(|resident| resident.is_warm()));
        match resident {
            Some(Some(resident)) => {
                let alarm = resident.stored_alarm();
                self.near.set(&woken.key, alarm, None);
            }
            // An alarm that was set during the scan is newer than the scan.
            _ if self.near.contains(&woken.key) => {}
            Some(None) => self.near.set(&woken.key, entity.alarm, None),
            None => {
                let (alarm, fresh) = (entity.alarm, self.is_fresh(&woken.key));
                self.near.set(&woken.key, alarm, fresh.then_some(entity));
            }
        }
    }
}

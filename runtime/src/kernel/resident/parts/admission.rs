//! How far one entity is admitted after a crash, and the crashes that are held against it (W2).

use crate::{Crashes, Entity, kernel::state::lease::Held, planted::Bug};

/// From this number of deaths on, work runs one piece at a time, each named in the store before it starts.
pub(crate) const ONE_AT_A_TIME: u8 = 2;

/// The stages through which an entity passes after its partition was taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Not checked since it was read.
    Unchecked,
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

/// The stage of an entity, and whether its control is over.
#[derive(Debug)]
pub(crate) struct Admission {
    stage: Stage,
    /// The process survived the control of this entity.
    is_controlled: bool,
}

impl Default for Admission {
    fn default() -> Self {
        Self { stage: Stage::Unchecked, is_controlled: false }
    }
}

impl Admission {
    /// Whether code of the entity may run.
    pub(crate) fn may_run(&self) -> bool {
        matches!(self.stage, Stage::Watched | Stage::Free)
    }

    /// Whether the crashes of the entity are to be checked now.
    pub(crate) fn is_to_check(&self) -> bool {
        matches!(self.stage, Stage::Unchecked | Stage::InLine)
    }

    /// Whether the entity must stay in memory for its admission.
    pub(crate) fn is_under_way(&self) -> bool {
        !matches!(self.stage, Stage::Unchecked | Stage::Free)
    }

    pub(crate) fn is_held_back(&self) -> bool {
        self.stage == Stage::HeldBack
    }

    pub(crate) fn is_in_line(&self) -> bool {
        self.stage == Stage::InLine
    }

    pub(crate) fn is_counting(&self) -> bool {
        self.stage == Stage::Counting
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.stage == Stage::Watched
    }

    /// Whether the entity must be held back first: it has died too often to run without a control.
    pub(crate) fn needs_control(&self, crashes: Crashes) -> bool {
        crashes.needs_control() && !self.is_controlled
    }

    pub(crate) fn hold_back(&mut self) {
        self.stage = Stage::HeldBack;
    }

    pub(crate) fn wait_in_line(&mut self) {
        self.stage = Stage::InLine;
    }

    pub(crate) fn count(&mut self) {
        self.stage = Stage::Counting;
    }

    pub(crate) fn watch(&mut self) {
        self.stage = Stage::Watched;
    }

    /// Lets the entity run unwatched.
    pub(crate) fn set_free(&mut self) {
        *self = Self { stage: Stage::Free, is_controlled: false };
    }

    /// Has the crashes checked again: the entity was forgotten. A control that is over stays over.
    pub(crate) fn check_again(&mut self) {
        self.stage = Stage::Unchecked;
    }

    /// Ends the control. Returns whether the entity was held back.
    pub(crate) fn end_control(&mut self) -> bool {
        let was_held_back = self.is_held_back();
        if was_held_back {
            *self = Self { stage: Stage::InLine, is_controlled: true };
        }
        was_held_back
    }
}

/// Returns the crashes held against an entity now: the stored count, and how the end of the last owner
/// changes it. `has_messages` says whether messages wait for the entity.
pub(crate) fn crashes_of(entity: &Entity, lease: &Held, has_messages: bool) -> Crashes {
    let epoch = entity.version.epoch();
    if is_ignored(entity, lease) {
        Crashes::NONE
    } else if epoch >= lease.epoch {
        entity.crashes
    } else if lease.clean {
        entity.crashes.after_orderly_end()
    } else if entity.crashes.is_none() {
        if may_have_been_running(entity, lease, has_messages) { Crashes::FIRST } else { Crashes::NONE }
    } else {
        entity.crashes.after_death(epoch == lease.before)
    }
}

/// Returns the crashes that the store holds against an entity.
pub(crate) fn crashes_stored(entity: &Entity, lease: &Held) -> Crashes {
    if is_ignored(entity, lease) { Crashes::NONE } else { entity.crashes }
}

/// Whether the count does not matter, because a parked entity runs nothing.
fn is_ignored(entity: &Entity, lease: &Held) -> bool {
    entity.parked.is_some() || Bug::DoubtForgotten.planted() && lease.clean
}

/// Whether the entity may have been running: it is active, has messages, or has an alarm that the previous
/// owner may have seen ring.
fn may_have_been_running(entity: &Entity, lease: &Held, has_messages: bool) -> bool {
    let rang = entity.alarm.is_some_and(|alarm| alarm <= lease.highest);
    (entity.active || rang || has_messages) && !Bug::CrashNotCounted.planted()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::samples::entity, *};
    use crate::{Epoch, Millis, Partition, Version, store::Lease};

    fn lease(clean: bool) -> Held {
        let lease = Lease { partition: Partition(0), epoch: Epoch(5), before: Epoch(4), clean, highest: Millis(100) };
        Held::new(lease, Duration::ZERO)
    }

    fn active(epoch: u32) -> Entity {
        Entity { active: true, ..entity(Version::of(Epoch(epoch), 1)) }
    }

    /// W2
    #[test]
    fn an_entity_that_may_have_been_running_has_a_first_death() {
        let crashed = lease(false);
        assert_eq!(crashes_of(&active(4), &crashed, false), Crashes::FIRST);
        assert_eq!(crashes_of(&active(5), &crashed, false), Crashes::NONE, "this owner wrote it");
        assert_eq!(crashes_of(&active(4), &lease(true), false), Crashes::NONE, "the last owner ended in order");
        let resting = entity(Version::of(Epoch(4), 1));
        assert_eq!(crashes_of(&resting, &crashed, false), Crashes::NONE);
        assert_eq!(crashes_of(&resting, &crashed, true), Crashes::FIRST, "a message may have been handled");
        let rang = Entity { alarm: Some(Millis(100)), ..resting.clone() };
        assert_eq!(crashes_of(&rang, &crashed, false), Crashes::FIRST);
        let later = Entity { alarm: Some(Millis(101)), ..resting };
        assert_eq!(crashes_of(&later, &crashed, false), Crashes::NONE);
    }

    /// W2
    #[test]
    fn nothing_is_held_against_a_parked_entity() {
        let parked = Entity { parked: Some(crate::Parked::Unregistered), crashes: Crashes::FIRST, ..active(4) };
        assert_eq!(crashes_of(&parked, &lease(false), true), Crashes::NONE);
        assert_eq!(crashes_stored(&parked, &lease(false)), Crashes::NONE);
    }

    /// W2
    #[test]
    fn a_control_that_is_over_is_not_repeated() {
        let mut admission = Admission::default();
        assert!(admission.is_to_check() && !admission.may_run() && !admission.is_under_way());
        assert!(!admission.end_control(), "it was not held back");
        admission.hold_back();
        assert!(admission.is_held_back() && admission.is_under_way());
        assert!(admission.end_control() && admission.is_in_line() && admission.is_to_check());
        let held_back =
            Crashes::from_byte((0..=u8::MAX).find(|byte| Crashes::from_byte(*byte).needs_control()).unwrap());
        assert!(!admission.needs_control(held_back));
        admission.set_free();
        assert!(admission.may_run() && admission.needs_control(held_back), "the next suspicion needs a control");
    }

    #[test]
    fn no_code_runs_before_its_count_is_stored() {
        let mut admission = Admission::default();
        admission.count();
        assert!(admission.is_counting() && !admission.may_run());
        admission.watch();
        assert!(admission.may_run() && admission.is_under_way());
        admission.check_again();
        assert!(!admission.may_run());
    }
}

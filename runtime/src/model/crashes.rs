//! Crashes that are held against an entity, the stage of its inquiry, and the conviction (W2).

use std::fmt;

use super::WorkId;

/// The number of deaths that narrow the suspects down. Each further death counts only after a control that
/// the process survived (W2.2).
const DEATHS_BEFORE_CONTROL: u8 = 3;

/// Deaths beyond this number are not counted: the stored byte has six bits for them.
const DEATHS_MAX: u8 = 63;

/// How often the process died with an entity since the entity last made progress, and the stage of its
/// inquiry. Stores keep both in one byte.
///
/// The first three deaths count against everything that may have been running, because coincidence is likely.
/// From then on guilt is shown by comparison: the entity is held back for a while (its control), then it runs
/// (its trial). A death in its control acquits the entity, because the process dies without it as well. A
/// death in its trial counts, and the next control begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Crashes {
    deaths: u8,
    stage: Stage,
}

/// The last recorded stage of a suspect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stage {
    /// The suspect may run.
    #[default]
    Admitted,
    /// The suspect is held back: its control is due or in progress.
    HeldBack,
    /// The process survived the control. The suspect waits for its trial.
    Waiting,
    /// The process died in the suspect's control, so no deaths are counted any more. The next death with the
    /// suspect begins with a control. Otherwise two guilty entities would acquit each other forever, because
    /// each of them kills the process in the control of the other.
    Acquitted,
}

impl Crashes {
    /// No crash is held against the entity.
    pub const NONE: Self = Self { deaths: 0, stage: Stage::Admitted };

    /// The entity may have been running when the process died, for the first time.
    pub const FIRST: Self = Self { deaths: 1, stage: Stage::Admitted };

    /// The process died while the entity was held back.
    pub const ACQUITTED: Self = Self { deaths: 0, stage: Stage::Acquitted };

    /// Returns how often the process died with the entity.
    pub fn deaths(self) -> u8 {
        self.deaths
    }

    /// Returns how often the process survived a control of the entity that was followed by a death with it.
    pub fn controls(self) -> u8 {
        self.deaths.saturating_sub(DEATHS_BEFORE_CONTROL)
    }

    /// Whether no crash is held against the entity.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Whether the process died in the control of the entity, and the entity has made no progress since.
    pub fn is_acquitted(self) -> bool {
        self.stage == Stage::Acquitted
    }

    /// Whether the entity must be held back before it may run.
    pub fn needs_control(self) -> bool {
        matches!(self.stage, Stage::HeldBack | Stage::Waiting)
    }

    /// Returns what is held against a suspect after the process died. `was_written`: the owner that died
    /// wrote the suspect's record.
    #[must_use]
    pub fn after_death(self, was_written: bool) -> Self {
        match self.stage {
            // The owner that died may not have written the record: then the suspect was waiting in line in
            // that life. The death that counts is that of the life before, in which the suspect ran.
            Stage::Admitted => Self { deaths: self.deaths + 1, ..self }.held_back(),
            // The process died while another suspect was on trial.
            Stage::Waiting if was_written => self,
            Stage::HeldBack | Stage::Waiting => Self::ACQUITTED,
            Stage::Acquitted => Self { deaths: DEATHS_BEFORE_CONTROL, ..self }.held_back(),
        }
    }

    /// Returns what is held against a suspect after an orderly end. An interrupted trial begins with its
    /// control again.
    #[must_use]
    pub fn after_orderly_end(self) -> Self {
        if self.stage == Stage::Admitted { self.held_back() } else { self }
    }

    /// Returns the same deaths, with the suspect allowed to run.
    #[must_use]
    pub fn admitted(self) -> Self {
        let stage = if self.is_acquitted() { Stage::Acquitted } else { Stage::Admitted };
        Self { stage, ..self }
    }

    /// Returns the same deaths, with the control over: the suspect waits while others run before it.
    #[must_use]
    pub fn waiting(self) -> Self {
        Self { stage: Stage::Waiting, ..self }
    }

    /// Returns at most this number of deaths, after a part of the entity's work was cleared.
    #[must_use]
    pub fn at_most(self, deaths: u8) -> Self {
        Self { deaths: self.deaths.min(deaths), stage: Stage::Admitted }
    }

    fn held_back(self) -> Self {
        let stage = if self.deaths < DEATHS_BEFORE_CONTROL { Stage::Admitted } else { Stage::HeldBack };
        Self { deaths: self.deaths.min(DEATHS_MAX), stage }
    }

    /// Returns the byte that a store keeps.
    pub fn to_byte(self) -> u8 {
        self.deaths | (self.stage as u8) << 6
    }

    /// Reads the byte that a store kept. A byte that [`to_byte`](Self::to_byte) never returns is read as the
    /// mildest stage.
    pub fn from_byte(byte: u8) -> Self {
        let stage = match byte >> 6 {
            1 => Stage::HeldBack,
            2 => Stage::Waiting,
            3 if byte & DEATHS_MAX == 0 => Stage::Acquitted,
            _ => Stage::Admitted,
        };
        Self { deaths: byte & DEATHS_MAX, stage }
    }
}

/// Why an entity is held: the process died with it too often, and survived without it (W2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conviction {
    /// The piece of work that ran alone, if one did. If `None`, a turn is at fault.
    pub work: Option<WorkId>,
    /// How often the process died with the entity.
    pub deaths: u8,
    /// How often the process survived while the entity was held back.
    pub controls: u8,
    /// The build in which the entity was held. Another build tries it again.
    pub build: u64,
}

impl Conviction {
    /// Returns the text that a store keeps.
    pub fn encode(&self) -> String {
        let work = self.work.as_ref().map_or("", WorkId::as_str);
        format!("{} {} {:x} {work}", self.deaths, self.controls, self.build)
    }

    /// Reads the text that a store kept; `None` if it is not a conviction.
    pub fn decode(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, ' ');
        let (deaths, controls) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let build = u64::from_str_radix(parts.next()?, 16).ok()?;
        let work = parts.next()?;
        let work = (!work.is_empty()).then(|| WorkId::new(work.to_owned()));
        Some(Self { work, deaths, controls, build })
    }
}

impl fmt::Display for Conviction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { work, deaths, controls, .. } = self;
        match work {
            Some(work) => write!(out, "`{work}` is suspected of killing the process, ")?,
            None => out.write_str("a turn of it is suspected of killing the process, ")?,
        }
        write!(
            out,
            "which died {deaths} times with it and lived {controls} times without; it goes on after `unpark`, "
        )?;
        out.write_str("or with another build or other options")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIED_WITH: bool = true;
    const DIED_IN_LINE: bool = false;

    fn after(deaths: u8) -> Crashes {
        (1..deaths).fold(Crashes::FIRST, |crashes, _| crashes.admitted().after_death(DIED_WITH))
    }

    /// W2
    #[test]
    fn from_the_third_death_on_a_suspect_is_held_back_before_it_runs_again() {
        assert_eq!([1, 2, 3, 9].map(|deaths| after(deaths).needs_control()), [false, false, true, true]);
        assert!(!after(3).admitted().needs_control());
        assert_eq!((after(9).deaths(), after(9).controls()), (9, 6));
    }

    /// W2
    #[test]
    fn a_death_while_it_is_held_back_acquits_it() {
        for was_written in [true, false] {
            assert_eq!(after(8).after_death(was_written), Crashes::ACQUITTED);
        }
        assert_eq!(after(8).waiting().after_death(DIED_IN_LINE), Crashes::ACQUITTED, "it was held back once more");
        assert_eq!(Crashes::ACQUITTED.deaths(), 0);
        assert_eq!(Crashes::ACQUITTED.admitted().after_death(DIED_WITH), after(3), "it is held back at once");
    }

    /// W2
    #[test]
    fn a_death_while_it_waits_in_line_says_nothing_of_it() {
        assert_eq!(after(2).after_death(DIED_IN_LINE), after(3), "for the death before");
        assert_eq!(after(5).waiting().after_death(DIED_WITH), after(5).waiting());
    }

    /// W2, R2
    #[test]
    fn an_orderly_end_counts_no_death_and_a_trial_it_interrupts_begins_with_its_control() {
        assert_eq!(after(2).after_orderly_end(), after(2));
        assert_eq!(after(4).admitted().after_orderly_end(), after(4));
    }

    #[test]
    fn a_byte_is_read_as_it_was_written() {
        for crashes in [
            Crashes::NONE,
            Crashes::ACQUITTED,
            Crashes::FIRST,
            after(3),
            after(4).waiting(),
            after(5).admitted(),
            after(63),
        ] {
            assert_eq!(Crashes::from_byte(crashes.to_byte()), crashes);
        }
        assert_eq!(after(70).deaths(), DEATHS_MAX);
    }

    #[test]
    fn a_conviction_is_read_as_it_was_written() {
        let mut conviction = Conviction { work: Some(WorkId::new("a b#1")), deaths: 9, controls: 6, build: 255 };
        assert_eq!(Conviction::decode(&conviction.encode()), Some(conviction.clone()));
        conviction.work = None;
        assert_eq!(Conviction::decode(&conviction.encode()), Some(conviction));
    }
}

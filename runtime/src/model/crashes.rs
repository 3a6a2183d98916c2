//! What crashes are held against an entity, how far its inquiry is, and what a conviction says (W2).

use std::fmt;

use super::WorkId;

/// So many deaths narrow the suspects down. Each further one counts only after a control that the process survived.
const DEATHS_BEFORE_CONTROL: u8 = 3;

/// The most deaths that are counted.
const DEATHS_MAX: u8 = 63;

/// How often the process died with an entity since that last got on, and where its inquiry stands. Stores keep it in one byte.
///
/// The first three deaths count against whatever may have been running: coincidence is likely. From then on guilt is shown by
/// comparison. The entity is held back for a while (its control), then runs (its trial). A death in its control acquits it,
/// for the process dies without it as well. A death in its trial counts, and the next control begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Crashes {
    deaths: u8,
    stage: Stage,
}

/// What was last recorded of a suspect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stage {
    /// It was let run.
    #[default]
    Admitted,
    /// It is held back: its control is due, or under way.
    HeldBack,
    /// The process survived its control; it waits for its trial.
    Waiting,
    /// The process died in its control, so nothing is counted. The next death with it begins with a control: two guilty ones would
    /// otherwise acquit each other for ever, for each kills in the control of the other.
    Acquitted,
}

impl Crashes {
    /// Nothing is held against it.
    pub const NONE: Self = Self { deaths: 0, stage: Stage::Admitted };

    /// It may have been running when the process died, for the first time.
    pub const FIRST: Self = Self { deaths: 1, stage: Stage::Admitted };

    /// The process died without it.
    pub const ACQUITTED: Self = Self { deaths: 0, stage: Stage::Acquitted };

    /// How often the process died with it.
    pub fn deaths(self) -> u8 {
        self.deaths
    }

    /// How often the process lived while it was held back, in the controls that were followed by a death with it.
    pub fn controls(self) -> u8 {
        self.deaths.saturating_sub(DEATHS_BEFORE_CONTROL)
    }

    /// Whether nothing is held against it.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Whether the process died in its control, and it has not got on since.
    pub fn is_acquitted(self) -> bool {
        self.stage == Stage::Acquitted
    }

    /// Whether it must be held back before it may run.
    pub fn needs_control(self) -> bool {
        matches!(self.stage, Stage::HeldBack | Stage::Waiting)
    }

    /// What is held against a suspect after the process died. `was_written`: its record was written by the owner that died.
    #[must_use]
    pub fn after_death(self, was_written: bool) -> Self {
        match self.stage {
            // If it was in line in the life that ended, the death that counts is that of the life before, in which it ran.
            Stage::Admitted => Self { deaths: self.deaths + 1, ..self }.held_back(),
            // The process died while somebody else was on trial.
            Stage::Waiting if was_written => self,
            Stage::HeldBack | Stage::Waiting => Self::ACQUITTED,
            Stage::Acquitted => Self { deaths: DEATHS_BEFORE_CONTROL, ..self }.held_back(),
        }
    }

    /// What is held against a suspect after an orderly end: a trial that was interrupted begins with its control again.
    #[must_use]
    pub fn after_orderly_end(self) -> Self {
        if self.stage == Stage::Admitted { self.held_back() } else { self }
    }

    /// It is let run.
    #[must_use]
    pub fn admitted(self) -> Self {
        let stage = if self.is_acquitted() { Stage::Acquitted } else { Stage::Admitted };
        Self { stage, ..self }
    }

    /// Its control is over, and others run before it.
    #[must_use]
    pub fn waiting(self) -> Self {
        Self { stage: Stage::Waiting, ..self }
    }

    /// What is left of it when a part of its work is cleared.
    #[must_use]
    pub fn at_most(self, deaths: u8) -> Self {
        Self { deaths: self.deaths.min(deaths), stage: Stage::Admitted }
    }

    fn held_back(self) -> Self {
        let stage = if self.deaths < DEATHS_BEFORE_CONTROL { Stage::Admitted } else { Stage::HeldBack };
        Self { deaths: self.deaths.min(DEATHS_MAX), stage }
    }

    /// The byte that a store keeps.
    pub fn to_byte(self) -> u8 {
        self.deaths | (self.stage as u8) << 6
    }

    /// What a store has kept; one that was never written is taken for the least.
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

/// Why an entity is held: the process died with it too often, and lived without it (W2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conviction {
    /// The piece of work that ran alone, if one did. Without it a turn is at fault.
    pub work: Option<WorkId>,
    /// How often the process died with it.
    pub deaths: u8,
    /// How often the process lived while it was held back.
    pub controls: u8,
    /// The build that it was held in: another one tries it again.
    pub build: u64,
}

impl Conviction {
    /// The text that a store keeps.
    pub fn encode(&self) -> String {
        let work = self.work.as_ref().map_or("", WorkId::as_str);
        format!("{} {} {:x} {work}", self.deaths, self.controls, self.build)
    }

    /// What a store has kept; `None` if it is not a conviction.
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

//! Rounds, each of which measures all subjects in quick succession, and the results over all rounds.

use std::time::Duration;

use anyhow::Result;

use super::{
    measured::{Measured, median},
    neighbours::Neighbours,
    report::Line,
};

/// A round does not count if other programs used more than this share of the machine.
const NEIGHBOURS_MAX: f64 = 0.2;
/// With fewer rounds that count, all rounds are used, and the report says that other programs disturbed
/// them.
const ROUNDS_MIN: usize = 3;

/// Rounds, each with one measurement of every subject.
pub(in crate::load) struct Rounds<const N: usize> {
    kept: Vec<[Measured; N]>,
    disturbed: Vec<[Measured; N]>,
}

impl<const N: usize> Rounds<N> {
    /// Measures until `wanted` rounds count, but at most twice as many in all. Whether a round counts
    /// depends only on the load by other programs, never on its result.
    pub(in crate::load) async fn measure(
        wanted: usize,
        mut round: impl AsyncFnMut() -> Result<[Measured; N]>,
    ) -> Result<Self> {
        let mut rounds = Self { kept: Vec::new(), disturbed: Vec::new() };
        while rounds.kept.len() < wanted && rounds.kept.len() + rounds.disturbed.len() < 2 * wanted {
            let neighbours = Neighbours::watch()?;
            let measured = round().await?;
            let counts = neighbours.share()? <= NEIGHBOURS_MAX;
            if counts { &mut rounds.kept } else { &mut rounds.disturbed }.push(measured);
        }
        Ok(rounds)
    }

    /// The median ratio of one subject to another.
    pub(in crate::load) fn ratio(&self, ours: usize, limit: usize, what: impl Fn(&Measured) -> f64) -> f64 {
        median(self.ratios(ours, limit, what))
    }

    /// A line with the medians of one subject.
    pub(in crate::load) fn line(&self, subject: usize, what: String) -> Line {
        let middle = |of: &dyn Fn(&Measured) -> f64| median(self.shown().map(|round| of(&round[subject])).collect());
        let time = |of: fn(&Measured) -> Duration| {
            Duration::try_from_secs_f64(middle(&|measured| of(measured).as_secs_f64())).ok()
        };
        Line {
            what,
            per_second: Some(middle(&Measured::rate)),
            p50: time(Measured::p50),
            p99: time(Measured::p99),
            ..Line::default()
        }
    }

    /// The same line, with the ratio to another subject and the range of that ratio over the rounds.
    pub(in crate::load) fn compared(
        &self,
        ours: usize,
        limit: usize,
        what: String,
        of: impl Fn(&Measured) -> f64,
    ) -> Line {
        let ratios = self.ratios(ours, limit, of);
        let least = ratios.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
        let most = ratios.iter().copied().reduce(f64::max).unwrap_or(f64::NAN);
        let (kept, all) = (self.kept.len(), self.kept.len() + self.disturbed.len());
        let worth = if self.count() { "" } else { ": other programs disturbed the measurement" };
        let note = format!("{least:.2} to {most:.2}; {kept} of {all} rounds undisturbed{worth}");
        Line { ratio: Some(median(ratios)), note, ..self.line(ours, what) }
    }

    fn count(&self) -> bool {
        self.kept.len() >= ROUNDS_MIN
    }

    fn shown(&self) -> impl Iterator<Item = &[Measured; N]> {
        let disturbed: &[_] = if self.count() { &[] } else { &self.disturbed };
        self.kept.iter().chain(disturbed)
    }

    fn ratios(&self, ours: usize, limit: usize, what: impl Fn(&Measured) -> f64) -> Vec<f64> {
        self.shown().map(|round| what(&round[ours]) / what(&round[limit])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(rates: &[[u64; 2]]) -> Vec<[Measured; 2]> {
        let second = Duration::from_secs(1);
        let measured = |calls: u64| Measured::new(vec![Duration::from_millis(1); calls as usize], second);
        rates.iter().map(|round| round.map(measured)).collect()
    }

    #[test]
    fn the_ratio_is_the_middle_one_of_the_rounds_that_count() {
        let rounds = Rounds { kept: rounds(&[[10, 5], [10, 8], [10, 1]]), disturbed: rounds(&[[1, 9]]) };
        assert_eq!(rounds.ratio(1, 0, Measured::rate), 0.5);
        let line = rounds.compared(1, 0, "kernel".into(), Measured::rate);
        assert_eq!((line.per_second, line.ratio), (Some(5.0), Some(0.5)));
        assert_eq!(line.note, "0.10 to 0.80; 3 of 4 rounds undisturbed");
    }

    /// The output says so.
    #[test]
    fn disturbed_rounds_count_only_if_too_few_others_exist() {
        let rounds = Rounds { kept: rounds(&[[10, 5], [10, 4]]), disturbed: rounds(&[[1, 9]]) };
        assert_eq!(rounds.ratio(1, 0, Measured::rate), 0.5);
        let line = rounds.compared(1, 0, "kernel".into(), Measured::rate);
        assert!(line.note.ends_with("2 of 3 rounds undisturbed: other programs disturbed the measurement"));
    }
}

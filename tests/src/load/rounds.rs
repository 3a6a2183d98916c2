//! Rounds in which several subjects are measured within a moment, and what they say together.

use std::time::Duration;

use anyhow::Result;

use super::{
    measured::{Measured, median},
    neighbours::Neighbours,
    report::Line,
};

/// A round in which others use more of the machine than this does not count.
const NEIGHBOURS_MAX: f64 = 0.2;
/// With fewer rounds that count, nothing was measured.
const ROUNDS_MIN: usize = 3;

/// The rounds that count, one measurement of each subject.
pub(super) struct Rounds<const N: usize> {
    kept: Vec<[Measured; N]>,
    disturbed: usize,
}

impl<const N: usize> Rounds<N> {
    /// Measures until so many rounds count, but at most twice as often. Which count is decided by what others
    /// did meanwhile, never by what came out.
    pub(super) async fn measure(wanted: usize, mut round: impl AsyncFnMut() -> Result<[Measured; N]>) -> Result<Self> {
        let mut rounds = Self { kept: Vec::new(), disturbed: 0 };
        while rounds.kept.len() < wanted && rounds.kept.len() + rounds.disturbed < 2 * wanted {
            let neighbours = Neighbours::watch()?;
            let measured = round().await?;
            if neighbours.share()? > NEIGHBOURS_MAX {
                rounds.disturbed += 1;
            } else {
                rounds.kept.push(measured);
            }
        }
        Ok(rounds)
    }

    /// The median ratio of one subject to another; not a number if too few rounds count.
    pub(super) fn ratio(&self, ours: usize, limit: usize, what: impl Fn(&Measured) -> f64) -> f64 {
        if self.kept.len() < ROUNDS_MIN { f64::NAN } else { median(self.ratios(ours, limit, what)) }
    }

    /// How far the rounds are apart, and how many there were.
    pub(super) fn spread(&self, ours: usize, limit: usize, what: impl Fn(&Measured) -> f64) -> String {
        let ratios = self.ratios(ours, limit, what);
        let (count, disturbed) = (ratios.len(), self.disturbed);
        let least = ratios.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
        let most = ratios.iter().copied().reduce(f64::max).unwrap_or(f64::NAN);
        format!("{count} rounds, {least:.2} to {most:.2}; {disturbed} more disturbed by others")
    }

    /// A line with the medians of one subject.
    pub(super) fn line(&self, subject: usize, what: String) -> Line {
        let middle =
            |of: &dyn Fn(&Measured) -> f64| median(self.kept.iter().map(|round| of(&round[subject])).collect());
        let time = |of: fn(&Measured) -> Duration| {
            Duration::try_from_secs_f64(middle(&|measured| of(measured).as_secs_f64())).ok()
        };
        let per_second = Some(middle(&Measured::rate)).filter(|rate| rate.is_finite());
        Line { what, per_second, p50: time(Measured::p50), p99: time(Measured::p99), ..Line::default() }
    }

    fn ratios(&self, ours: usize, limit: usize, what: impl Fn(&Measured) -> f64) -> Vec<f64> {
        self.kept.iter().map(|round| what(&round[ours]) / what(&round[limit])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(rates: &[[u64; 2]]) -> Rounds<2> {
        let measured =
            |calls: u64| Measured::new(vec![Duration::from_millis(1); calls as usize], Duration::from_secs(1));
        Rounds { kept: rates.iter().map(|round| round.map(measured)).collect(), disturbed: 2 }
    }

    #[test]
    fn the_ratio_is_the_middle_one_of_the_rounds() {
        let rounds = rounds(&[[10, 5], [10, 8], [10, 1]]);
        assert_eq!(rounds.ratio(1, 0, Measured::rate), 0.5);
        assert_eq!(rounds.spread(1, 0, Measured::rate), "3 rounds, 0.10 to 0.80; 2 more disturbed by others");
        assert_eq!(rounds.line(0, "bare".into()).per_second, Some(10.0));
    }

    #[test]
    fn too_few_rounds_are_none() {
        assert!(rounds(&[[10, 5], [10, 5]]).ratio(1, 0, Measured::rate).is_nan());
        assert_eq!(rounds(&[]).line(0, "bare".into()).per_second, None);
    }
}

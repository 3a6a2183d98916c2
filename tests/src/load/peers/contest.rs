//! A contest: the same work is done by all competitors, and timed.

use std::time::Duration;

use peer_work::{Measured, STEPS, Work};
use serde::Deserialize;

use super::{peer::Peer, said::Said};
use crate::load::measuring::{
    goal::{Bound, Goal},
    measured::median,
    report::{Line, Report},
};

/// The rounds of one piece of work.
#[derive(Debug)]
pub(super) struct Contest {
    pub(super) work: Work,
    pub(super) peers: &'static [Peer],
    /// The names of our goals against the peers, in the order of the peers.
    goals: Vec<Option<&'static str>>,
    ours: Vec<Figures>,
    theirs: Vec<Vec<Said>>,
}

/// The figures of one competitor. See [`Measured`].
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Figures {
    pub(super) enqueue_per_s: Option<f64>,
    pub(super) done_per_s: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

impl Contest {
    /// Makes a contest, with an optional goal against each of the peers.
    pub(super) fn new<const N: usize>(work: Work, peers: &'static [Peer; N], goals: [Option<&'static str>; N]) -> Self {
        Self { work, peers, goals: goals.to_vec(), ours: Vec::new(), theirs: vec![Vec::new(); N] }
    }

    /// The part of this program that measures the same work without peers.
    pub(super) fn part(&self) -> &'static str {
        match self.work {
            Work::Throughput { .. } | Work::Alone => "queues",
            Work::Runs { .. } => "workflows",
        }
    }

    pub(super) fn round(&mut self, ours: Figures, theirs: Vec<Said>) {
        self.ours.push(ours);
        for (all, said) in self.theirs.iter_mut().zip(theirs) {
            all.push(said);
        }
    }

    /// Adds one line per competitor to the report, ours first.
    pub(super) fn tell(&self, report: &mut Report) {
        if let Some(ours) = Figures::median(&self.ours) {
            report.line(self.line("drystone", ours, "wal/FULL"));
        }
        for ((peer, goal), said) in self.peers.iter().zip(&self.goals).zip(&self.theirs) {
            let figures: Vec<_> = said.iter().map(|said| said.figures).collect();
            let (Some(theirs), Some(last)) = (Figures::median(&figures), said.last()) else { continue };
            let (who, how) =
                (format!("{} {}", last.peer, last.version), format!("{}; {}", last.pragmas, last.settings));
            let ratio = self.ratio(&figures);
            report.line(Line { ratio: Some(ratio), ..self.line(&who, theirs, &how) });
            if let Some(name) = *goal {
                report.goal(Goal { name, bound: Bound::AtLeast(peer.least), value: ratio });
            }
        }
    }

    /// How many times as fast ours is: the median over the rounds. The ratio is taken per round, because the
    /// speed of the machine varies.
    fn ratio(&self, theirs: &[Figures]) -> f64 {
        let ratio = |(ours, theirs): (&Figures, &Figures)| match self.work {
            Work::Throughput { .. } | Work::Runs { .. } => ours.done_per_s / theirs.done_per_s,
            Work::Alone => theirs.p50_us / ours.p50_us,
        };
        median(self.ours.iter().zip(theirs).map(ratio).collect())
    }

    /// A line of the report. The rate counts items, or the steps of runs, from the first call until the last
    /// one is recorded as finished. Times are those of a call to enqueue, except that for a single item and
    /// for a run they end when it is recorded.
    fn line(&self, who: &str, figures: Figures, how: &str) -> Line {
        let time = |micros: f64| Duration::try_from_secs_f64(micros / 1e6).ok();
        let (what, per_second, note) = match self.work {
            Work::Alone => (format!("one item alone: {who}"), None, how.to_owned()),
            Work::Throughput { queues } => {
                let enqueue = figures.enqueue_per_s.map(|rate| format!("enqueue {rate:.0}/s; "));
                let note = format!("{}{how}", enqueue.unwrap_or_default());
                (format!("{queues} queue(s): {who}"), Some(figures.done_per_s), note)
            }
            Work::Runs { at_once } => {
                let what = format!("steps of {STEPS}-step runs, {at_once} at once: {who}");
                (what, Some(figures.done_per_s), how.to_owned())
            }
        };
        Line { what, per_second, p50: time(figures.p50_us), p99: time(figures.p99_us), ratio: None, note }
    }
}

impl Figures {
    /// The median of each figure. `None` without figures.
    fn median(all: &[Self]) -> Option<Self> {
        let of = |one: fn(&Self) -> f64| median(all.iter().map(one).collect());
        (!all.is_empty()).then(|| Self {
            enqueue_per_s: all.iter().map(|figures| figures.enqueue_per_s).collect::<Option<_>>().map(median),
            done_per_s: of(|figures| figures.done_per_s),
            p50_us: of(|figures| figures.p50_us),
            p99_us: of(|figures| figures.p99_us),
        })
    }
}

impl From<Measured> for Figures {
    fn from(measured: Measured) -> Self {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let Measured { enqueue_per_s, done_per_s, p50, p99, .. } = measured;
        Self { enqueue_per_s, done_per_s, p50_us: micros(p50), p99_us: micros(p99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn peer(name: &'static str, least: f64) -> Peer {
        Peer { name, least, changed: false }
    }

    const PEERS: [Peer; 3] = [peer("effectum", 3.0), peer("effectum", 0.0), peer("apalis", 10.0)];

    fn figures(per_second: f64) -> Figures {
        let micros = 1e6 / per_second;
        Figures { enqueue_per_s: Some(2.0 * per_second), done_per_s: per_second, p50_us: micros, p99_us: micros }
    }

    fn said(per_second: f64) -> Said {
        let (pragmas, settings) = ("wal/OFF".to_owned(), "none".to_owned());
        Said { peer: "peer".into(), version: "1.0".into(), figures: figures(per_second), pragmas, settings }
    }

    fn report(work: Work, ours: f64) -> (String, bool) {
        let mut contest = Contest::new(work, &PEERS, [Some("effectum"), None, Some("apalis")]);
        for disturbed in [1.0, 0.1, 1.0] {
            contest.round(figures(ours), vec![said(100.0 * disturbed), said(400.0), said(100.0)]);
        }
        let mut report = Report::default();
        contest.tell(&mut report);
        (report.table(), report.all_met())
    }

    #[test]
    fn ours_is_compared_round_by_round_and_the_median_counts() {
        let (table, met) = report(Work::Throughput { queues: 1 }, 500.0);
        assert!(table.contains("enqueue 200/s; wal/OFF; none") && table.contains("5.00"));
        assert!(table.contains("2 goals, 1 not met") && !met);
        assert!(report(Work::Throughput { queues: 1 }, 1_000.0).1);
    }

    #[test]
    fn one_item_alone_is_compared_by_time() {
        assert!(report(Work::Alone, 500.0).0.contains("5.00"));
    }

    #[test]
    fn runs_are_compared_by_their_steps() {
        let (table, met) = report(Work::Runs { at_once: 64 }, 500.0);
        assert!(table.contains("steps of 10-step runs, 64 at once: peer 1.0") && table.contains("5.00"));
        assert!(table.contains("2 goals, 1 not met") && !met);
    }
}

//! One work that everybody does, and who did it how fast.

use std::time::Duration;

use peer_work::{Measured, Work};
use serde::Deserialize;

use super::{
    super::{
        goal::{Bound, Goal},
        measured::median,
        report::{Line, Report},
    },
    PEERS,
    said::Said,
};

/// The rounds of one work.
#[derive(Debug)]
pub(super) struct Contest {
    pub(super) work: Work,
    pub(super) queues: usize,
    /// The names of our goals against the peers, in their order.
    goals: [Option<&'static str>; PEERS.len()],
    ours: Vec<Figures>,
    theirs: [Vec<Said>; PEERS.len()],
}

/// What somebody measured; see [`Measured`].
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Figures {
    pub(super) enqueue_per_s: f64,
    pub(super) done_per_s: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

impl Contest {
    pub(super) fn new(work: Work, queues: usize, goals: [Option<&'static str>; PEERS.len()]) -> Self {
        Self { work, queues, goals, ours: Vec::new(), theirs: Default::default() }
    }

    pub(super) fn round(&mut self, ours: Figures, theirs: Vec<Said>) {
        self.ours.push(ours);
        for (all, said) in self.theirs.iter_mut().zip(theirs) {
            all.push(said);
        }
    }

    /// A line each, ours first.
    pub(super) fn tell(&self, report: &mut Report) {
        let Some(ours) = Figures::median(&self.ours) else { return };
        report.line(self.line("drystone", ours, "wal/FULL"));
        for (nth, peer) in PEERS.iter().enumerate() {
            let said = &self.theirs[nth];
            let figures: Vec<_> = said.iter().map(|said| said.figures).collect();
            let (Some(theirs), Some(last)) = (Figures::median(&figures), said.last()) else { continue };
            let (who, how) =
                (format!("{} {}", last.peer, last.version), format!("{}; {}", last.pragmas, last.settings));
            let value = self.ratio(&figures);
            report.line(Line { ratio: Some(value), ..self.line(&who, theirs, &how) });
            if let Some(name) = self.goals[nth] {
                report.goal(Goal { name, bound: Bound::AtLeast(peer.least), value });
            }
        }
    }

    /// How many times as fast ours is: round by round, for the machine is not as fast in each, and the median of that.
    fn ratio(&self, theirs: &[Figures]) -> f64 {
        let ratio = |(ours, theirs): (&Figures, &Figures)| match self.work {
            Work::Throughput => ours.done_per_s / theirs.done_per_s,
            Work::Alone => theirs.p50_us / ours.p50_us,
        };
        median(self.ours.iter().zip(theirs).map(ratio).collect())
    }

    /// Per second are items from the first call until the last is recorded as finished. The times are of a call to
    /// enqueue, but of an item alone they are from that call until it is recorded.
    fn line(&self, who: &str, figures: Figures, how: &str) -> Line {
        let time = |micros: f64| Duration::try_from_secs_f64(micros / 1e6).ok();
        let (what, per_second, note) = match self.work {
            Work::Alone => (format!("one item alone: {who}"), None, how.to_owned()),
            Work::Throughput => {
                let note = format!("enqueue {:.0}/s; {how}", figures.enqueue_per_s);
                (format!("{} queue(s): {who}", self.queues), Some(figures.done_per_s), note)
            }
        };
        Line { what, per_second, p50: time(figures.p50_us), p99: time(figures.p99_us), ratio: None, note }
    }
}

impl Figures {
    /// The median of each figure, if there are any.
    fn median(all: &[Self]) -> Option<Self> {
        let of = |one: fn(&Self) -> f64| median(all.iter().map(one).collect());
        (!all.is_empty()).then(|| Self {
            enqueue_per_s: of(|figures| figures.enqueue_per_s),
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

    fn figures(per_second: f64) -> Figures {
        let micros = 1e6 / per_second;
        Figures { enqueue_per_s: 2.0 * per_second, done_per_s: per_second, p50_us: micros, p99_us: micros }
    }

    fn said(per_second: f64) -> Said {
        let (pragmas, settings) = ("wal/OFF".to_owned(), "none".to_owned());
        Said { peer: "peer".into(), version: "1.0".into(), figures: figures(per_second), pragmas, settings }
    }

    fn report(work: Work, ours: f64) -> (String, bool) {
        let mut contest = Contest::new(work, 1, [Some("effectum"), None, Some("apalis")]);
        for disturbed in [1.0, 0.1, 1.0] {
            contest.round(figures(ours), vec![said(100.0 * disturbed), said(400.0), said(100.0)]);
        }
        let mut report = Report::default();
        contest.tell(&mut report);
        (report.table(), report.all_met())
    }

    #[test]
    fn ours_is_compared_round_by_round_and_the_median_counts() {
        let (table, met) = report(Work::Throughput, 500.0);
        assert!(table.contains("enqueue 200/s; wal/OFF; none") && table.contains("5.00"));
        assert!(table.contains("2 goals, 1 not met") && !met);
        assert!(report(Work::Throughput, 1_000.0).1);
    }

    #[test]
    fn one_item_alone_is_compared_by_time() {
        assert!(report(Work::Alone, 500.0).0.contains("5.00"));
    }
}

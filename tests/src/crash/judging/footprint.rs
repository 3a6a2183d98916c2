//! The footprint of a campaign: the files with their logs, the memory of a child when it is killed, and the
//! memory of the parent. A judged and ended round must leave nothing behind, so that the last life costs
//! what the first ones did.

use std::{fmt, fs, path::Path};

/// The number of kills in a window. The largest figures of a window count, because the log is emptied in
/// between.
const WINDOW: u32 = 50;

/// The window that ends with this kill is compared with the last window.
const EARLY: u32 = 200;

/// The largest allowed size of the last window, in hundredths of the early window.
const GROWTH_MAX: u64 = 150;

/// Bytes at one moment, or the largest of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::crash) struct Footprint {
    pub(in crate::crash) files: u64,
    pub(in crate::crash) child: u64,
    pub(in crate::crash) parent: u64,
}

impl Footprint {
    fn max(self, other: Self) -> Self {
        let (files, child) = (self.files.max(other.files), self.child.max(other.child));
        Self { files, child, parent: self.parent.max(other.parent) }
    }

    fn all(self) -> [(&'static str, u64); 3] {
        [("files", self.files), ("a child's memory", self.child), ("the parent's memory", self.parent)]
    }
}

/// The footprints in the course of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::crash) struct Growth {
    kills: u32,
    window: Footprint,
    early: Option<Footprint>,
    last: Option<Footprint>,
}

impl Growth {
    /// Records the footprint that was found at a kill.
    pub(in crate::crash) fn measured(&mut self, found: Footprint) {
        self.kills += 1;
        self.window = self.window.max(found);
        if self.kills.is_multiple_of(WINDOW) {
            let whole = std::mem::take(&mut self.window);
            if self.kills == EARLY {
                self.early = Some(whole);
            }
            self.last = Some(whole);
        }
    }

    /// Describes every figure that has grown more than it may.
    pub(in crate::crash) fn excessive(&self) -> Vec<String> {
        let (Some(early), Some(last)) = (self.early, self.last) else { return Vec::new() };
        let pairs = early.all().into_iter().zip(last.all());
        let grown = pairs.filter(|((_, early), (_, last))| last * 100 > early * GROWTH_MAX);
        grown.map(|((what, early), (_, last))| format!("{what} grew from {early} to {last} bytes")).collect()
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(last) = self.last else { return write!(out, "fewer than {WINDOW} kills: nothing was measured") };
        let kib = |bytes: u64| bytes >> 10;
        for (nth, (what, bytes)) in last.all().into_iter().enumerate() {
            let early = self.early.map(|early| early.all()[nth].1);
            let separator = if nth == 0 { "" } else { "; " };
            write!(out, "{separator}{what}: ")?;
            early.map_or(Ok(()), |early| write!(out, "{} KiB at kill {EARLY}, ", kib(early)))?;
            write!(out, "{} KiB at the end", kib(bytes))?;
        }
        Ok(())
    }
}

/// The bytes of all files in a directory.
pub(in crate::crash) fn files(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}

/// The resident memory of a process. 0 if the system does not tell.
pub(in crate::crash) fn resident(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(kills: u32, files: impl Fn(u32) -> u64) -> Growth {
        let mut growth = Growth::default();
        (1..=kills).for_each(|kill| growth.measured(Footprint { files: files(kill), child: 7, parent: 7 }));
        growth
    }

    #[test]
    fn a_campaign_that_takes_more_and_more_is_refused() {
        assert_eq!(measured(500, |_| 100).excessive(), [""; 0]);
        assert_eq!(measured(500, |kill| if kill > 200 { 150 } else { 100 }).excessive(), [""; 0]);
        assert_eq!(measured(500, u64::from).excessive(), ["files grew from 200 to 500 bytes"]);
    }

    #[test]
    fn the_largest_of_a_window_counts() {
        let emptied = measured(500, |kill| if kill % 50 == 7 { 900 } else { 10 });
        assert_eq!(emptied.excessive(), [""; 0]);
        assert_eq!(emptied.last.map(|last| last.files), Some(900));
    }

    #[test]
    fn a_short_campaign_is_not_compared() {
        assert_eq!(measured(199, u64::from).excessive(), [""; 0]);
        assert!(measured(12, |_| 1).to_string().contains("nothing was measured"));
    }

    #[test]
    fn this_process_takes_some_memory() {
        assert!(!cfg!(target_os = "linux") || resident("self") > 1 << 20);
    }
}

//! The line of JSON that a peer prints for a measurement.

use anyhow::Result;
use serde::Deserialize;

use super::contest::Figures;

/// The report of a peer about itself.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Said {
    pub(super) peer: String,
    pub(super) version: String,
    #[serde(flatten)]
    pub(super) figures: Figures,
    /// `journal_mode/synchronous`, as read back from SQLite.
    pub(super) pragmas: String,
    pub(super) settings: String,
}

impl Said {
    pub(super) fn read(stdout: &[u8]) -> Result<Self> {
        Ok(serde_json::from_slice(stdout)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read() {
        let line = r#"{"peer":"effectum","version":"0.7.0","what":"alone","items":300,"enqueue_per_s":34.1,
            "done_per_s":34.1,"p50_us":22581.1,"p99_us":79023.6,"pragmas":"delete/NORMAL","settings":"none"}"#;
        let said = Said::read(line.as_bytes()).unwrap();
        assert_eq!((said.figures.p50_us, said.pragmas.as_str()), (22581.1, "delete/NORMAL"));
        assert!(Said::read(b"panicked").is_err());
    }

    #[test]
    fn a_line_of_runs_is_read() {
        let line = r#"{"peer":"duroxide","version":"0.1.32","what":"runs-64","items":384,"enqueue_per_s":null,
            "done_per_s":579.8,"p50_us":1108099.6,"p99_us":1303180.0,"pragmas":"wal/NORMAL","settings":"none"}"#;
        let said = Said::read(line.as_bytes()).unwrap();
        assert_eq!((said.figures.enqueue_per_s, said.figures.done_per_s), (None, 579.8));
    }
}

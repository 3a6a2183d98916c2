//! Concurrent callers, each of which writes rows in sequence. The bare writer and the kernel get the same
//! calls.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use drystone_runtime::stable_hash;

use super::measured::Measured;

/// Writes the row of a key, and answers when the row is durable.
pub(in crate::load) trait Writer: Send + Sync + 'static {
    fn write(&self, row: usize) -> impl Future<Output = Result<()>> + Send;
}

/// The load: the number of callers at once, the number of keys, and the time.
#[derive(Clone, Copy, Debug)]
pub(in crate::load) struct Callers {
    pub(in crate::load) callers: u64,
    pub(in crate::load) rows: u64,
    pub(in crate::load) span: Duration,
}

impl Callers {
    /// Lets all callers write, and times each of their calls.
    pub(in crate::load) async fn drive<W: Writer>(self, writer: &Arc<W>) -> Result<Measured> {
        let start = Instant::now();
        let until = start + self.span;
        let tasks: Vec<_> =
            (0..self.callers).map(|caller| tokio::spawn(self.one(caller, writer.clone(), until))).collect();
        let mut latencies = Vec::new();
        for task in tasks {
            latencies.extend(task.await??);
        }
        Ok(Measured::new(latencies, start.elapsed()))
    }

    async fn one<W: Writer>(self, caller: u64, writer: Arc<W>, until: Instant) -> Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        let mut before = Instant::now();
        while before < until {
            writer.write(self.row(caller, latencies.len() as u64)).await?;
            let after = Instant::now();
            latencies.push(after - before);
            before = after;
        }
        Ok(latencies)
    }

    /// The row of a caller's `nth` call. It is random, but the same in every round and for every writer,
    /// because the number of dirty pages decides the cost.
    pub(in crate::load) fn row(self, caller: u64, nth: u64) -> usize {
        (stable_hash(&[&caller.to_le_bytes(), &nth.to_le_bytes()]) % self.rows) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_rows_is_repeatable_and_reaches_all_of_them() {
        let callers = Callers { callers: 64, rows: 1_000, span: Duration::ZERO };
        let rows: Vec<_> = (0..64).flat_map(|caller| (0..500).map(move |nth| callers.row(caller, nth))).collect();
        assert!(rows.iter().all(|row| *row < 1_000));
        assert!((0..1_000).all(|row| rows.contains(&row)));
        assert_eq!(rows[17], callers.row(0, 17));
    }
}

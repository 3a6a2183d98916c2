//! The write-ahead log stays short, even with readers (fB10).

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use drystone_runtime::store::SqliteOptions;
use tracing::{Event, Level, Metadata, Subscriber, span};

use super::engine::{Engine, beside, place};

const MAX: u64 = 1 << 20;
/// The maximum number of log bytes per commit in the tests below.
const COMMIT: u64 = 64 << 10;

fn options() -> SqliteOptions {
    SqliteOptions { wal_bytes_max: MAX, ..SqliteOptions::default() }
}

fn log_bytes(path: &Path) -> u64 {
    fs::metadata(beside(path, "-wal")).map_or(0, |found| found.len())
}

/// Writes about 12 MiB of log. Returns the greatest length of the log.
fn write_steadily(engine: &mut Engine, path: &Path) -> u64 {
    let mut longest = 0;
    for number in 0..600 {
        engine.put(number % 50, Bytes::from(vec![b'x'; 16_000])).unwrap();
        longest = longest.max(log_bytes(path));
    }
    longest
}

fn is_sound(path: &Path) -> bool {
    let reader = rusqlite::Connection::open(path).unwrap();
    reader.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap() == "ok"
}

/// K4, fB10, fB6
#[test]
fn the_log_is_bounded_under_steady_writes() {
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, options()).unwrap();
    let longest = write_steadily(&mut engine, &path);
    assert!(longest > MAX / 8, "the log was hardly used: {longest}");
    assert!(longest <= MAX + COMMIT, "the log grew to {longest}");
    engine.assert_all_there();
    assert!(is_sound(&path));
}

/// Counts the warnings of this thread.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicU64>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// K4, fB10
#[test]
fn a_reader_that_stays_stops_no_writer_and_the_log_is_cut_when_it_leaves() {
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, options()).unwrap();
    engine.put_many(50, b"before");
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = || {
        reader.query_row("SELECT count(*) FROM drystone_entity WHERE head = 'before'", [], |row| row.get::<_, i64>(0))
    };
    assert_eq!(count().unwrap(), 50);
    let warnings = Warnings::default();
    let longest = tracing::subscriber::with_default(warnings.clone(), || write_steadily(&mut engine, &path));
    assert!(longest > 2 * MAX, "the reader holds the log back");
    let (warned, quarters) = (warnings.0.load(Ordering::Relaxed), (longest - MAX) / (MAX / 4));
    assert!((1..=quarters + 1).contains(&warned), "{warned} warnings for {longest} bytes");
    assert_eq!(count().unwrap(), 50, "its snapshot stays");
    reader.execute_batch("COMMIT").unwrap();
    write_steadily(&mut engine, &path);
    assert!(log_bytes(&path) <= MAX, "still {}", log_bytes(&path));
    engine.assert_all_there();
}

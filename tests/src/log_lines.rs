//! The log lines of the test process.

use std::{
    fmt::{Debug, Write},
    sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Every warning and error of the process since the first call of [`log_lines`].
#[derive(Default)]
pub struct LogLines {
    lines: Mutex<Vec<String>>,
    more: Condvar,
}

/// Returns the log lines of this process. All tests share them, so each test looks for its own key or word.
pub fn log_lines() -> &'static LogLines {
    static LINES: OnceLock<&'static LogLines> = OnceLock::new();
    LINES.get_or_init(|| {
        let lines: &'static LogLines = Box::leak(Box::default());
        tracing::subscriber::set_global_default(Collector(lines)).expect("nothing else of a test collects lines");
        lines
    })
}

impl LogLines {
    /// Returns the lines so far with all these words.
    pub fn with(&self, words: &[&str]) -> Vec<String> {
        self.lines().iter().filter(|line| contains(line, words)).cloned().collect()
    }

    /// Waits by the real clock for a line that contains all these words. Panics after one minute, which
    /// fails the test.
    pub fn wait_for(&self, words: &[&str]) -> String {
        let mut lines = self.lines();
        loop {
            if let Some(line) = lines.iter().find(|line| contains(line, words)) {
                return line.clone();
            }
            let waited = self.more.wait_timeout(lines, Duration::from_secs(60));
            let (after, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            assert!(!waited.timed_out(), "no line with {words:?} among {after:?}");
            lines = after;
        }
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn contains(line: &str, words: &[&str]) -> bool {
    words.iter().all(|word| line.contains(word))
}

struct Collector(&'static LogLines);

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lines().push(line.0);
        self.0.more.notify_all();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A line that is being written, such as `ERROR the words key=app/a`.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
        written.expect("a text takes all that is written to it");
    }
}

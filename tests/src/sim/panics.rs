//! Panics are part of the game: toys panic on purpose, and a kernel that panics is a finding. None is printed.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    cell::RefCell,
    fmt::Write,
    panic,
    sync::Once,
};

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on panics are kept, not printed; with `RUST_BACKTRACE`, where they came from, too.
pub fn quiet() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|info| {
            LAST.with(|last| {
                let mut last = last.borrow_mut();
                last.clear();
                // Writing to a string does not fail.
                let _ = write!(last, "{info}");
                let trace = Backtrace::capture();
                if trace.status() == BacktraceStatus::Captured {
                    let _ = write!(last, "\n{trace}");
                }
            });
        }));
    });
}

/// Panics as a toy does: nobody is told but who catches it, for it happens thousands of times.
pub fn on_purpose(message: &'static str) -> ! {
    panic::resume_unwind(Box::new(message))
}

/// What the last panic of this thread said.
pub fn last() -> String {
    LAST.with(|last| last.borrow().clone())
}

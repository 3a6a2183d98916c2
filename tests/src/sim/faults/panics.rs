//! Panics are expected: toys panic on purpose, and a panic of the kernel is a finding. No panic is printed.

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

/// Replaces the panic hook: panics are kept instead of printed, with a backtrace if `RUST_BACKTRACE` is
/// set.
pub fn quiet() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|info| {
            LAST.with(|last| {
                let mut last = last.borrow_mut();
                last.clear();
                // Writing to a string cannot fail.
                let _ = write!(last, "{info}");
                let trace = Backtrace::capture();
                if trace.status() == BacktraceStatus::Captured {
                    let _ = write!(last, "\n{trace}");
                }
            });
        }));
    });
}

/// Panics as a toy does. The panic hook is skipped, because such panics happen thousands of times.
pub fn on_purpose(message: &'static str) -> ! {
    panic::resume_unwind(Box::new(message))
}

/// The message of the last panic of this thread.
pub fn last() -> String {
    LAST.with(|last| last.borrow().clone())
}

//! Histories that once broke a law, each kept under a name with everything that was drawn for it.
//!
//! A seed draws other parameters as soon as the simulator draws one more. A named history does not change.
//! To keep a seed that failed, save the output of `cargo sim -- --seed S --json` beside this file, add a
//! line to [`NAMED`], and say there what went wrong.

use super::drawn::Drawn;
use crate::sim::running::history::{Told, tell_drawn};

/// A history under a name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// A short description of what went wrong.
    pub name: &'static str,
    drawn: &'static str,
}

/// How many courses of events run with the parameters of each history: the one that failed, and others near
/// it.
pub const COURSES: u64 = 10;

/// All named histories.
pub const NAMED: [Named; 10] = [
    // A partition was taken over while a scan read the store for upcoming alarms. The scan then reported
    // that all alarms up to its end were known, so an overdue alarm of that partition rang only at the next
    // rescan.
    Named {
        name: "alarm-behind-a-scan-that-a-takeover-overtook",
        drawn: include_str!("alarm-behind-a-scan-that-a-takeover-overtook.json"),
    },
    // The answer to a destroying commit was lost, and the commit took effect after the kernel had read the
    // store. The commit sent again was stale. The kernel took the first commit for another owner's and
    // forgot the caller, so every repeat of that call waited for the first.
    Named { name: "destroyed-by-its-own-late-commit", drawn: include_str!("destroyed-by-its-own-late-commit.json") },
    // Another owner had taken the partition over and destroyed the entity. The old owner read its rows,
    // found no entity, and read again without end: it noticed a takeover only by an entity that the other
    // owner had written.
    Named {
        name: "entity-destroyed-by-the-next-owner",
        drawn: include_str!("entity-destroyed-by-the-next-owner.json"),
    },
    // A single write began a new generation and terminated the run. The body was never polled, but the
    // checker expected the state that the body would have left.
    Named {
        name: "generation-terminated-before-its-first-poll",
        drawn: include_str!("generation-terminated-before-its-first-poll.json"),
    },
    // The answer to a commit was lost, and the commit took effect after the kernel had read the store. The
    // kernel never delivered the message of that commit, so the receiver took the sender's next message
    // before it.
    Named {
        name: "message-of-a-late-commit-overtaken",
        drawn: include_str!("message-of-a-late-commit-overtaken.json"),
    },
    // The answer to a transaction was lost, and its run forgot that it had asked. The run asked again and
    // found the result, but the message of the transaction was not delivered: the receiver took the next
    // message of the run before it.
    Named {
        name: "message-of-a-lost-transaction-overtaken",
        drawn: include_str!("message-of-a-lost-transaction-overtaken.json"),
    },
    // A transactional step sent a message while another turn of its run sent one. The two have no order,
    // but the checker demanded one.
    Named {
        name: "message-of-a-transaction-beside-a-commit",
        drawn: include_str!("message-of-a-transaction-beside-a-commit.json"),
    },
    // The answer to a transaction was lost, and its run released the step before it asked for the
    // transaction again. The message of the transaction was not delivered: the receiver took the next
    // message of the run before it.
    Named {
        name: "message-of-a-transaction-that-was-let-go",
        drawn: include_str!("message-of-a-transaction-that-was-let-go.json"),
    },
    // A run released a permit before it was given. The semaphore took the message that returns the permit
    // before the call that asks for it, so the run held the permit forever.
    Named {
        name: "permit-asked-for-after-it-was-let-go",
        drawn: include_str!("permit-asked-for-after-it-was-let-go.json"),
    },
    // A run released permits before it asked for them. The semaphore was not bound, so the messages that
    // return the permits became dead letters.
    Named { name: "permit-given-back-to-nobody", drawn: include_str!("permit-given-back-to-nobody.json") },
];

impl Named {
    /// The history of this name.
    pub fn of(name: &str) -> Option<Self> {
        NAMED.into_iter().find(|named| named.name == name)
    }

    /// Runs the courses of this history. Returns the first that breaks a law, with its number.
    pub fn failure(&self) -> Option<(u64, Told)> {
        (0..COURSES).map(|number| (number, self.tell(number, false))).find(|(_, told)| !told.violations.is_empty())
    }

    /// Runs one course.
    pub fn tell(&self, course: u64, tracing: bool) -> Told {
        tell_drawn(self.drawn().course(course), tracing)
    }

    fn drawn(&self) -> Drawn {
        serde_json::from_str(self.drawn).expect("a named history is kept as the simulator printed it")
    }
}

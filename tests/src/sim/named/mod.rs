//! Histories that once broke a law, each kept under a name with everything that it drew.
//!
//! A seed draws other parameters as soon as the simulator draws one more; a named history does not. To keep a seed that failed, save what
//! `cargo sim -- --seed S --json` prints beside this file, add a line to [`NAMED`], and say there what went wrong.

use super::{
    drawn::Drawn,
    history::{Told, tell_drawn},
};

/// A history under a name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// What went wrong, in a few words.
    pub name: &'static str,
    drawn: &'static str,
}

/// How many courses of events are run with the parameters of each: the one that failed, and others near it.
pub const COURSES: u64 = 10;

/// All of them.
pub const NAMED: [Named; 10] = [
    // A partition was taken while the store was read for the alarms of the next stretch. The scan then said that all alarms up to its end
    // were known, and an alarm of that partition, overdue, rang only at the next rescan.
    Named {
        name: "alarm-behind-a-scan-that-a-takeover-overtook",
        drawn: include_str!("alarm-behind-a-scan-that-a-takeover-overtook.json"),
    },
    // The answer to a destroying commit was lost, the commit happened after the kernel had looked, and the one sent again was stale. The
    // kernel took it for somebody else's, forgot whom it was to answer, and every repeat of that call waited for the first.
    Named { name: "destroyed-by-its-own-late-commit", drawn: include_str!("destroyed-by-its-own-late-commit.json") },
    // Another owner had taken the partition over and destroyed the entity. The old owner read its rows, found no entity, and read again
    // without end: only an entity that the other owner had written told it of the takeover.
    Named {
        name: "entity-destroyed-by-the-next-owner",
        drawn: include_str!("entity-destroyed-by-the-next-owner.json"),
    },
    // One write held a new generation and the call that terminated it. Its body was never polled; the checker asked for what the body
    // would have left in its state.
    Named {
        name: "generation-terminated-before-its-first-poll",
        drawn: include_str!("generation-terminated-before-its-first-poll.json"),
    },
    // The answer to a commit was lost, and the commit happened after the kernel had looked. The kernel never delivered the message of that
    // commit, so the receiver took the sender's next message before it.
    Named {
        name: "message-of-a-late-commit-overtaken",
        drawn: include_str!("message-of-a-late-commit-overtaken.json"),
    },
    // The answer to a transaction was lost, and its run forgot that it had asked. The run asked again and found the result, but nobody
    // delivered the message of the transaction: the receiver took the next message of the run before it.
    Named {
        name: "message-of-a-lost-transaction-overtaken",
        drawn: include_str!("message-of-a-lost-transaction-overtaken.json"),
    },
    // A transactional step sent a message while another turn of its run sent one. Neither came before the other; the checker said so.
    Named {
        name: "message-of-a-transaction-beside-a-commit",
        drawn: include_str!("message-of-a-transaction-beside-a-commit.json"),
    },
    // The answer to a transaction was lost, and its run let go of the step before the transaction was asked about again. Nobody
    // delivered its message: the receiver took the next message of the run before it.
    Named {
        name: "message-of-a-transaction-that-was-let-go",
        drawn: include_str!("message-of-a-transaction-that-was-let-go.json"),
    },
    // A run let a permit go before it was given. The semaphore took the message that gave it back before the call that asked for it,
    // and the run held the permit for ever.
    Named {
        name: "permit-asked-for-after-it-was-let-go",
        drawn: include_str!("permit-asked-for-after-it-was-let-go.json"),
    },
    // A run dropped permits before they were asked for. Nobody had bound the semaphore, so the messages that gave them back died.
    Named { name: "permit-given-back-to-nobody", drawn: include_str!("permit-given-back-to-nobody.json") },
];

impl Named {
    /// The history of this name.
    pub fn of(name: &str) -> Option<Self> {
        NAMED.into_iter().find(|named| named.name == name)
    }

    /// Runs its courses; the first that broke a law, with its number.
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

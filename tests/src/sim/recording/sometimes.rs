//! Counters of rare paths: a simulator that never takes a path proves nothing about it.

/// Every path that a long run must take.
pub const PATHS: [&str; PATH_COUNT] = [
    "a process was killed",
    "a process was killed by work",
    "a process was killed by a turn",
    "a process ended in order",
    "a key left memory because nothing used it",
    "a partition changed owner",
    "a commit was fenced",
    "a commit was applied and answered with an error",
    "a commit was applied after its error",
    "a commit of a dead process was applied",
    "a store was full",
    "a store was away",
    "a hint was lost",
    "a clock jumped",
    "a process was frozen",
    "a thread was frozen",
    "a call was answered after it was asked again",
    "a call met the wrong owner",
    "a caller left a line",
    "a caller was let in from a line",
    "a caller waited for a gate",
    "a message became a dead letter",
    "a message was tried again",
    "an alarm rang late",
    "a piece of work was retried",
    "a piece of work timed out",
    "a piece of work panicked",
    "a piece of work was stopped",
    "a piece of work ended after it was dropped",
    "a suspect was held back",
    "a suspect was acquitted",
    "a guilty entity was held and mended",
    "a process was dropped",
    "a crash was counted",
    "a suspect was named",
    "an entity was parked",
    "an entity was destroyed",
    "a key was bound again",
    "a batch held several writes",
    "a chain held several turns",
    "a call was refused because it would wait for itself",
    "a call reached others through one",
    "an idempotency key was used for something else",
    "a message was there before its sender's answer",
    "a tick was tried again",
    "a missed second was made up for",
    "a tick was given up",
    "a tick was stopped in flight",
    "a tick was asked for during another",
    "a batch was flushed again",
    "a batch became a dead letter",
    "a dead batch was flushed after all",
    "a buffer was cleared during a flush",
    "a permit went to one who waited",
    "a permit ended with its lease",
    "one who left was forgotten by a semaphore",
    "an item was tried again",
    "an item became a dead letter",
    "a dead item was processed after all",
    "an item held up others in strict order",
    "a delayed item joined the line",
    "a line was longer than its record names",
    "a dedup key was met again",
    "a queue was full",
    "a queue was paused with items in it",
    "a queue was drained",
    "a run was replayed",
    "a run was replayed on ten entries or more",
    "a `#[cancelled]` body was replayed",
    "a race was lost by a step that ran",
    "a run was cancelled while a step of it ran",
    "a step was tried again",
    "code of a body was made and executed again",
    "an event was taken from its queue",
    "an event was taken that was queued before a restart",
    "an event was refused because too many were queued",
    "a run succeeded",
    "a run failed",
    "a run failed with a fault",
    "a run was cancelled",
    "a run was cancelled, and its cleanup failed",
    "a run was terminated",
    "a run panicked",
    "a run waits for what nobody sent",
    "an event was taken although a deadline had passed",
    "a wait timed out",
    "a step was undone",
    "an undo failed for good",
    "a run was updated",
    "a run was restarted",
    "a run was restarted that had ended",
    "a run was restarted from one of its steps",
    "a run went on as another generation",
    "a generation waited for a turn of its own",
    "an event was kept for the next generation",
    "a child ended",
    "a child was let go by its parent",
    "a child went on without its parent",
    "a parent was told that a child succeeded",
    "a parent was told that a child failed",
    "a parent was told that a child was cancelled or terminated",
    "a booking was made",
    "a booking was found again",
    "a booking came too late",
    "a transaction beside all entities was kept",
    "a transaction beside all entities was rolled back",
    "a transaction beside all entities had no owner",
    "nobody knows what became of a transaction",
    "code of a transaction was run again",
    "a run was held",
    "a till answered a run",
    "a run held a permit",
    "an event that nobody took became a dead letter",
    "a wait left its topic at its deadline",
    "an event left a log that was full",
    "an event expired in the queue of a run",
    "an event was discarded with its run",
    "an event went back to a topic that was full",
    "a cancelled run abandoned a step that ran",
];

const PATH_COUNT: usize = 119;

/// How often each path was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sometimes([u64; PATH_COUNT]);

impl Default for Sometimes {
    fn default() -> Self {
        Self([0; PATH_COUNT])
    }
}

impl Sometimes {
    /// Counts a path. Returns `false` if it is not one of [`PATHS`].
    pub fn hit(&mut self, path: &'static str) -> bool {
        let place = PATHS.iter().position(|known| *known == path);
        place.map(|place| self.0[place] += 1).is_some()
    }

    /// Adds the counts of another history.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Each path and how often it was taken.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        PATHS.into_iter().zip(self.0)
    }
}

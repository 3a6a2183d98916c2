//! Generations: the same run begins anew and keeps nothing of the generation before, except unread events
//! (L4, L5).

use bytes::Bytes;
use drystone_runtime::stable_hash;
use serde_json::value::RawValue;

use crate::{
    planted::Bug,
    workflow::{
        Workflow,
        engine::{
            steps::{inputs::Shared, undo::undo_lane},
            turn::{BYTES_MAX, Began, Halt, Turning, beyond, raw},
        },
        record::Record,
        replay::{
            journal::{self, End, Entry},
            live::Live,
            op_id::OpId,
        },
    },
};

/// Returns the name of a step's work: its operation, and from the second generation on the number of the
/// generation. Every generation has a `charge#1`, which neither the kernel nor other systems may take for
/// that of another generation.
pub(in crate::workflow::engine) fn work_name(generation: u32, op: &OpId) -> String {
    if generation == 1 || Bug::LateGenerationTaken.planted() {
        return op.to_string();
    }
    format!("@{generation}/{op}")
}

/// Returns the generation and the operation in the name of a step's work. No operation begins with an `@`.
pub(in crate::workflow::engine) fn of_work(name: &str) -> (u32, OpId) {
    let numbered = name.strip_prefix('@').and_then(|rest| rest.split_once('/'));
    let (generation, op) =
        numbered.and_then(|(generation, op)| Some((generation.parse().ok()?, op))).unwrap_or((1, name));
    (generation, op.into())
}

impl<W: Workflow> Turning<'_, W> {
    /// Continues the run as a new generation, in this commit (L5). A run that was cancelled ends instead
    /// (L3).
    pub(in crate::workflow::engine) fn continue_as(&mut self, live: Live, input: &Bytes) {
        let is_cleanup = live.is_cleanup;
        self.live = Some(live);
        let began = match raw(input) {
            _ if is_cleanup => {
                let reason = "it wanted to go on as a new generation while it was cancelled".to_owned();
                self.end(End::Cancelled(Some(reason)))
            }
            Ok(_) if input.len() > BYTES_MAX => {
                self.end(beyond("run", "bytes in the input of its next generation", BYTES_MAX))
            }
            // The hash stays that of the input which the run was started with (L2).
            Ok(input) => self.begin_generation(self.record.input, input, "workflow.continued"),
            Err(reason) => Err(Halt::Malformed(reason)),
        };
        debug_assert!(began.is_ok(), "a generation begins with what a body has written");
    }

    /// Begins the next generation with this input. This commit removes everything of the current generation,
    /// except unread events.
    pub(in crate::workflow::engine) fn begin_generation(
        &mut self,
        hash: u64,
        input: Box<RawValue>,
        told_as: &'static str,
    ) -> Result<(), Halt> {
        let (now, generation) = (self.seen.now, self.record.generation + 1);
        let seed =
            stable_hash(&[&self.record.seed.to_be_bytes(), &generation.to_be_bytes(), &now.0.to_be_bytes()]) >> 1;
        self.leave_generation(false, Record { generation, ..Record::new(seed, hash, self.seen.moment()) })?;
        let start = Entry::start(generation, now, input);
        self.append(&start)?;
        self.commit.emit(told_as, &[("generation", generation.into())]);
        if self.began != Began::Nothing {
            // A run that continues at once, again and again, must let other entities have their turns.
            self.record.untold = 1;
            self.began = Began::Deferred;
            self.leave_rest();
            return Ok(());
        }
        self.began = Began::Generation;
        self.begin_anew(&start);
        Ok(())
    }

    /// Releases what belongs to this generation, and installs the `next` record. Lanes are dropped as a
    /// whole (K6).
    pub(in crate::workflow::engine) fn leave_generation(
        &mut self,
        keeps_journal: bool,
        next: Record,
    ) -> Result<(), Halt> {
        for pending in self.record.pending.clone() {
            self.let_go(&pending);
        }
        self.permits().release_all();
        self.dues.clear();
        self.shared = Shared::default();
        let mut lanes = Vec::new();
        if !keeps_journal && !self.record.is_brief() {
            lanes.push(journal::lane(self.record.journal()));
        }
        // A generation that ends here is not undone: its effects stand.
        if self.record.undos.rows > 0 {
            lanes.push(undo_lane(self.record.generation));
        }
        self.drop_traces();
        lanes.into_iter().for_each(|lane| self.commit.drop_lane(lane));
        self.live = None;
        let old = std::mem::replace(&mut *self.record, next);
        let record = &mut self.record;
        (record.events, record.queues, record.drops) = (old.events, old.queues, old.drops);
        (record.late, record.paused, record.parent) = (old.late, old.paused, old.parent);
        (record.notify, record.seen, record.owes) = (old.notify, old.seen, old.owes);
        if let Some(paused) = &mut record.paused {
            (paused.runs, paused.asked) = (Vec::new(), [].into());
        }
        if Bug::RestartKeepsWaits.planted() {
            record.pending = old.pending;
        }
        if Bug::EventLostAtContinue.planted() {
            self.drop_events();
        }
        // The next generation begins with the initial state. The old body is gone, and its changes with it.
        *self.commit.state_mut() = Some(W::codec().write(&W::initial()).map_err(Halt::Malformed)?);
        Ok(())
    }

    /// Drops all queued events. The lanes of the queues have another name from then on.
    pub(in crate::workflow::engine) fn drop_events(&mut self) {
        if self.queues().drop_all() {
            self.record.drops += 1;
        }
    }

    /// Puts the start of this generation in the place of the start that was kept.
    pub(in crate::workflow::engine) fn put_start(&mut self, entry: &Entry) -> Result<(), Halt> {
        let body = entry.written().map_err(Halt::Malformed)?;
        if self.record.is_brief() {
            self.record.brief.set(0, &body);
            return Ok(());
        }
        self.commit.put((journal::lane(self.record.journal()), journal::row_key(0)), body);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L5
    #[test]
    fn work_of_another_generation_has_another_name() {
        for (generation, name) in
            [(1, "charge#1"), (2, "@2/charge#1"), (3, "@3/1.0/run:a/b#1"), (10_000, "@10000/!/x#2")]
        {
            let (of, op) = of_work(name);
            assert_eq!((of, work_name(of, &op).as_str()), (generation, name));
        }
    }
}

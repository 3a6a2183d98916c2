//! The progress of running steps, stored in rows so that an attempt after a crash finds it (W10). The record
//! stays as it is.

use bytes::Bytes;
use drystone_runtime::{Name, Next, Range, Row};

use super::{inputs::inputs_lane, transaction::claims_lane};
use crate::{
    Context, Error, decode, encode,
    workflow::{
        Flows, Workflow,
        body::heartbeat::{Heart, Progress},
        engine::{
            Caller, Engine,
            memory::Memory,
            start::only,
            turn::{Halt, Seen, Turned, Turning},
            verbs::known,
        },
        record::pending::Pending,
        replay::op_id::OpId,
    },
};

impl<W, D, A> Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    /// Stores the progress that a step reports. A report of a step that is no longer pending is ignored.
    pub(in crate::workflow::engine) fn beat(
        memory: &mut Memory,
        seen: Seen<'_>,
        body: &[u8],
        caller: Caller,
    ) -> Turned {
        let (generation, op, progress): (u32, OpId, Progress) = decode(body).map_err(Halt::Malformed)?;
        let record = known(memory, seen)?;
        let is_waited_for = record.end.is_none() && record.generation == generation && record.position(&op).is_some();
        if !is_waited_for || !beats::<W>(&op) {
            return only(caller, Bytes::from_static(b"false"));
        }
        let (lane, key) = place(generation, &op);
        let row = Row { lane, key, body: encode(&progress).map_err(Halt::Malformed)? };
        let mut next = only(caller, Bytes::from_static(b"true"))?;
        if let Next::Commit(commit) = &mut next {
            commit.put.push(row);
        }
        Ok(next)
    }
}

impl<W: Workflow> Turning<'_, W> {
    /// Removes the rows of a step that is no longer pending: its progress and its claim.
    pub(in crate::workflow::engine) fn forget_traces(&mut self, pending: &Pending) {
        self.forget_beats(pending);
        self.forget_claim(pending);
    }

    /// Removes the progress of a step that has ended. A row that stays is never read, because no other
    /// operation has its name.
    fn forget_beats(&mut self, pending: &Pending) {
        if pending.step().is_some() && beats::<W>(&pending.op) {
            self.commit.remove_if_room(place(self.record.generation, &pending.op));
        }
    }

    /// Drops the rows of all steps with their lanes, because they may be more than one commit can remove
    /// (K6).
    pub(in crate::workflow::engine) fn drop_traces(&mut self) {
        let (generation, steps) = (self.record.generation, W::SCRIPT.steps);
        let lanes = [
            (self.record.inputs > 0).then(|| inputs_lane(generation)),
            steps.iter().any(|code| code.beats).then(|| beat_lane(generation)),
            self.forgets_many_claims().then(|| claims_lane(generation)),
        ];
        lanes.into_iter().flatten().for_each(|lane| self.commit.drop_lane(lane));
    }
}

/// Whether a step takes a heartbeat.
pub(in crate::workflow::engine) fn beats<W: Workflow>(op: &OpId) -> bool {
    let name = op.function();
    W::SCRIPT.steps.iter().any(|code| code.beats && Some(code.name) == name)
}

/// Returns the lane and the key of a step's progress.
fn place(generation: u32, op: &OpId) -> (Name, Bytes) {
    (beat_lane(generation), Bytes::copy_from_slice(op.as_str().as_bytes()))
}

fn beat_lane(generation: u32) -> Name {
    Name::from(format!("beat/{generation}"))
}

/// Gives an attempt the progress that the attempt before it reported.
pub(in crate::workflow::engine) async fn begin(
    heart: &Heart,
    generation: u32,
    op: &OpId,
    context: &Context,
) -> Result<(), Error> {
    let (lane, key) = place(generation, op);
    let rows = context.rows(Range::at(lane, key.clone())).await?;
    let row = rows.into_iter().find(|row| row.key == key);
    heart.begin(row.and_then(|row| decode(&row.body).ok()));
    Ok(())
}

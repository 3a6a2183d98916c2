//! Restarts: a run begins anew, or from one of its steps (L4).

use drystone_runtime::{Millis, Next};
use serde_json::value::RawValue;

use crate::{
    Error, decode, encode,
    workflow::{
        Flows, RestartError, Restarted, Workflow,
        client::restart::{Asked, Place},
        engine::{
            Caller, Engine,
            memory::Memory,
            turn::{BYTES_MAX, Halt, Seen, Turned, Turning},
            verbs::{entries, known, reply_of},
        },
        record::{Record, inline_journal::Brief},
        replay::{
            ask::canonical_hash,
            journal::{Entry, What},
            live::Live,
            op_id::OpId,
        },
    },
};

impl<W, D, A> Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    pub(in crate::workflow::engine) fn restarted(
        memory: &mut Memory,
        seen: Seen<'_>,
        (body, drops_events): (&[u8], bool),
        caller: Caller,
    ) -> Turned {
        let asked: Asked = decode(body).map_err(Halt::Malformed)?;
        let journal = journal_for(&asked, known(memory, seen)?, seen)?;
        let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
        let generation = turning.record.generation;
        let restarted = turning.restart(asked, &journal, drops_events);
        if restarted.is_err() && turning.record.generation != generation {
            // The new generation has begun already, so nothing of this turn may be kept.
            return restarted.map(|_| Next::nothing());
        }
        let reply = match reply_of(restarted)? {
            Ok(restarted) => Ok(encode(&restarted).map_err(Halt::Malformed)?),
            Err(error) if caller.is_some() => Err(error),
            Err(error) => return Err(Halt::Refuse(error)),
        };
        turning.close(memory, Some((caller, reply)))
    }
}

/// Returns the entries that a restart needs: all of them to find a step, the first for the same input.
fn journal_for((input, place, _): &Asked, record: &Record, seen: Seen<'_>) -> Result<Vec<Entry>, Halt> {
    let until = match (input, place) {
        (_, Some(_)) => record.entries,
        (None, None) => 1,
        (Some(_), None) => return Ok(Vec::new()),
    };
    entries(record, seen, 0, until)
}

/// Returns a typed error for the caller of a restart.
pub(in crate::workflow::engine) fn not_restarted(error: &RestartError) -> Halt {
    encode(error).map_or_else(Halt::Malformed, Halt::Failed)
}

impl<W: Workflow> Turning<'_, W> {
    /// Restarts the run. Errors are found before anything is changed, or nothing of the turn is kept.
    fn restart(
        &mut self,
        (input, place, value): Asked,
        journal: &[Entry],
        drops_events: bool,
    ) -> Result<Restarted, Halt> {
        if let Some((value,)) = value.as_ref().filter(|(value,)| value.get().len() > BYTES_MAX) {
            let reason = format!("the value has {} bytes, more than {BYTES_MAX}", value.get().len());
            return Err(Halt::Refuse(Error::Malformed { verb: "restart_from".to_owned(), reason }));
        }
        match (place, input) {
            (Some(place), _) => {
                let from = self.find(&place, journal)?;
                self.record.paused = None;
                let value = value.map(|(value,)| value);
                self.restart_from(&from, value, journal, drops_events)?;
            }
            (None, Some(input)) => {
                Live::begin::<W>(&self.identity(), input.get().as_bytes(), self.seen.now).map_err(Halt::Malformed)?;
                self.restart_anew(canonical_hash(input.get().as_bytes()), input, drops_events)?;
            }
            (None, None) => {
                let input = journal.first().and_then(Entry::input);
                let input = input.ok_or_else(|| Halt::Park("the journal does not begin with a start".to_owned()))?;
                self.restart_anew(self.record.input, input.to_owned(), drops_events)?;
            }
        }
        Ok(Restarted { generation: self.record.generation })
    }

    fn restart_anew(&mut self, hash: u64, input: Box<RawValue>, drops_events: bool) -> Result<(), Halt> {
        self.record.paused = None;
        if drops_events {
            self.drop_events();
        }
        self.begin_generation(hash, input, "workflow.restarted")?;
        self.go_on()
    }

    /// Finds a step: the `nth` that has ended or is pending. Entries from when the run was ending do not
    /// belong to its body.
    fn find(&self, place: &Place, journal: &[Entry]) -> Result<From, Halt> {
        let is_way_out = |entry: &Entry| {
            matches!(entry.what, What::CancelAsked | What::CancelBegan(_) | What::UndoBegan(_) | What::Ended(_))
        };
        let until = journal.iter().position(is_way_out).unwrap_or(journal.len());
        let is_it = |op: &OpId| op.label() == place.step && !op.is_code() && !op.is_call();
        let is_end = |what: &What| matches!(what, What::Ok(_) | What::Failed(_) | What::Fault(_));
        let ended = journal[..until].iter().enumerate().filter(|(_, entry)| is_end(&entry.what));
        let ended = ended.filter_map(|(index, entry)| {
            let op = entry.op.clone().filter(is_it)?;
            Some(From { kept: index as u64, op, hash: entry.hash })
        });
        let waits = self.record.pending.iter().filter(|pending| pending.step().is_some() && is_it(&pending.op));
        let waits = waits.map(|pending| From { kept: until as u64, op: pending.op.clone(), hash: pending.hash });
        let mut all: Vec<From> = if until < journal.len() { ended.collect() } else { ended.chain(waits).collect() };
        let nth = usize::try_from(place.nth).unwrap_or(usize::MAX);
        if nth == 0 || nth > all.len() {
            let (step, found) = (place.step.clone(), u32::try_from(all.len()).unwrap_or(u32::MAX));
            return Err(not_restarted(&RestartError::NoSuchStep { step, nth: place.nth, found }));
        }
        let from = all.swap_remove(nth - 1);
        let kept = usize::try_from(from.kept).unwrap_or(usize::MAX).min(journal.len());
        self.can_keep(&journal[..kept], journal)?;
        Ok(from)
    }

    /// Restarts from a step. The entries before the step stay where they lie; later ones are no longer read
    /// and are overwritten. The seed and the versions stay those that the entries were recorded with.
    fn restart_from(
        &mut self,
        from: &From,
        value: Option<Box<RawValue>>,
        journal: &[Entry],
        drops_events: bool,
    ) -> Result<(), Halt> {
        let old = &self.record;
        let next = Record {
            generation: old.generation + 1,
            seed: old.seed,
            mark: Some(self.seen.mark),
            input: old.input,
            started_at: self.seen.now.0,
            entries: from.kept,
            brief: if old.is_brief() { old.brief.kept(from.kept) } else { Brief::default() },
            bytes: bytes_of(journal, from.kept)?,
            untold: from.kept,
            kept: from.kept,
            lane: old.journal(),
            versions: old.versions.clone(),
            ..Record::default()
        };
        let generation = next.generation;
        self.leave_generation(true, next)?;
        if drops_events {
            self.drop_events();
        }
        let kept = usize::try_from(from.kept).unwrap_or(usize::MAX).min(journal.len());
        let mut entries = journal[..kept].to_vec();
        if let Some(first) = entries.first_mut()
            && let Some(input) = first.input()
        {
            *first = Entry::start(generation, Millis(first.at), input.to_owned());
            self.put_start(first)?;
        }
        if let Some(value) = value {
            let entry = Entry::new(&from.op, from.hash, self.seen.now, What::Ok(value));
            self.commit.put_all(self.record.add_entry(entry.written().map_err(Halt::Malformed)?));
            self.record.untold += 1;
            entries.push(entry);
        }
        self.commit.emit("workflow.restarted", &[("generation", generation.into())]);
        self.tell_all(&entries)?;
        if let Some((bytes, limit)) = self.keeps_too_much() {
            let error = RestartError::TooMuch { bytes: bytes as u64, limit: limit as u64 };
            return Err(not_restarted(&error));
        }
        self.go_on()
    }

    /// The kept entries did not fit: other code will be given all of them again, and nothing that this code
    /// asked for is kept.
    pub(in crate::workflow::engine) fn keep_from_the_start(&mut self) {
        self.record.untold = self.record.entries;
        for pending in std::mem::take(&mut self.record.pending) {
            self.forget_input(&pending);
        }
        // No semaphore was asked for these permits yet.
        self.record.permits.clear();
        *self.commit.state_mut() = W::codec().write(&W::initial()).ok();
    }
}

/// Returns how many bytes the first entries have.
fn bytes_of(journal: &[Entry], kept: u64) -> Result<u64, Halt> {
    let kept = journal.iter().take(usize::try_from(kept).unwrap_or(usize::MAX));
    let bytes: Result<Vec<u64>, String> = kept.map(|entry| Ok(entry.written()?.len() as u64)).collect();
    Ok(bytes.map_err(Halt::Malformed)?.into_iter().sum())
}

/// The step to restart from: how many entries are kept, and the operation that was asked for behind them.
struct From {
    kept: u64,
    op: OpId,
    hash: u64,
}

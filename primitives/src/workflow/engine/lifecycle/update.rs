//! Updates: calls that change the state which the body sees (L8). An update is tried on a copy first. An
//! accepted update is recorded like everything else that is delivered to the body, and is answered with that
//! commit.

use bytes::Bytes;
use drystone_runtime::{Error, Next};

use crate::workflow::{
    Flows, Workflow,
    engine::{
        Caller, Engine,
        events::ready::ready,
        memory::Memory,
        turn::{BYTES_MAX, Began, Halt, Seen, Turned, Turning, raw},
    },
    replay::{
        journal::{Entry, What},
        update::{Tried, Update},
    },
};

/// The status of a run that continues as one generation after another and waits for nothing: no generation
/// has a state to change.
const BETWEEN: &str = "between two generations";

impl<W, D, A> Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    pub(in crate::workflow::engine) fn updated(
        memory: &mut Memory,
        seen: Seen<'_>,
        (name, body): (&str, &Bytes),
        caller: Caller,
    ) -> Turned {
        ready(memory, seen)?;
        let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
        turning.takes_updates(name)?;
        turning.wake()?;
        // A deferred generation begins in this turn.
        turning.tell_untold()?;
        // The code may not fit the run. The run is then stopped, and the stop is committed.
        if let Err(refused) = turning.takes_updates(name) {
            return match (caller, refused) {
                (Some(_), Halt::Refuse(error)) => turning.close(memory, Some((caller, Err(error)))),
                (_, refused) => Err(refused),
            };
        }
        let reply = match turning.update(name, body)? {
            Ok(answer) => Ok(answer),
            Err(error) if caller.is_some() => Err(error),
            Err(error) => return Err(Halt::Refuse(error)),
        };
        turning.close(memory, Some((caller, reply)))
    }
}

impl<W: Workflow> Turning<'_, W> {
    /// Checks that the run has a body that would see the update.
    fn takes_updates(&self, verb: &str) -> Result<(), Halt> {
        let is_between = self.began == Began::Deferred;
        if self.record.goes_on() && !self.record.winds_down() && !is_between {
            return Ok(());
        }
        let status = if is_between { BETWEEN.to_owned() } else { self.record.phase().word().to_owned() };
        Err(Halt::Refuse(Error::Refused { key: self.seen.key.clone(), verb: verb.to_owned(), status }))
    }

    fn update(&mut self, name: &str, body: &Bytes) -> Result<Result<Bytes, Error>, Halt> {
        let Some(live) = &self.live else { return Err(Halt::Park("there is no body to update".to_owned())) };
        let update = Update { name: name.to_owned(), input: raw(body).map_err(Halt::Malformed)? };
        let (tried, bytes) = update.tried::<W>(&live.core).map_err(Halt::Malformed)?;
        let answer = match tried {
            Tried::Taken(answer) => answer,
            Tried::Refused(error) => return Ok(Err(Error::Failed(error))),
            Tried::Malformed(reason) => return Err(Halt::Malformed(reason)),
            Tried::Panicked(message) => {
                return Err(Halt::Refuse(Error::Panicked { key: self.seen.key.clone(), message }));
            }
        };
        let entry = Entry::of_run(self.seen.now, What::Updated(update));
        if bytes > BYTES_MAX || entry.written().is_ok_and(|entry| entry.len() > BYTES_MAX) {
            return Err(Halt::Malformed(format!(
                "what it brings, or the state that it leaves, is longer than {BYTES_MAX} bytes"
            )));
        }
        if let Some((what, limit)) = self.record.journal_limit() {
            return Err(Halt::Malformed(format!("the journal is full: there are at most {limit} {what}")));
        }
        self.happened(&entry)?;
        self.go_on()?;
        Ok(Ok(answer))
    }
}

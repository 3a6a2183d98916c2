//! One turn: the handler gets an input, and its decision is carried out.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use super::{
    Resident, origin_of,
    source::{End, Origin, Source},
    work::Watched,
};
use crate::{
    Borrow, Definition, Error, Next, Outcome, Parked, Work,
    kernel::{
        state::{
            effects::{Effects, Ring},
            shared::Shared,
        },
        util::{backoff::backoff, permit::Place},
    },
};

impl Resident {
    pub(crate) fn turn(&mut self, mut source: Source, at: &Shared, out: &mut Effects) {
        let definition = match self.definition_for(&source, at) {
            Ok(Some(definition)) => definition,
            // Nothing is bound any more, so an input for the old entity has no meaning.
            Ok(None) => return,
            Err(Error::UnknownDefinition { .. }) if self.tip.is_some() => return self.park(Parked::Unregistered, at),
            Err(error) => return self.refused(source, &error, at, out),
        };
        out.turns += 1;
        self.remember_what_was_produced(&mut source);
        let input = source.input();
        out.doing(&self.key, &input);
        let (now, rows) = (at.now(), self.rows());
        let next = guarded(|| definition.handler.turn(&mut self.hot, &self.key, self.tip.as_ref(), &rows, &input, now));
        match next {
            Ok(Next::Commit(commit)) => self.stack(source, commit, &definition, at, out),
            Ok(Next::Run(work)) => {
                let work = Work { mark: work.mark.or_else(|| source.mark(at)), ..work };
                self.run_own(source, work, &definition, at, out);
            }
            Ok(Next::Read(ranges)) => self.read_rows_for(source, ranges),
            Ok(Next::Refuse(error)) => self.refused(source, &error, at, out),
            Ok(Next::Park(reason)) if self.tip.is_some() => {
                self.put_back(source);
                self.park(Parked::Undecodable(reason), at);
            }
            // There is no record to park, so the fault is in the input.
            Ok(Next::Park(reason)) => {
                let verb = input.name().to_string();
                self.refused(source, &Error::Malformed { verb, reason }, at, out);
            }
            Err(message) => self.panicked(source, message, at, out),
        }
    }

    /// Takes back the memory that work was started with. Code that does not borrow exclusively was started
    /// without memory, so its memory is used only if there is none here.
    fn remember_what_was_produced(&mut self, source: &mut Source) {
        if let Source::End(End { outcome: Outcome::Ok(produced), work, .. }) = source
            && !produced.hot.is_empty()
            && (work.borrow == Borrow::Exclusive || self.hot.is_empty())
        {
            self.hot = std::mem::take(&mut produced.hot);
        }
    }

    /// Returns the definition that takes the turn; `None` if the key has no entity and the input binds
    /// none.
    fn definition_for(&self, source: &Source, at: &Shared) -> Result<Option<Arc<Definition>>, Error> {
        let asked = match source {
            Source::Call(pending) | Source::End(End { origin: Origin::Call(pending), .. }) => Some(&pending.definition),
            Source::Message(letter) | Source::End(End { origin: Origin::Message(letter), .. }) => {
                Some(&letter.definition)
            }
            _ => None,
        };
        match (&self.tip, asked) {
            (Some(entity), Some(asked)) if entity.definition != *asked => Err(Error::TypeMismatch {
                key: self.key.clone(),
                bound: entity.definition.to_string(),
                requested: asked.to_string(),
            }),
            (Some(entity), _) => at.registry.get(&entity.definition).cloned().map(Some),
            (None, Some(asked)) => at.registry.get(asked).cloned().map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Runs the code of a call or a message. Pure code is polled here and now. Other code starts when the
    /// state that it would see is durable (E4).
    fn run_own(&mut self, source: Source, work: Work, definition: &Arc<Definition>, at: &Shared, out: &mut Effects) {
        if work.pure {
            return self.run_pure(source, work, definition, at, out);
        }
        if self.state_is_durable() {
            return self.start(work, origin_of(source), definition, at, out);
        }
        self.hot.clear();
        let waits = match source {
            Source::Call(mut pending) => {
                pending.impure = true;
                Source::Call(pending)
            }
            Source::Message(letter) => {
                self.inbox.note_impure(letter.id);
                Source::Message(letter)
            }
            other => other,
        };
        self.put_back(waits);
    }

    fn run_pure(&mut self, source: Source, work: Work, definition: &Arc<Definition>, at: &Shared, out: &mut Effects) {
        let waiting = source.pending().map(|pending| pending.chain.clone()).unwrap_or_default();
        let (cx, pulse) = self.context(&work, &waiting, definition, at);
        let started = guarded(|| definition.handler.run(&mut self.hot, self.tip.as_ref(), &work, cx));
        let mut future = match started {
            Ok(future) => future,
            Err(message) => return self.panicked(source, message, at, out),
        };
        match guarded(|| future.as_mut().poll(&mut Context::from_waker(Waker::noop()))) {
            Err(message) => self.panicked(source, message, at, out),
            Ok(Poll::Ready(outcome)) => {
                let end = End { work, outcome, origin: origin_of(source), attempts: 0 };
                self.turn(Source::End(end), at, out);
            }
            // The code waits for something: it leaves the turn and cannot be run again from its input.
            Ok(Poll::Pending) => {
                let code = Watched { future, pulse, driver: at.driver.clone(), pace: None };
                let place = Place::beyond_the_limit(&at.places);
                self.launch(Work { pure: false, ..work }, origin_of(source), code, place, at, out);
            }
        }
    }

    /// Handles a turn that was refused: a caller gets the error; a message is retried or becomes a dead
    /// letter.
    pub(crate) fn refused(&mut self, source: Source, error: &Error, at: &Shared, out: &mut Effects) {
        self.hot.clear();
        match source {
            Source::Call(_) | Source::End(End { origin: Origin::Call(_), .. }) => {
                self.answer_error(source, error, at, out);
            }
            Source::Message(letter) | Source::End(End { origin: Origin::Message(letter), .. }) => {
                self.message_failed(letter, error, at, out);
            }
            other => self.turn_failed(other, &error.to_string(), at, out),
        }
    }

    fn panicked(&mut self, source: Source, message: String, at: &Shared, out: &mut Effects) {
        tracing::error!(key = %self.key, input = %source.input().name(), message, "a turn panicked");
        self.hot.clear();
        let key = self.key.clone();
        match source {
            Source::Call(pending) | Source::End(End { origin: Origin::Call(pending), .. }) => {
                out.answers.push((pending, Err(Error::Panicked { key, message })));
            }
            Source::Message(letter) | Source::End(End { origin: Origin::Message(letter), .. }) => {
                // Retried like any failure: the cause of a panic may be temporary.
                self.message_failed(letter, &Error::Failed(message.into()), at, out);
            }
            other => self.turn_failed(other, &message, at, out),
        }
    }

    /// Handles the failure of a turn without a caller: it is retried, then the entity is parked. No input
    /// is dropped silently (A3).
    fn turn_failed(&mut self, mut source: Source, why: &str, at: &Shared, out: &mut Effects) {
        let failures = self.inputs.count_failure(&mut source);
        if failures >= at.options.attempts_max {
            self.inputs.reset_failures();
            return self.park(Parked::Poisoned(format!("its turn failed {failures} times: {why}")), at);
        }
        let (first, last) = at.options.retry;
        let when = at.driver.monotonic() + backoff(first, last, failures, at.driver.random());
        self.inputs.retry_at(when, source);
        out.timers.push((when, Ring::Again));
    }

    /// Returns an input to its place, to be handled next.
    pub(crate) fn put_back(&mut self, source: Source) {
        match source {
            Source::Call(_) | Source::Message(_) => self.queue.put_first(source),
            Source::End(end) => self.inputs.put_end_first(end),
            Source::Alarm(_) => self.inputs.ring(),
            Source::Gone(ticket) => self.inputs.put_gone_first(ticket),
            // A change is noticed again by itself, and the kernel's own change is no input.
            Source::Changed | Source::Kernel => {}
        }
    }
}

/// Returns how a verb borrows the struct. A kind that panics here gets the verb as a turn, and panics
/// there.
pub(crate) fn borrow_of(definition: &Definition, verb: &str) -> Borrow {
    guarded(|| definition.handler.borrow(verb)).unwrap_or(Borrow::None)
}

/// Runs code of a kind or of the author. A panic becomes an error with its message (E6).
pub(crate) fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| panic_message(&*panic))
}

/// Returns the message of a panic, for handlers that catch panics of the author's code themselves.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}

/// Polls a future of the author's. A panic becomes an outcome.
pub(crate) fn poll_guarded(
    future: &mut std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>>,
    context: &mut Context<'_>,
) -> Poll<Outcome> {
    guarded(|| future.as_mut().poll(context)).unwrap_or_else(|message| Poll::Ready(Outcome::Panicked(message)))
}

//! Work: it starts after its commit is durable, is dropped when it is no longer listed, and ends once.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::{
    Resident,
    parts::{admission::ONE_AT_A_TIME, chain::Link},
    source::{End, Origin, Source},
    turn::{guarded, poll_guarded},
};
use crate::{
    Borrow, Cx, Definition, Driver, Error, Hot, Key, Limit, Outcome, Version, Work,
    driver::Handle,
    kernel::{
        api::pending_call::Pending,
        state::{
            effects::{Effects, Ring},
            pace::Pace,
            shared::{Shared, drop_guarded},
        },
        util::{permit::Place, pulse::Pulse},
    },
    planted::Bug,
};

/// A piece of work that is running. Dropping this drops the code.
pub(crate) struct Running {
    pub(crate) run: u64,
    pub(crate) work: Work,
    pub(crate) origin: Origin,
    since: Duration,
    pulse: Arc<Pulse>,
    _task: Handle,
    _place: Place,
}

impl Running {
    /// Takes out the caller that waits for the run, if there is one.
    pub(crate) fn take_caller(&mut self) -> Option<Pending> {
        match std::mem::replace(&mut self.origin, Origin::Listed) {
            Origin::Call(pending) | Origin::Read(pending) => Some(pending),
            Origin::Listed | Origin::Message(_) => None,
        }
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Running").field("run", &self.run).field("work", &self.work.id).finish_non_exhaustive()
    }
}

impl Resident {
    /// Whether the struct is lent: exclusive code is running, or it has ended and the entity has not taken
    /// its result yet, because that turn waits for rows or for a retry. Code that borrowed the struct now
    /// would miss that result and overwrite it.
    pub(crate) fn is_lent(&self) -> bool {
        self.work.runs_exclusively() || !Bug::EndNotAwaited.planted() && self.inputs.has_exclusive_end()
    }

    /// Whether the author's struct is stored as it is at the tip.
    pub(crate) fn state_is_durable(&self) -> bool {
        self.commits.state_is_durable()
    }

    /// Starts work that is listed and not running; drops listed work that is no longer listed.
    pub(crate) fn tend_work(&mut self, at: &Shared, out: &mut Effects) {
        if !self.work.is_to_tend() {
            return;
        }
        self.work.drop_unlisted();
        if !self.may_start_work(at) {
            return;
        }
        let Some(definition) = self.committed.as_ref().and_then(|entity| at.registry.get(&entity.definition).ok())
        else {
            return;
        };
        let definition = definition.clone();
        for work in self.to_start() {
            if self.may_borrow(&work) && self.is_named(&work, at) {
                self.start(work, Origin::Listed, &definition, at, out);
            }
        }
        let is_tended = self.to_start().is_empty();
        self.work.set_tended(is_tended);
    }

    /// Returns work that is listed, is not running and has not ended. If a later list is on its way with a
    /// commit, work missing from that list is left out: it has ended, or is not wanted any more.
    fn to_start(&self) -> Vec<Work> {
        let later = self.commits.lists().next();
        self.work.to_start(self.ending(), later)
    }

    fn may_start_work(&self, at: &Shared) -> bool {
        let parked = self.tip.as_ref().is_none_or(|entity| entity.parked.is_some());
        self.is_warm
            && !parked
            && self.admission.may_run()
            && !at.is_closing()
            && self.lease.is_valid(at.driver.monotonic())
    }

    /// Whether the piece is running, or has ended and its end is not settled yet. Each (work, attempt) ends
    /// once.
    pub(crate) fn is_under_way(&self, work: &Work) -> bool {
        self.work
            .running_listed()
            .chain(self.ending())
            .any(|other| other.id == work.id && other.attempt == work.attempt)
    }

    /// Returns listed work that has ended and whose end is not settled yet.
    fn ending(&self) -> impl Iterator<Item = &Work> {
        let stacked = self.commits.links().filter_map(|link| match &link.source {
            Source::End(end) => Some(end),
            _ => None,
        });
        let ends = self.inputs.all_ends().chain(stacked);
        ends.filter(|end| matches!(end.origin, Origin::Listed)).map(|end| &end.work)
    }

    /// Whether the piece may borrow the struct now. Listed work and calls alternate: neither may starve the
    /// other (E3).
    fn may_borrow(&self, work: &Work) -> bool {
        if work.borrow != Borrow::Exclusive {
            return true;
        }
        // Calls wait for work that may have left a record (W6). Such work must not wait for calls: both
        // would wait forever.
        let goes_first = work.goes_first && self.work.may_have_left();
        let calls_first = !self.work.calls_went_last() && !goes_first && self.queue.has_exclusive_call();
        !self.is_lent() && self.state_is_durable() && !calls_first
    }

    /// Whether the piece may start. After two crashes, work runs one piece at a time, and each piece is
    /// named in the store before it starts (W2).
    fn is_named(&mut self, work: &Work, at: &Shared) -> bool {
        let Some(tip) = &self.tip else { return false };
        if tip.crashes.deaths() < ONE_AT_A_TIME {
            return true;
        }
        if self.work.runs_listed() || self.inputs.has_ends() {
            return false;
        }
        if !self.commits.is_empty() {
            return false;
        }
        let suspect =
            tip.suspect.clone().filter(|suspect| self.work.listed().iter().any(|listed| listed.id == *suspect));
        match suspect {
            Some(suspect) => suspect == work.id,
            None => {
                // Cap the count for the new suspect: the deaths beyond it were held against a piece that is
                // no longer listed.
                let suspect = work.id.clone();
                self.stack_own(at, Link::kernel(), |entity| {
                    entity.suspect = Some(suspect);
                    entity.crashes = entity.crashes.at_most(ONE_AT_A_TIME);
                });
                false
            }
        }
    }

    /// Runs a piece of work on the durable state.
    pub(crate) fn start(
        &mut self,
        work: Work,
        origin: Origin,
        definition: &Arc<Definition>,
        at: &Shared,
        out: &mut Effects,
    ) {
        let chain = match &origin {
            Origin::Call(pending) | Origin::Read(pending) => pending.chain.clone(),
            Origin::Listed | Origin::Message(_) => Arc::new([]),
        };
        let Some(place) = Place::take(&at.places, at.options.work_max) else {
            return self.no_place(origin, out);
        };
        let (cx, pulse) = self.context(&work, &chain, definition, at);
        // While turns are not durable, the memory belongs to the tip, but the work runs on the durable
        // entity.
        let ahead = !self.commits.is_empty();
        let (mut fresh, entity) = (Hot::default(), self.committed.as_ref());
        let hot = if ahead || work.borrow != Borrow::Exclusive { &mut fresh } else { &mut self.hot };
        match guarded(|| definition.handler.run(hot, entity, &work, cx)) {
            Ok(future) => {
                let pace = pace_of(&work, &origin, definition, at);
                // A visit starts a limited number of pieces here, to leave other keys their turn.
                let has_time = out.started < at.options.turns_per_visit as u64;
                let is_quick = has_time && pace.as_ref().is_some_and(|pace| pace.is_quick(at.options.quick_habit));
                let code = Watched { future, pulse, driver: at.driver.clone(), pace };
                if is_quick {
                    self.poll_here(work, code, place, at, out);
                } else {
                    self.launch(work, origin, code, place, at, out);
                }
            }
            Err(message) => {
                let end = End { work, outcome: Outcome::Panicked(message), origin, attempts: 0 };
                self.inputs.add_end(end);
            }
        }
    }

    /// Polls a listed piece of work on this thread, where it probably ends at its first poll. If it does
    /// not end, it continues as a task like all other work.
    fn poll_here(&mut self, work: Work, mut code: Watched, place: Place, at: &Shared, out: &mut Effects) {
        if let Some(slot) = &out.thread {
            slot.doing(&self.key, work.id.name());
        }
        match Pin::new(&mut code).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                out.started += 1;
                drop_guarded(code);
                self.inputs.add_end(End { work, outcome, origin: Origin::Listed, attempts: 0 });
            }
            Poll::Pending => self.launch(work, Origin::Listed, code, place, at, out),
        }
    }

    pub(crate) fn launch(
        &mut self,
        work: Work,
        origin: Origin,
        code: Watched,
        place: Place,
        at: &Shared,
        out: &mut Effects,
    ) {
        let (run, now) = (at.next_number(), at.driver.monotonic());
        let pulse = code.pulse.clone();
        out.timers.extend(work.timeout.map(|limit| (now + limit, Ring::TimedOut(run))));
        out.timers.extend(work.silence.map(|limit| (now + limit, Ring::Silent(run))));
        out.started += 1;
        at.watch(run, &pulse);
        let task = at.spawn_run(run, self.key.clone(), work.clone(), code);
        self.work.add(Running { run, work, origin, since: now, pulse, _task: task, _place: place });
    }

    /// Handles work for which no place is free: a call is refused, a message returns to the queue, and
    /// listed work is started when a place is free.
    fn no_place(&mut self, origin: Origin, out: &mut Effects) {
        let error = Err(Error::Overloaded { what: Limit::Work });
        match origin {
            Origin::Call(pending) | Origin::Read(pending) => out.answers.push((pending, error)),
            Origin::Message(letter) => {
                self.inbox.note_impure(letter.id);
                self.queue.put_first(Source::Message(letter));
            }
            Origin::Listed => {}
        }
        out.wants_work_place = true;
    }

    pub(crate) fn work_ended(&mut self, run: u64, work: Work, outcome: Outcome, at: &Shared, out: &mut Effects) {
        let Some(running) = self.work.take(run) else {
            if Bug::LateEndAccepted.planted() && self.tip.is_some() {
                self.inputs.add_end(End { work, outcome, origin: Origin::Listed, attempts: 0 });
            }
            out.late_ends += 1;
            return;
        };
        match running.origin {
            Origin::Read(pending) => {
                let limit = at.options.payload_bytes_max;
                let reply = read_reply(outcome, &self.key, &pending.verb, limit);
                out.answers.push((pending, reply));
            }
            origin => self.inputs.add_end(End { work: running.work, outcome, origin, attempts: 0 }),
        }
    }

    /// Ends the attempt without waiting for its code to yield.
    pub(crate) fn give_up(&mut self, run: u64, outcome: Outcome) {
        let Some(running) = self.work.take(run) else { return };
        match running.origin {
            Origin::Read(pending) => pending.refuse(Error::Deadline { key: self.key.clone() }),
            origin => self.inputs.add_end(End { work: running.work, outcome, origin, attempts: 0 }),
        }
    }

    /// Ends the run if its timeout has passed. The time in which the run waited for rows from the store
    /// does not count.
    pub(crate) fn check_timeout(&mut self, run: u64, at: &Shared, out: &mut Effects) {
        let Some(running) = self.work.find(run) else { return };
        let Some(limit) = running.work.timeout else { return };
        let now = at.driver.monotonic();
        let until = running.since + limit + running.pulse.has_read_for(now);
        if now >= until {
            self.give_up(run, Outcome::TimedOut);
        } else {
            out.timers.push((until, Ring::TimedOut(run)));
        }
    }

    pub(crate) fn check_silence(&mut self, run: u64, at: &Shared, out: &mut Effects) {
        let Some(running) = self.work.find(run) else { return };
        let Some(limit) = running.work.silence else { return };
        let until = Duration::from_millis(running.pulse.last.load(Ordering::Relaxed)) + limit;
        if at.driver.monotonic() >= until {
            self.give_up(run, Outcome::Silent);
        } else {
            out.timers.push((until, Ring::Silent(run)));
        }
    }

    /// Builds the context that the code of a piece of work gets, and the record of its signs of life.
    pub(crate) fn context(
        &self,
        work: &Work,
        waiting: &[Key],
        definition: &Definition,
        at: &Shared,
    ) -> (Cx, Arc<Pulse>) {
        let entity = self.committed.as_ref().or(self.tip.as_ref());
        let monotonic = at.driver.monotonic();
        let pulse = Arc::new(Pulse::new(self.key.clone(), work.id.clone(), at.driver.clone(), monotonic));
        let chain = waiting.iter().chain([&self.key]).cloned().collect();
        let cx = Cx {
            key: self.key.clone(),
            definition: definition.name.clone(),
            id: entity.map(|entity| entity.id),
            work: work.id.clone(),
            attempt: work.attempt,
            mark: work.mark,
            now: at.time.at(monotonic),
            fence: entity.map_or(Version::of(self.lease.epoch, 0), |entity| entity.version),
            owned: (self.lease.partition, self.lease.epoch),
            port: at.port(),
            chain,
            pulse: pulse.clone(),
        };
        (cx, pulse)
    }
}

/// Returns the pace of this definition's work, if the piece may be polled where it is started. Code that
/// borrows the struct may not: it must start after all dropped code has gone, which the async runtime
/// ensures (E3).
fn pace_of(work: &Work, origin: &Origin, definition: &Definition, at: &Shared) -> Option<Arc<Pace>> {
    let may_stay = matches!(origin, Origin::Listed) && work.borrow == Borrow::None;
    may_stay.then(|| at.pace(&definition.name)).flatten()
}

fn read_reply(outcome: Outcome, key: &Key, verb: &str, limit: usize) -> crate::Reply {
    match outcome {
        Outcome::Ok(produced) if produced.value.len() > limit => {
            Err(Error::TooLarge { what: Limit::PayloadBytes, found: produced.value.len(), limit })
        }
        Outcome::Ok(produced) => Ok(produced.value),
        Outcome::Failed(error) => Err(Error::Failed(error)),
        Outcome::Refused(refusal) => Err(Error::Malformed { verb: verb.to_owned(), reason: refusal.to_string() }),
        Outcome::Panicked(message) => Err(Error::Panicked { key: key.clone(), message }),
        Outcome::TimedOut | Outcome::Silent => Err(Error::Deadline { key: key.clone() }),
    }
}

/// The author's future. Its polls are timed and its panics are caught.
pub(crate) struct Watched {
    pub(crate) future: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) driver: Arc<dyn Driver>,
    /// Records the first poll.
    pub(crate) pace: Option<Arc<Pace>>,
}

impl Future for Watched {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let began = self.driver.monotonic();
        self.pulse.polling_since.store(began.as_millis() as u64 + 1, Ordering::Relaxed);
        let polled = poll_guarded(&mut self.future, context);
        self.pulse.polling_since.store(0, Ordering::Relaxed);
        if let Some(pace) = self.pace.take() {
            pace.saw(&polled, self.driver.monotonic().saturating_sub(began));
        }
        polled
    }
}

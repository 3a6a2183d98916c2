//! Work: started after its commit is durable, dropped when no longer listed, ended once.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::{
    body::Body,
    chain::{Chain, Link},
    effects::{Effects, Ring},
    pace::Pace,
    pending::Pending,
    place::Place,
    pulse::Pulse,
    seating::ONE_AT_A_TIME,
    shared::{Shared, drop_guarded},
    source::{End, Origin, Source},
    sparse::Sparse,
    turning::{guarded, poll_guarded},
};
use crate::{
    Borrow, Cx, Definition, Driver, Error, Hot, Key, Limit, Outcome, Version, Work, WorkId, driver::Handle,
    planted::Bug,
};

/// A piece of work that is running. Dropping it drops the code.
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
    /// The caller who waits for it.
    pub(crate) fn take_caller(&mut self) -> Option<Pending> {
        match std::mem::replace(&mut self.origin, Origin::Listed) {
            Origin::Call(pending) | Origin::Read(pending) => Some(pending),
            Origin::Listed | Origin::Letter(_) => None,
        }
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Running").field("run", &self.run).field("work", &self.work.id).finish_non_exhaustive()
    }
}

impl Body {
    /// Whether code that borrows the struct exclusively is running, or has ended and what it left is not taken yet: that
    /// turn may wait for rows, or for another try. Whoever borrowed the struct now would not see it, and undo it.
    pub(crate) fn is_lent(&self) -> bool {
        let exclusive = |work: &Work| work.borrow == Borrow::Exclusive;
        let ended = |source: &Source| matches!(source, Source::End(end) if exclusive(&end.work));
        self.running.iter().any(|running| exclusive(&running.work))
            || !Bug::EndNotAwaited.planted()
                && (self.ends.iter().any(|end| exclusive(&end.work))
                    || self.later.iter().any(|(_, source)| ended(source)))
    }

    /// Whether the author's struct is in the store as it is at the tip.
    pub(crate) fn state_is_durable(&self) -> bool {
        let changes = |chain: &Chain| chain.changes_state;
        !changes(&self.chain) && !self.flying.as_ref().is_some_and(|(flying, _)| changes(flying))
    }

    /// Starts what is listed and not running, drops what runs and is not listed.
    pub(crate) fn tend_work(&mut self, at: &Shared, out: &mut Effects) {
        // If it is to be listed again, what was listed before may have ended.
        if self.relist || self.is_tended {
            return;
        }
        self.drop_unlisted();
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
        self.is_tended = self.to_start().is_empty();
    }

    fn drop_unlisted(&mut self) {
        if self.running.is_empty() {
            return;
        }
        let listed = Named::of(self.listed.iter());
        self.running.retain(|running| !matches!(running.origin, Origin::Listed) || listed.has(&running.work));
    }

    /// What is listed, does not run, and has not ended. A later list may be on its way with a commit: what is not in that any more has
    /// ended meanwhile, or is not wanted.
    fn to_start(&self) -> Vec<Work> {
        if self.listed.is_empty() {
            return Vec::new();
        }
        let under_way = Named::of(self.under_way());
        let later = self.chain.listed.as_ref().or_else(|| self.flying.as_ref()?.0.listed.as_ref());
        let later = later.map(|listed| Named::of(listed.iter()));
        let is_new = |work: &&Work| !under_way.has(work) && later.as_ref().is_none_or(|later| later.has(work));
        self.listed.iter().filter(is_new).cloned().collect()
    }

    fn may_start_work(&self, at: &Shared) -> bool {
        let parked = self.tip.as_ref().is_none_or(|entity| entity.parked.is_some());
        self.is_warm
            && !parked
            && self.seat.is_taken()
            && !at.is_closing()
            && self.lease.is_valid(at.driver.monotonic())
    }

    /// Running, or ended and its end not settled yet: (work, attempt) ends once.
    pub(crate) fn is_under_way(&self, work: &Work) -> bool {
        self.under_way().any(|other| other.id == work.id && other.attempt == work.attempt)
    }

    fn under_way(&self) -> impl Iterator<Item = &Work> {
        let running = self.running.iter().map(|running| (&running.origin, &running.work));
        let ends = self.ends.iter().map(|end| (&end.origin, &end.work));
        let flying = self.flying.iter().flat_map(|(flying, _)| &flying.links);
        let links = self.chain.links.iter().chain(flying).map(|link| &link.source);
        let sources = self.later.iter().map(|(_, source)| source).chain(links);
        let ended = sources.filter_map(|source| match source {
            Source::End(End { work, origin, .. }) => Some((origin, work)),
            _ => None,
        });
        let all = running.chain(ends).chain(ended);
        all.filter(|(origin, _)| matches!(origin, Origin::Listed)).map(|(_, work)| work)
    }

    /// The struct goes to listed work and to calls by turns, so that neither starves the other (E3).
    fn may_borrow(&self, work: &Work) -> bool {
        if work.borrow != Borrow::Exclusive {
            return true;
        }
        let waits = |source: &Source| matches!(source, Source::Call(pending) if pending.borrow == Borrow::Exclusive);
        // Those calls wait for what may have left a record (W6): such work must not wait for them.
        let goes_first = work.goes_first && self.may_have_left;
        let calls_first = !self.calls_went_last && !goes_first && self.queue.iter().any(waits);
        !self.is_lent() && self.state_is_durable() && !calls_first
    }

    /// After two crashes work runs one piece at a time, and each is named in the store before it starts (W2).
    fn is_named(&mut self, work: &Work, at: &Shared) -> bool {
        let Some(tip) = &self.tip else { return false };
        if tip.crashes.deaths() < ONE_AT_A_TIME {
            return true;
        }
        if self.running.iter().any(|running| matches!(running.origin, Origin::Listed)) || !self.ends.is_empty() {
            return false;
        }
        if !self.chain.is_empty() || self.flying.is_some() {
            return false;
        }
        let suspect = tip.suspect.clone().filter(|suspect| self.listed.iter().any(|listed| listed.id == *suspect));
        match suspect {
            Some(suspect) => suspect == work.id,
            None => {
                // What it is held to account for begins here: the crashes before were another's, which is listed no more.
                let suspect = work.id.clone();
                self.stack_own(at, Link::kernel(), |entity| {
                    entity.suspect = Some(suspect);
                    entity.crashes = entity.crashes.at_most(ONE_AT_A_TIME);
                });
                false
            }
        }
    }

    /// Runs a piece of work on what is durable.
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
            Origin::Listed | Origin::Letter(_) => Arc::new([]),
        };
        let Some(place) = Place::take(&at.places, at.options.work_max) else {
            return self.no_place(origin, out);
        };
        let (cx, pulse) = self.context(&work, &chain, definition, at);
        // While turns are on their way the memory is of the tip, not of what is durable.
        let ahead = !self.chain.is_empty() || self.flying.is_some();
        let (mut fresh, entity) = (Hot::default(), self.committed.as_ref());
        let hot = if ahead || work.borrow != Borrow::Exclusive { &mut fresh } else { &mut self.hot };
        match guarded(|| definition.handler.run(hot, entity, &work, cx)) {
            Ok(future) => {
                let pace = pace_of(&work, &origin, definition, at);
                // After some pieces other keys have their turn.
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
                self.ends.push_back(end);
            }
        }
    }

    /// Polls a piece of work that is listed on this very hand: it is likely to be over then. If it is not it goes where all others do.
    fn poll_here(&mut self, work: Work, mut code: Watched, place: Place, at: &Shared, out: &mut Effects) {
        if let Some(station) = &out.station {
            station.doing(&self.key, work.id.name());
        }
        match Pin::new(&mut code).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                out.started += 1;
                drop_guarded(code);
                self.ends.add(End { work, outcome, origin: Origin::Listed, attempts: 0 });
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
        if work.borrow == Borrow::Exclusive {
            self.calls_went_last = !matches!(origin, Origin::Listed);
            self.may_have_left &= self.calls_went_last;
        }
        let (run, now) = (at.next_number(), at.driver.monotonic());
        let pulse = code.pulse.clone();
        out.timers.extend(work.timeout.map(|limit| (now + limit, Ring::TimedOut(run))));
        out.timers.extend(work.silence.map(|limit| (now + limit, Ring::Silent(run))));
        out.started += 1;
        at.watch(run, &pulse);
        let task = at.spawn_run(run, self.key.clone(), work.clone(), code);
        self.running.add(Running { run, work, origin, since: now, pulse, _task: task, _place: place });
    }

    fn no_place(&mut self, origin: Origin, out: &mut Effects) {
        let error = Err(Error::Overloaded { what: Limit::Work });
        match origin {
            Origin::Call(pending) | Origin::Read(pending) => out.answers.push((pending, error)),
            Origin::Letter(letter) => {
                self.impure_letters.insert(letter.id);
                self.queue.push_front(Source::Letter(letter));
            }
            Origin::Listed => {}
        }
        out.wants_work_place = true;
    }

    pub(crate) fn work_ended(&mut self, run: u64, work: Work, outcome: Outcome, at: &Shared, out: &mut Effects) {
        let Some(index) = self.running.iter().position(|running| running.run == run) else {
            if Bug::LateEndAccepted.planted() && self.tip.is_some() {
                self.ends.push_back(End { work, outcome, origin: Origin::Listed, attempts: 0 });
            }
            out.late_ends += 1;
            return;
        };
        let running = self.running.swap_remove(index);
        match running.origin {
            Origin::Read(pending) => {
                let limit = at.options.payload_bytes_max;
                let reply = read_reply(outcome, &self.key, &pending.verb, limit);
                out.answers.push((pending, reply));
            }
            origin => self.ends.add(End { work: running.work, outcome, origin, attempts: 0 }),
        }
    }

    /// The attempt is over, whether or not its code yields.
    pub(crate) fn give_up(&mut self, run: u64, outcome: Outcome) {
        let Some(index) = self.running.iter().position(|running| running.run == run) else { return };
        let running = self.running.swap_remove(index);
        match running.origin {
            Origin::Read(pending) => pending.refuse(Error::Deadline { key: self.key.clone() }),
            origin => self.ends.add(End { work: running.work, outcome, origin, attempts: 0 }),
        }
    }

    /// The time for an attempt is up, unless the store has taken some of it: that is not the code's.
    pub(crate) fn check_timeout(&mut self, run: u64, at: &Shared, out: &mut Effects) {
        let Some(running) = self.running.iter().find(|running| running.run == run) else { return };
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
        let Some(running) = self.running.iter().find(|running| running.run == run) else { return };
        let Some(limit) = running.work.silence else { return };
        let until = Duration::from_millis(running.pulse.last.load(Ordering::Relaxed)) + limit;
        if at.driver.monotonic() >= until {
            self.give_up(run, Outcome::Silent);
        } else {
            out.timers.push((until, Ring::Silent(run)));
        }
    }

    /// What the code of a piece of work is given, and its signs of life.
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
            door: at.door(),
            chain,
            pulse: pulse.clone(),
        };
        (cx, pulse)
    }
}

/// How quick work of this kind was, if it may be polled where it is started. Code that borrows the struct may not: it goes after all that
/// was dropped has gone, and the runtime sees to that (E3).
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
        Outcome::Refused(reason) => Err(Error::Malformed { verb: verb.to_owned(), reason }),
        Outcome::Panicked(message) => Err(Error::Panicked { key: key.clone(), message }),
        Outcome::TimedOut | Outcome::Silent => Err(Error::Deadline { key: key.clone() }),
    }
}

/// The author's future, with its polls timed and its panics caught.
pub(crate) struct Watched {
    pub(crate) future: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) driver: Arc<dyn Driver>,
    /// Who is told of its first poll.
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

/// Pieces of work, each by its name and attempt. In order: an entity may list a thousand, and is tended after every batch; most list
/// one, which a set would cost more than it is worth.
struct Named<'a>(Vec<(&'a WorkId, u32)>);

impl<'a> Named<'a> {
    fn of(work: impl Iterator<Item = &'a Work>) -> Self {
        let mut named: Vec<_> = work.map(named).collect();
        named.sort_unstable();
        Self(named)
    }

    fn has(&self, work: &Work) -> bool {
        self.0.binary_search(&named(work)).is_ok()
    }
}

fn named(work: &Work) -> (&WorkId, u32) {
    (&work.id, work.attempt)
}

//! The waits of a run that are registered with topics (T). A run registers a wait when the run comes to rest
//! and has no event of its own for the wait, and withdraws the wait when it is over. An event that a topic
//! delivers is queued as if it had been sent to the run, so every form of wait finds it there.

use std::collections::BTreeSet;

use drystone_runtime::{Commit, Millis, Next};

use super::ready::ready;
use crate::{
    decode,
    event::topic::{Deliver, From},
    planted::Bug,
    system::topics::wire::{
        Cursor, DECLINED, Declined, Delivered, LEAVE, Leave, Left, MOVE, TopicName, WATCH, Wait, Watch,
    },
    workflow::{
        Workflow,
        engine::{
            memory::Memory,
            others::address::RunAddress,
            turn::{Halt, NextTurn, Seen as SeenByTurn, Turned, Turning},
            turn_commit::TurnCommit,
        },
        record::{
            LastSeen, Parent,
            cached_json::Written,
            pending::{Awaited, Pending, Stage, Waiting, Watching},
        },
    },
};

impl Awaited {
    /// Returns the topic on which these events are published.
    fn topic(&self) -> TopicName {
        TopicName::new(&self.event, self.key.clone())
    }
}

/// The waits of a run that may be registered with topics.
pub(in crate::workflow::engine) struct TopicWaits<'t> {
    pending: &'t mut [Written<Pending>],
    commit: &'t mut TurnCommit,
    address: RunAddress<'t>,
}

impl TopicWaits<'_> {
    /// Returns the form of a wait that a topic stores.
    fn stored(address: RunAddress<'_>, pending: &Pending) -> Option<Wait> {
        let Waiting::Event(awaited) = &pending.what else { return None };
        let since = awaited.watching.as_ref()?.since;
        Some(Wait { by: address.of(&pending.op), since, until: awaited.until.map(|(until, _)| until) })
    }

    fn set_stage(&mut self, index: usize, stage: Stage) {
        if let Waiting::Event(Awaited { watching: Some(watching), .. }) = &mut self.pending[index].what {
            watching.stage = stage;
        }
    }

    /// Notes that a wait has got an event of its topic: if the wait needs more, it reads on behind this
    /// event.
    fn has_got(&mut self, index: usize) {
        if let Waiting::Event(Awaited { watching: Some(watching), .. }) = &mut self.pending[index].what {
            watching.has_got = true;
        }
    }

    /// Withdraws waits that are overdue before they time out: an event that was published before the
    /// deadline may be in flight (T4).
    pub(in crate::workflow::engine) fn leave_overdue(&mut self, now: Millis) {
        for index in 0..self.pending.len() {
            let pending = &self.pending[index];
            let is_overdue = pending.due_at().is_some_and(|until| until <= now.0);
            if is_overdue && pending.stage() == Some(Stage::Watched) {
                let pending = pending.clone();
                self.leave(&pending, true);
                self.set_stage(index, Stage::Leaving);
            }
        }
    }

    /// Withdraws a wait from its topic because the wait is over. `is_answered` asks the topic to confirm
    /// that nothing more will come.
    pub(in crate::workflow::engine) fn leave(&mut self, pending: &Pending, is_answered: bool) {
        if pending.stage() != Some(Stage::Watched) || Bug::WatcherForgotten.planted() && !is_answered {
            return;
        }
        let (Waiting::Event(awaited), Some(wait)) = (&pending.what, Self::stored(self.address, pending)) else {
            return;
        };
        let topic = awaited.topic();
        let message = topic.message(LEAVE, &Leave { topic: topic.clone(), wait, is_answered });
        self.commit.send(message);
    }

    /// Sends the changed deadlines of waits to their topics.
    pub(in crate::workflow::engine) fn move_deadlines(self) {
        let watched = self.pending.iter().filter(|pending| pending.stage() == Some(Stage::Watched));
        let moved = watched.filter_map(|pending| match &pending.what {
            Waiting::Event(awaited) if awaited.until.is_some() => {
                awaited.topic().message(MOVE, &Self::stored(self.address, pending)?)
            }
            _ => None,
        });
        self.commit.send(moved);
    }
}

impl<W: Workflow> Turning<'_, W> {
    pub(in crate::workflow::engine) fn topic_waits(&mut self) -> TopicWaits<'_> {
        let address = self.address();
        TopicWaits { pending: &mut self.record.pending, commit: &mut self.commit, address }
    }

    /// Registers waits that have no event with their topics: as many as one commit can send messages, the
    /// others in later turns.
    pub(in crate::workflow::engine) fn watch_topics(&mut self) {
        if !self.record.goes_on() || self.record.winds_down() {
            return;
        }
        for index in 0..self.record.pending.len() {
            let Waiting::Event(awaited) = &self.record.pending[index].what else { continue };
            let is_held = self.record.is_held();
            // A paused run takes no events, so an event that its wait has got may be all that the wait
            // needs.
            let asks = |watching: &Watching| watching.stage == Stage::Asked && !(is_held && watching.has_got);
            if !awaited.watching.as_ref().is_some_and(asks) {
                continue;
            }
            if !self.outbox().has_room() {
                self.next_turn = NextTurn::NowEvenPaused;
                break;
            }
            let watch = self.watch(&self.record.pending[index]);
            let message = watch.and_then(|watch| watch.topic.message(WATCH, &watch));
            self.commit.send(message);
            self.topic_waits().set_stage(index, Stage::Watched);
        }
        self.forget_seen();
    }

    fn watch(&self, pending: &Pending) -> Option<Watch> {
        let Waiting::Event(awaited) = &pending.what else { return None };
        let options = Self::accepted(&awaited.event).ok()?.options.topic_options()?;
        let (topic, wait) = (awaited.topic(), TopicWaits::stored(self.address(), pending)?);
        let seen = self.record.seen.get(&topic.text()).map(|last| last.seen);
        let goes_on = awaited.watching.as_ref().is_some_and(|watching| watching.has_got);
        let cursor = match (options.from, seen) {
            (From::Wait, Some(seen)) if goes_on => Cursor::After(seen),
            (From::Wait, _) => Cursor::Next,
            (From::Created | From::Start, Some(seen)) => Cursor::After(seen),
            // The time when the run began, not its generation: it is the same run, and earlier events belong
            // to it, too.
            (From::Created, None) => Cursor::Since(self.seen.entity.map_or(self.seen.now, |run| run.created_at).0),
            (From::Start, None) => Cursor::Oldest,
        };
        Some(Watch { topic, options, wait, cursor })
    }

    /// Whether a wait asks for a topic whose key is longer than keys may be.
    pub(in crate::workflow::engine) fn has_topic_without_key(&self) -> bool {
        let is_too_long = |pending: &Pending| match &pending.what {
            Waiting::Event(awaited) if awaited.watching.is_some() => awaited.topic().address().is_err(),
            _ => false,
        };
        self.record.pending().any(is_too_long)
    }

    /// Forgets the last events seen of topics where that is of no use. With `from = "wait"` it is of use
    /// while the run waits on the topic, otherwise while the log may hold the event. Without this, a run
    /// that reads one topic for each of many keys would remember all of them.
    fn forget_seen(&mut self) {
        let (record, now) = (&mut self.record, self.seen.now.0);
        if record.seen.is_empty() {
            return;
        }
        let topics = |pending: &Pending| match &pending.what {
            Waiting::Event(awaited) if awaited.watching.is_some() => Some(awaited.topic().text()),
            _ => None,
        };
        let waited: BTreeSet<String> = record.pending().filter_map(topics).collect();
        let is_of_use = |topic: &str, last: &LastSeen| {
            let event = topic.split_once('/').map_or(topic, |(event, _)| event);
            let code = W::SCRIPT.events.iter().find(|code| code.name == event);
            let Some(options) = code.and_then(|code| code.options.topic_options()) else { return true };
            match options.from {
                From::Wait => waited.contains(topic),
                From::Created | From::Start => options.kept_until(last.at) > now,
            }
        };
        record.seen.retain(|topic, last| is_of_use(topic, last));
    }

    /// Returns the wait that a message of a topic is for, if it is still pending.
    fn waiting_for(&self, topic: &TopicName, to: &Parent) -> Option<usize> {
        let is_ours = to.generation == self.record.generation && to.seed == self.record.seed;
        let is_open = is_ours && self.record.end.is_none() && !self.record.winds_down();
        let index = self.record.position(&to.op).filter(|_| is_open)?;
        match &self.record.pending[index].what {
            Waiting::Event(awaited) if awaited.watching.is_some() && awaited.topic() == *topic => Some(index),
            _ => None,
        }
    }

    fn delivered(&mut self, delivered: Delivered) -> Result<(), Halt> {
        let Some(index) = self.waiting_for(&delivered.topic, &delivered.to) else {
            self.record.late += u64::from(delivered.to.generation < self.record.generation);
            if Bug::DeclinedAndKept.planted() && self.record.end.is_none() {
                let Delivered { topic, at, event, .. } = &delivered;
                self.queue(&topic.event, topic.key.clone(), (event, *at))?;
            }
            self.commit.send(decline(delivered));
            return Ok(());
        };
        // The topic has removed the wait. A wait that needs more events is registered again.
        self.topic_waits().set_stage(index, Stage::Asked);
        let is_log = delivered.options.deliver == Deliver::All;
        let topic = delivered.topic.text();
        let has_seen = |LastSeen { seen, .. }: &LastSeen| {
            seen.birth == delivered.seen.birth && seen.number >= delivered.seen.number
        };
        if is_log && self.record.seen.get(&topic).is_some_and(has_seen) && !Bug::SeenTwice.planted() {
            // The run has the event already, by another of its waits.
            self.topic_waits().has_got(index);
            return self.go_on();
        }
        if is_log {
            self.record.seen.insert(topic, LastSeen { seen: delivered.seen, at: delivered.at });
        }
        self.topic_waits().has_got(index);
        let event = &delivered.topic.event;
        self.queue(event, delivered.topic.key.clone(), (&delivered.event, delivered.at))?;
        self.go_on()
    }

    fn left(&mut self, left: &Left) -> Result<(), Halt> {
        let Some(index) = self.waiting_for(&left.topic, &left.to) else { return Ok(()) };
        if self.record.pending[index].stage() == Some(Stage::Leaving) {
            self.topic_waits().set_stage(index, Stage::Left);
        }
        self.go_on()
    }
}

/// Returns the message that gives an event back to its topic, if the event was for one wait alone.
fn decline(delivered: Delivered) -> Option<drystone_runtime::Message> {
    let Delivered { topic, options, seen, at, event, .. } = delivered;
    if options.deliver == Deliver::All {
        return None;
    }
    let (birth, number) = (seen.birth, seen.number);
    topic.clone().message(DECLINED, &Declined { topic, options, birth, number, at, event })
}

/// Handles an event that a topic delivers.
pub(in crate::workflow::engine) fn delivered<W: Workflow>(
    memory: &mut Memory,
    seen: SeenByTurn<'_>,
    body: &[u8],
) -> Turned {
    let delivered: Delivered = decode(body).map_err(Halt::Malformed)?;
    ready(memory, seen)?;
    let Some(mut turning) = Turning::<W>::open(memory, seen)? else {
        let send = decline(delivered).into_iter().collect();
        return Ok(Next::Commit(Commit { send, ..Commit::default() }));
    };
    turning.delivered(delivered)?;
    turning.close(memory, None)
}

/// Handles the confirmation of a topic that nothing more will come.
pub(in crate::workflow::engine) fn left<W: Workflow>(memory: &mut Memory, seen: SeenByTurn<'_>, body: &[u8]) -> Turned {
    let left: Left = decode(body).map_err(Halt::Malformed)?;
    ready(memory, seen)?;
    let Some(mut turning) = Turning::<W>::open(memory, seen)? else { return Ok(Next::nothing()) };
    turning.left(&left)?;
    turning.close(memory, None)
}

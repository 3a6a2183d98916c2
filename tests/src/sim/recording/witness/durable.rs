//! The durable state, kept beside the store from the writes that the store applied.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drystone_runtime::{
    Entity, Key, MessageId, Millis, Version,
    store::{After, Guard, Once, Outgoing, Retry, Write},
};

use crate::sim::{
    check,
    drawing::roster::{Cast, Number, Role},
    handlers::OBITUARY,
    recording::log::{Chronicle, Class},
};

use super::{Errands, Lanes, Posts, Queues, Table, Topics};

/// The durable state, and the parts of the past that the checks need.
pub struct Durable {
    chronicle: Arc<Chronicle>,
    cast: Arc<Cast>,
    /// The guilty member, whose work kills the process.
    guilty: Option<Number>,
    stories: Vec<Story>,
    inbox: BTreeMap<MessageId, Line>,
    /// The messages that have not been taken, in the order in which they became durable.
    lines: BTreeMap<Line, Vec<MessageId>>,
    /// The messages that are held in the inbox.
    held: BTreeSet<MessageId>,
    remembered: BTreeSet<(Key, Once)>,
    lanes: Lanes,
    queues: Queues,
    errands: Errands,
    topics: Topics,
    /// The empty story of a member that has never had a write.
    nobody: Story,
    /// The rows that authors' transactions wrote.
    pub(super) table: Table,
    posts: Posts,
}

/// The sender and the receiver of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    from: Key,
    to: Key,
}

/// The story of one key.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// The current entity of the key.
    pub entity: Option<Entity>,
    /// The destroyed entities of the key, as they were at their end.
    pub past: Vec<Entity>,
    /// The highest version that was ever durable under the key.
    pub version: Option<Version>,
    /// The time of the last commit.
    pub now: Millis,
}

impl Story {
    /// Whether the entity is parked and waits for a person.
    pub fn is_parked(&self) -> bool {
        self.entity.as_ref().is_some_and(|entity| entity.parked.is_some())
    }
}

impl Durable {
    pub(super) fn new(chronicle: Arc<Chronicle>, cast: Arc<Cast>, guilty: Option<Number>) -> Self {
        let stories = cast.iter().map(|_| Story::default()).collect();
        let (inbox, lines, held, remembered, lanes, queues, errands, topics) = Default::default();
        let (nobody, table, posts) = Default::default();
        Self {
            chronicle,
            cast,
            guilty,
            stories,
            inbox,
            lines,
            held,
            remembered,
            lanes,
            queues,
            errands,
            topics,
            nobody,
            table,
            posts,
        }
    }

    /// The story of a member.
    pub fn story(&self, number: Number) -> &Story {
        self.stories.get(usize::from(number)).unwrap_or(&self.nobody)
    }

    /// The rows of all members.
    pub fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// The items of all queues.
    pub fn queues(&self) -> &Queues {
        &self.queues
    }

    /// The rows that authors' transactions wrote.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The messages that transactions sent.
    pub fn posts(&self) -> &Posts {
        &self.posts
    }

    /// The published events.
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// All runs.
    pub fn errands(&self) -> &Errands {
        &self.errands
    }

    /// Whether a version of a member is or was durable.
    pub fn holds(&self, number: Number, version: Version) -> bool {
        self.story(number).version.is_some_and(|highest| version <= highest)
    }

    /// The receivers of the waiting messages that are not held.
    pub fn inboxes(&self) -> impl Iterator<Item = &Key> {
        self.inbox.iter().filter(|(id, _)| !self.held.contains(id)).map(|(_, line)| &line.to)
    }

    /// Takes the messages of a transaction that became durable.
    pub(super) fn posted(&mut self, put: &[(Key, Outgoing)]) {
        for (from, message) in put {
            let is_new = self.joins(message.id, from, &message.to);
            self.chronicle.check(is_new, Class::Doubled, "M6", || format!("{:?} was put twice", message.id));
            self.posts.put(message);
        }
    }

    /// Takes a write that the store applied. Returns whether the write counts a crash.
    pub(super) fn applied(&mut self, write: &Write, now: Millis) -> bool {
        let Some(number) = self.cast.number(&write.key) else {
            let message = format!("a write of {}, which nobody asked for", write.key);
            self.chronicle.violation(Class::Broken, "V10", message);
            return false;
        };
        let members = self.stories.len().max(usize::from(number) + 1);
        self.stories.resize_with(members, Story::default);
        let crashes = self.crashes(number);
        self.check_guard(number, write);
        self.check_time(number, now);
        self.move_messages(write);
        self.remember(write);
        if write.drop.iter().any(|gone| gone.held) {
            self.chronicle.sometimes("a batch became a dead letter");
        }
        let role = self.cast.member(number).role;
        if role.is_topic() || role == Role::Listener {
            self.topics.applied(&self.chronicle, (number, role), write, (&self.lanes, now));
        }
        self.lanes.applied(number, self.cast.member(number).role, write);
        self.become_it(number, write);
        self.check_rows(number);
        self.check_queue(number, write, now);
        if self.cast.member(number).role == Role::Errand {
            self.errands.applied(&self.chronicle, number, write);
        }
        self.crashes(number) > crashes
    }

    fn check_rows(&self, number: Number) {
        let role = self.cast.member(number).role;
        if let Some(entity) = self.story(number).entity.as_ref().filter(|_| role.is_buffer()) {
            check::inspect_buffer(&self.chronicle, role, entity, &self.lanes);
        }
        if let Some(entity) = self.story(number).entity.as_ref().filter(|_| role == Role::Gate) {
            check::inspect_gate(&self.chronicle, entity, &self.lanes, self.story(number).now);
        }
    }

    fn check_queue(&mut self, number: Number, write: &Write, now: Millis) {
        let role = self.cast.member(number).role;
        if !role.is_queue() {
            return;
        }
        let change = self.queues.applied(number, write, now);
        let entity = self.stories[usize::from(number)].entity.as_ref();
        if let (Some(change), Some(entity)) = (change, entity) {
            let counted = check::inspect_queue(&self.chronicle, (number, role), entity, &self.queues, &change);
            self.queues.counts(entity.id, counted);
        }
    }

    fn crashes(&self, number: Number) -> u8 {
        self.story(number).entity.as_ref().map_or(0, |entity| entity.crashes.deaths())
    }

    fn check_guard(&self, number: Number, write: &Write) {
        let found = self.story(number).entity.as_ref().map(|entity| (entity.id, entity.version));
        let holds = match write.guard {
            Guard::Absent => found.is_none(),
            Guard::At { id, version } => found == Some((id, version)),
        };
        self.chronicle.check(holds, Class::Lost, "R3", || {
            format!("a write of {} with the guard {:?} was applied over {found:?}", write.key, write.guard)
        });
    }

    /// Checks that time never goes back for an entity, whichever process owns it (A5).
    fn check_time(&mut self, number: Number, now: Millis) {
        let story = &mut self.stories[usize::from(number)];
        self.chronicle.check(now >= story.now, Class::Broken, "A5", || {
            format!("a commit of {} is of {now}, the one before of {}", self.cast.member(number).key, story.now)
        });
        story.now = story.now.max(now);
    }

    fn move_messages(&mut self, write: &Write) {
        for taken in &write.taken {
            self.posts.taken(*taken);
            let there = self.leaves(*taken).is_some_and(|line| line.to == write.key);
            self.chronicle
                .check(there, Class::Doubled, "M1", || format!("{} took {taken:?}, which is not there", write.key));
        }
        for retry in &write.retry {
            self.hold(write, retry);
        }
        if !write.retry.is_empty() {
            self.chronicle.sometimes("a message was tried again");
        }
        for sent in &write.sent {
            let new = self.joins(sent.id, &write.key, &sent.to);
            self.chronicle.check(new, Class::Doubled, "M1", || format!("{} sent {:?} twice", write.key, sent.id));
        }
    }

    /// Adds a message to the inbox of its receiver. Returns whether the message is new.
    fn joins(&mut self, id: MessageId, from: &Key, to: &Key) -> bool {
        let line = Line { from: from.clone(), to: to.clone() };
        self.lines.entry(line.clone()).or_default().push(id);
        self.inbox.insert(id, line).is_none()
    }

    /// Removes a message that its receiver took, and checks that no older message of the sender is left
    /// behind, except held ones (M1).
    ///
    /// A message is older if its id is smaller and it became durable first. If only one of these is true, a
    /// transaction and a turn of the sender ran at the same time, and the two messages have no order.
    fn leaves(&mut self, id: MessageId) -> Option<Line> {
        let line = self.inbox.remove(&id)?;
        let left = self.lines.get_mut(&line)?;
        let before = left.iter().take_while(|other| **other != id);
        let older = before.copied().find(|other| *other < id && !self.held.contains(other));
        self.chronicle
            .check(older.is_none(), Class::Broken, "M1", || format!("{id:?} of {line:?} is taken before {older:?}"));
        left.retain(|other| *other != id);
        self.held.remove(&id);
        Some(line)
    }

    /// Notes a message that is held. Only messages whose turn kills the process may be held (W2).
    fn hold(&mut self, write: &Write, retry: &Retry) {
        if retry.at < Millis::MAX {
            self.held.remove(&retry.id);
            return;
        }
        self.held.insert(retry.id);
        let is_doomed =
            self.cast.number(&write.key).is_some_and(|number| self.cast.member(number).role == Role::Doomed);
        self.chronicle.check(is_doomed, Class::Broken, "W2", || format!("a message to {} is held", write.key));
    }

    fn remember(&mut self, write: &Write) {
        for remembered in &write.remember {
            let new = self.remembered.insert((write.key.clone(), remembered.once.clone()));
            self.chronicle.check(new, Class::Doubled, "E12", || {
                format!("{} answered the idempotency key {:?} twice", write.key, remembered.once)
            });
        }
    }

    fn become_it(&mut self, number: Number, write: &Write) {
        let before = self.stories[usize::from(number)].entity.take();
        let after = match &write.after {
            After::Entity(entity) => Some((**entity).clone()),
            After::Destroyed | After::Unbound => None,
        };
        let (role, is_guilty) = (self.cast.member(number).role, self.guilty == Some(number));
        check::inspect(&self.chronicle, role, before.as_ref(), after.as_ref(), is_guilty);
        if let Some(after) = &after {
            self.check_version(number, before.as_ref(), after);
        }
        let story = &mut self.stories[usize::from(number)];
        if after.is_none() {
            story.past.extend(before.map(|before| as_it_ended(before, write)));
        }
        story.version = story.version.max(after.as_ref().map(|after| after.version));
        story.entity = after;
    }

    /// Checks that versions only grow, even over the end of an entity, and that the id of an entity is its
    /// first version (R3).
    fn check_version(&self, number: Number, before: Option<&Entity>, after: &Entity) {
        let story = self.story(number);
        let grows = story.version.is_none_or(|version| version < after.version);
        self.chronicle.check(grows, Class::Broken, "R3", || {
            format!("{} became version {} after {:?}", after.key, after.version, story.version)
        });
        let id = before.map_or(after.version, |before| before.id);
        // The first write of an entity may merge several turns. The id is the version of the first turn.
        let named =
            if before.is_some() { after.id == id } else { after.id <= after.version && !self.holds(number, after.id) };
        self.chronicle.check(named, Class::Broken, "R3", || {
            format!("{} has the id {} at version {}, before it {:?}", after.key, after.id, after.version, story.version)
        });
        if before.is_none() && !story.past.is_empty() {
            self.chronicle.sometimes("a key was bound again");
        }
    }
}

/// The entity at its end. Numbers that were added in the same write that destroyed the entity are only in
/// the obituary.
fn as_it_ended(before: Entity, write: &Write) -> Entity {
    let obituary = write.sent.iter().find(|sent| sent.verb == OBITUARY);
    let state = obituary.map_or_else(|| before.state.clone(), |sent| sent.body.clone());
    Entity { state, ..before }
}

//! E3, E4, E12: each counter is linearizable. The durable list gives the order; every answer names a place
//! in the list.
//!
//! Keys are independent, and the store shows the order of additions, so no search is needed. Every answer
//! must fit that order, and the order must fit real time: a call that was answered before another call was
//! made comes first.

use std::sync::Mutex;

use bytes::Bytes;

use crate::sim::{
    drawing::roster::{Number, Role},
    handlers::{List, codec::Record},
    recording::log::{Class, lock},
    running::world::World,
};

/// The operation that a caller asks of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Add the caller's number.
    Add,
    /// Read the length of the list.
    Get,
    /// Add the caller's number, in code that then fails.
    Fail,
    /// Destroy the counter.
    Destroy,
}

/// The answer of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Unknown: the call may have taken effect, or may still do so.
    Unknown,
    /// The call took no effect.
    Refused,
    /// The key was unbound.
    Unbound,
    /// The incarnation, named by its first number, and the length of the list.
    Told {
        /// The first number of the list.
        first: u64,
        /// The length of the list.
        length: u64,
    },
}

impl Answer {
    /// Decodes the bytes of an answer.
    pub fn of(bytes: &Bytes) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::Unbound);
        }
        crate::sim::handlers::codec::unpack(bytes).map(|[first, length]| Self::Told { first, length })
    }
}

/// A call, from the request to the answer.
#[derive(Clone, Debug)]
struct Span {
    counter: Number,
    number: u64,
    asked: Asked,
    from: u64,
    until: u64,
    answer: Answer,
}

/// All calls of counters.
#[derive(Default)]
pub struct Counters(Mutex<Vec<Span>>);

impl Counters {
    /// Registers a call at this moment and returns its handle.
    pub fn asks(&self, counter: Number, number: u64, asked: Asked, moment: u64) -> usize {
        let mut spans = lock(&self.0);
        spans.push(Span { counter, number, asked, from: moment, until: u64::MAX, answer: Answer::Unknown });
        spans.len() - 1
    }

    /// Registers the answer of a call at this moment.
    pub fn answered(&self, handle: usize, answer: Answer, moment: u64) {
        let mut spans = lock(&self.0);
        (spans[handle].until, spans[handle].answer) = (moment, answer);
    }
}

/// A place in the order of a counter: the incarnation, and the length of the list at that place.
type Place = (usize, u64);

/// Checks every counter of a history.
pub(super) fn finish(world: &World) {
    for counter in world.cast.with(Role::Counter) {
        let spans: Vec<_> = lock(&world.counters.0).iter().filter(|span| span.counter == counter).cloned().collect();
        Order::of(world, counter).check(world, &spans);
    }
}

/// The order that the store shows: the lists of all incarnations, ended ones first.
struct Order {
    counter: Number,
    lists: Vec<Vec<u64>>,
    ended: usize,
}

impl Order {
    fn of(world: &World, counter: Number) -> Self {
        let durable = world.witness.durable();
        let story = durable.story(counter);
        let lists = story.past.iter().chain(&story.entity);
        let lists = lists.map(|entity| List::decode(&entity.state).unwrap_or_default().0).collect();
        Self { counter, lists, ended: story.past.len() }
    }

    fn check(&self, world: &World, spans: &[Span]) {
        let placed: Vec<_> = spans.iter().filter_map(|span| Some((self.place(world, span)?, span))).collect();
        // After a jump of the store's clock a lease may have ended without its owner knowing. Such an owner
        // still answers reads from memory.
        let honest = world.clocks_are_honest();
        let placed: Vec<_> = placed.into_iter().filter(|(_, span)| honest || span.asked != Asked::Get).collect();
        for (place, span) in &placed {
            for (other_place, other) in &placed {
                let late = span.until < other.from && self.after(*place, span, *other_place, other);
                world.chronicle.check(!late, Class::Broken, "E3", || {
                    format!(
                        "{}: {span:x?} was answered before {other:x?} was asked, and comes after it",
                        self.name(world)
                    )
                });
            }
        }
        self.check_refused(world, spans);
        if honest {
            self.check_unbound(world, spans);
        }
        self.check_once(world);
    }

    /// Whether the first call cannot come before the second. A read may share a place with the addition
    /// that it saw.
    fn after(&self, place: Place, span: &Span, other_place: Place, other: &Span) -> bool {
        match (span.asked, other.asked) {
            (_, Asked::Get) => place > other_place,
            _ => place >= other_place && span.number != other.number,
        }
    }

    /// The place of an answered call in the durable lists. Checks first that the answer fits the lists.
    fn place(&self, world: &World, span: &Span) -> Option<Place> {
        let found = self.find(span.number);
        match (span.asked, span.answer) {
            (Asked::Add, Answer::Told { first, length }) => {
                let told = self.incarnation(first).map(|incarnation| (incarnation, length));
                self.agree(world, span, told == found && found.is_some(), "E12");
                found
            }
            (Asked::Get, Answer::Told { first, length }) => {
                let told = self.incarnation(first).filter(|place| length <= self.lists[*place].len() as u64);
                self.agree(world, span, told.is_some(), "E4");
                told.map(|incarnation| (incarnation, length))
            }
            (Asked::Destroy, Answer::Told { first, length }) => {
                let told = self.incarnation(first);
                let whole = told.is_some_and(|place| place < self.ended && self.lists[place].len() as u64 == length);
                self.agree(world, span, whole, "E8");
                told.map(|incarnation| (incarnation, u64::MAX))
            }
            (Asked::Add, _) => found,
            _ => None,
        }
    }

    fn agree(&self, world: &World, span: &Span, holds: bool, law: &'static str) {
        world.chronicle.check(holds, Class::Lost, law, || {
            format!("{} answered {span:x?}, and its lists are {:x?}", self.name(world), self.lists)
        });
    }

    /// Checks that refused calls left nothing behind (E5).
    fn check_refused(&self, world: &World, spans: &[Span]) {
        for span in spans {
            let must_not = span.asked == Asked::Fail || span.answer == Answer::Refused;
            let there = must_not && self.find(span.number).is_some();
            world
                .chronicle
                .check(!there, Class::Broken, "E5", || format!("{} has what it refused: {span:x?}", self.name(world)));
        }
    }

    /// Checks that a key that was never destroyed stays bound (E1).
    fn check_unbound(&self, world: &World, spans: &[Span]) {
        let unbound = spans.iter().filter(|span| span.answer == Answer::Unbound && self.ended == 0);
        for span in unbound {
            let earlier =
                spans.iter().find(|other| matches!(other.answer, Answer::Told { .. }) && other.until < span.from);
            world.chronicle.check(earlier.is_none(), Class::Lost, "E1", || {
                format!("{} was bound by {earlier:x?}, and unbound for {span:x?}", self.name(world))
            });
        }
    }

    /// Checks that no number was added twice, not even in two incarnations (E12).
    fn check_once(&self, world: &World) {
        let mut all = self.lists.concat();
        all.sort_unstable();
        let twice = all.windows(2).any(|pair| pair[0] == pair[1]);
        world.chronicle.check(!twice, Class::Doubled, "E12", || format!("{}: {:x?}", self.name(world), self.lists));
    }

    fn find(&self, number: u64) -> Option<Place> {
        self.lists.iter().enumerate().find_map(|(incarnation, list)| {
            let place = list.iter().position(|added| *added == number)?;
            Some((incarnation, place as u64 + 1))
        })
    }

    fn incarnation(&self, first: u64) -> Option<usize> {
        self.lists.iter().position(|list| list.first() == Some(&first))
    }

    fn name(&self, world: &World) -> String {
        world.cast.member(self.counter).key.to_string()
    }
}

//! M1, M4: every message that was sent was either taken once or became one dead letter.

pub(crate) mod letters;
pub(crate) mod outbox;

use std::collections::BTreeMap;

use drystone_runtime::Entity;

use crate::sim::{
    drawing::roster::{Number, Role},
    handlers::{List, Pile, Post, Uid, codec::Record},
    recording::log::Class,
    running::world::World,
};

/// The fates of all messages, by number.
#[derive(Default)]
struct Fates(BTreeMap<u64, Fate>);

#[derive(Default)]
struct Fate {
    sent: bool,
    taken: u32,
    died: u32,
}

/// Compares the sent messages with the messages that arrived.
pub(super) fn finish(world: &World) {
    let fates = gather(world);
    for (number, fate) in &fates.0 {
        let uid = Uid::of(*number).expect("only messages are gathered");
        let is_doomed = world.cast.member(uid.to).role == Role::Doomed;
        let parked = world.witness.durable().story(uid.to).is_parked() || is_doomed;
        let ends = fate.taken + fate.died;
        world.chronicle.check(fate.sent, Class::Doubled, "M1", || format!("{uid:?} arrived and was never sent"));
        world.chronicle.check(ends < 2, Class::Doubled, "M1", || {
            format!("{uid:?} was taken {} times and died {} times", fate.taken, fate.died)
        });
        // A message to a parked entity still waits in the inbox. It is not lost.
        world.chronicle.check(ends > 0 || parked, Class::Lost, "M1", || format!("{uid:?} was sent and is nowhere"));
    }
}

fn gather(world: &World) -> Fates {
    let mut fates = Fates::default();
    let durable = world.witness.durable();
    for (number, member) in world.cast.iter() {
        let story = durable.story(number);
        for entity in story.past.iter().chain(&story.entity) {
            fates.add(number, member.role, entity);
        }
    }
    fates
}

impl Fates {
    fn add(&mut self, number: Number, role: Role, entity: &Entity) {
        match role {
            Role::Counter => self.taken(&List::decode(&entity.state).unwrap_or_default().0),
            Role::Relay | Role::Doomed => {
                let post = Post::decode(&entity.state).unwrap_or_default();
                self.taken(&post.taken);
                self.sent(number, &post.sent);
            }
            Role::Letters => {
                let pile = Pile::decode(&entity.state).unwrap_or_default();
                let messages = pile.0.iter().filter(|number| Uid::of(**number).is_some());
                messages.for_each(|uid| self.0.entry(*uid).or_default().died += 1);
            }
            _ => {}
        }
    }

    fn taken(&mut self, taken: &[u64]) {
        taken.iter().filter(|number| Uid::of(**number).is_some()).for_each(|number| {
            self.0.entry(*number).or_default().taken += 1;
        });
    }

    fn sent(&mut self, from: Number, sent: &[(Number, u32)]) {
        for (to, count) in sent {
            (1..=*count).for_each(|sequence| {
                self.0.entry(Uid { from, to: *to, sequence }.number()).or_default().sent = true;
            });
        }
    }
}

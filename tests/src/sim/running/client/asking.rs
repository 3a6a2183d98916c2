//! The way to an answer: which process a caller asks, and how often it retries.

use std::time::Duration;

use bytes::Bytes;
use drystone_runtime::Error;

use super::{Ask, Client};
use crate::sim::{
    check::{self, Answer},
    drawing::roster::Role,
    handlers::{List, codec::Record},
    recording::log::Class,
    running::{
        process::{NoAnswer, Processes},
        world::World,
    },
};

/// The final result of a request.
#[derive(Debug)]
pub(super) enum Heard {
    /// A successful answer.
    Told(Bytes),
    /// A refusal with its reason. The request took no effect.
    Refused(String),
    /// The idempotency key was used for another request.
    Mismatch,
    /// The key is bound to another definition.
    Mistyped,
    /// No answer; the request may have taken effect.
    Nothing,
}

/// The result of a single try.
enum Verdict {
    Heard(Heard),
    /// The entity is parked. This says nothing about an earlier try, which may have taken effect without an
    /// answer.
    Parked(String),
    /// The request was not made; another process may be the owner.
    AskElsewhere(Option<usize>),
    /// The request may have taken effect.
    Unknown,
}

impl Client {
    /// Makes a request, and retries until there is an answer or a retry is not allowed.
    pub(super) async fn ask(&mut self, ask: &Ask) -> Heard {
        let world = self.world.clone();
        world.ledger.asks(self.name, &world.cast.member(ask.member).key, ask.verb);
        let heard = self.ask_until_heard(ask).await;
        world.ledger.asked(self.name);
        heard
    }

    async fn ask_until_heard(&mut self, ask: &Ask) -> Heard {
        let (mut again, mut longest_ms) = (false, 20);
        loop {
            match self.try_once(ask).await {
                Verdict::Heard(heard) => {
                    if again {
                        self.world.chronicle.sometimes("a call was answered after it was asked again");
                    }
                    return heard;
                }
                Verdict::Parked(_) if again => return Heard::Nothing,
                Verdict::Parked(why) => return Heard::Refused(why),
                Verdict::AskElsewhere(guess) => self.guess = guess,
                Verdict::Unknown if ask.once || ask.harmless => (again, self.guess) = (true, None),
                Verdict::Unknown => return Heard::Nothing,
            }
            longest_ms = (longest_ms * 2).min(640);
            let span = self.chance.between(1, longest_ms);
            self.world.executor.sleep(Duration::from_millis(span)).await;
        }
    }

    async fn try_once(&mut self, ask: &Ask) -> Verdict {
        let count = self.world.processes.count();
        let process = self.guess.take().unwrap_or_else(|| self.chance.index(count));
        self.last = process;
        let call = ask.call(&self.world.cast);
        let (world, asked) = (self.world.clone(), ask.clone());
        let told = move |bytes: &Bytes| told(&world, &asked, bytes);
        let answer = Processes::call(&self.world, process, call, told).await;
        self.world.chronicle.note(|| format!("client {} asks k{process} {ask:x?} -> {answer:x?}", self.name));
        match answer {
            Ok(bytes) => Verdict::Heard(Heard::Told(bytes)),
            Err(NoAnswer::Down) => Verdict::AskElsewhere(None),
            Err(NoAnswer::Died) => Verdict::Unknown,
            Err(NoAnswer::Error(error)) => self.judge(ask, error),
        }
    }

    fn judge(&self, ask: &Ask, error: Error) -> Verdict {
        match error {
            Error::NotOwner { owner, .. } => {
                self.world.chronicle.sometimes("a call met the wrong owner");
                let owner = owner.and_then(|address| address.strip_prefix('k').and_then(|text| text.parse().ok()));
                Verdict::AskElsewhere(owner)
            }
            Error::Overloaded { .. } => Verdict::AskElsewhere(None),
            Error::Deadline { .. } | Error::Unknown { .. } | Error::Closing | Error::Store(_) => Verdict::Unknown,
            Error::Failed(bytes) | Error::Declined(bytes)
                if self.world.cast.member(ask.member).role == Role::Errand =>
            {
                answered(ask).failed(&self.world, &bytes);
                Verdict::Heard(Heard::Refused(String::from_utf8_lossy(&bytes).into_owned()))
            }
            Error::Failed(_)
            | Error::Declined(_)
            | Error::Panicked { .. }
            | Error::NotBound { .. }
            | Error::Destroyed { .. }
            | Error::KeepsState { .. }
            | Error::Refused { .. } => Verdict::Heard(Heard::Refused(error.to_string())),
            Error::TypeMismatch { .. } if ask.definition.is_some() => Verdict::Heard(Heard::Mistyped),
            Error::IdempotencyMismatch { .. } => {
                self.world.chronicle.sometimes("an idempotency key was used for something else");
                Verdict::Heard(Heard::Mismatch)
            }
            // Whether the entity may be parked was checked when the parking became durable.
            Error::Parked { .. } => Verdict::Parked(error.to_string()),
            error => {
                self.misheard(ask, &error.to_string());
                Verdict::Heard(Heard::Nothing)
            }
        }
    }
}

fn answered(ask: &Ask) -> check::Answered {
    check::Answered { member: ask.member, verb: ask.verb, number: ask.number }
}

/// Checks an answer in the same poll in which the kernel returns it: everything that it tells must already
/// be durable (E4).
fn told(world: &World, ask: &Ask, bytes: &Bytes) {
    if world.cast.member(ask.member).role == Role::Errand {
        answered(ask).told(world, bytes);
    }
    if ask.verb == "enqueue" {
        check::enqueued(world, ask.member, &ask.body, bytes);
    }
    if ask.recorded {
        world.takes.answered(world, ask.member, ask.number);
    }
    if world.cast.member(ask.member).role == Role::Counter
        && let Some(Answer::Told { first, length }) = Answer::of(bytes)
    {
        let durable = world.witness.durable();
        let story = durable.story(ask.member);
        let lists =
            story.past.iter().chain(&story.entity).map(|entity| List::decode(&entity.state).unwrap_or_default());
        let there = lists.into_iter().any(|list| list.0.first() == Some(&first) && list.0.len() as u64 >= length);
        world.chronicle.check(there, Class::Lost, "E4", || {
            format!("{} told {first:x}, {length}, which is not durable", world.cast.member(ask.member).key)
        });
    }
}

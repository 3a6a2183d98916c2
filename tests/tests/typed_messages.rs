//! Calls and messages between entities.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{collections::BTreeSet, time::Duration};

use drystone::{
    Client, Context, Error, Failure, Never, Primitives, Services, d, primitive,
    testing::{Latch, Log, Moment, Setup, World},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

/// Keeps its messages, in order.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Diary {
    lines: Vec<String>,
}

#[primitive(object)]
impl Diary {
    async fn write(&mut self, line: String, log: &Log, cx: &Context) -> Result<usize, Failure> {
        log.say(format!("{line} {} {}", cx.attempt(), cx.work_id()));
        if line == "unspeakable" {
            return Err("I will not write that".into());
        }
        self.lines.push(line);
        Ok(self.lines.len())
    }

    /// Asks a person, and that person asks back.
    async fn ask(&mut self, who: String, people: &Client<Person>) -> Result<String, Failure> {
        match people.get(&who).ask("me".into()).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(error.to_string().into()),
        }
    }

    async fn wait(&self, latch: &Latch) {
        latch.clone().wait().await;
    }
}

/// Sends messages to its diary.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Person {
    told: u32,
}

#[primitive(object)]
impl Person {
    async fn tell(&mut self, lines: Vec<String>, diaries: &Client<Diary>, cx: &Context) -> Result<(), Failure> {
        for line in lines {
            diaries.send(diaries.get(cx.key_text() + "'s diary").write(line.clone()));
            self.told += 1;
            if line == "stop" {
                return Err("lost the thread".into());
            }
        }
        Ok(())
    }

    async fn write(&mut self, line: String, diaries: &Client<Diary>) -> Result<usize, Failure> {
        self.told += 1;
        diaries.get("d").write(line).await.map_err(|error| error.to_string().into())
    }

    async fn ask(&mut self, diary: String, diaries: &Client<Diary>) -> Result<String, Failure> {
        match diaries.get(&diary).ask("p".into()).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(error.to_string().into()),
        }
    }

    async fn wait_for(&mut self, seconds: Option<u64>, diaries: &Client<Diary>) -> Result<String, Failure> {
        let call = diaries.get("d").wait();
        let call = match seconds {
            Some(seconds) => call.deadline(Duration::from_secs(seconds)),
            None => call,
        };
        Ok(match call.await {
            Err(drystone::CallError::Fault(Error::Deadline { .. })) => "too late".into(),
            other => format!("{other:?}"),
        })
    }

    async fn whisper(&self, diaries: &Client<Diary>) {
        diaries.send(diaries.get("d").write("x".into()));
    }

    async fn mumble(&self, cx: &Context) {
        cx.emit("person.mumbles", &());
    }

    async fn doze(&self, cx: &Context) {
        cx.alarm_in(d!("1s"));
    }

    #[alarm]
    async fn wake(&mut self) -> Result<(), Never> {
        Ok(())
    }

    async fn shout_to_nobody(&mut self, diaries: &Client<Diary>) {
        diaries.send(diaries.get("").write("x".into()));
    }
}

#[derive(Primitives)]
struct App {
    diary: Diary,
    person: Person,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

async fn diary(world: &World<App>, key: &str) -> Vec<String> {
    world.client().diary(key).state().await.unwrap().map_or_else(Vec::new, |diary| diary.lines)
}

/// M1, M2, E1: Messages leave with the commit of the sender.
#[tokio::test]
async fn messages_arrive_in_order_and_bind_their_receiver() {
    for setup in both() {
        let (world, _) = started(setup).await;
        world.client().person("ada").tell(lines(&["a", "b"])).await.unwrap();
        world.client().person("ada").tell(lines(&["c"])).await.unwrap();
        assert_eq!(diary(&world, "ada's diary").await, ["a", "b", "c"]);
    }
}

/// M1, E5
#[tokio::test]
async fn code_that_fails_sends_nothing() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().person("ada").tell(lines(&["a", "stop"])).await.unwrap_err();
        world.advance(d!("1h")).await;
        assert_eq!((fakes.log.take(), world.view("diary", "ada's diary").await.unwrap()), (vec![], None));
        assert_eq!(world.client().person("ada").state().await.unwrap(), None);
    }
}

/// M1
#[tokio::test]
async fn a_message_is_taken_exactly_once_whatever_commit_the_process_dies_at() {
    let mut deaths = 0;
    for moment in [Moment::Before, Moment::After] {
        for n in 1.. {
            let (world, _) = started(World::memory()).await;
            world.crash_at_commit(n, moment);
            let told = world.client().person("ada").tell(lines(&["a", "b"])).idempotency_key("t").await;
            let has_died = world.is_dead();
            if has_died {
                deaths += 1;
                world.restart().await;
                world.client().person("ada").tell(lines(&["a", "b"])).idempotency_key("t").await.unwrap();
            } else {
                told.unwrap();
            }
            world.advance(d!("1h")).await;
            assert_eq!(diary(&world, "ada's diary").await, ["a", "b"], "{n} {moment:?}");
            assert_eq!(world.client().person("ada").state().await.unwrap().unwrap().told, 2, "{n} {moment:?}");
            if !has_died {
                break;
            }
        }
    }
    assert!(deaths >= 4, "{deaths}");
}

/// M4, D2, E14: After its attempts under one work id it is a dead letter.
#[tokio::test]
async fn a_message_whose_code_fails_blocks_no_other_sender() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().person("ada").tell(lines(&["unspeakable"])).await.unwrap();
        assert_eq!(world.client().diary("ada's diary").write("mine".into()).await.unwrap(), 1);
        world.advance(d!("1h")).await;
        let said = fakes.log.take();
        let tries: Vec<_> = said.iter().filter(|line| line.starts_with("unspeakable")).collect();
        let ids: BTreeSet<_> = tries.iter().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(ids.len(), 1, "{said:?}");
        let letters = world.dead_letters().list(Default::default()).await.unwrap().letters;
        assert_eq!(letters.len(), 1);
        assert_eq!((letters[0].definition.as_str(), letters[0].action.as_deref()), ("diary", Some("write")));
        assert_eq!(letters[0].attempts as usize, tries.len());
        assert!(letters[0].error.as_ref().is_some_and(|error| error.to_string().contains("I will not write that")));
        world.client().person("ada").tell(lines(&["after"])).await.unwrap();
        assert_eq!(diary(&world, "ada's diary").await, ["mine", "after"]);
    }
}

/// M3
#[tokio::test]
async fn a_call_in_a_circle_is_refused_and_names_the_circle() {
    for setup in both() {
        let (world, _) = started(setup).await;
        world.client().diary("me").write("begun".into()).await.unwrap();
        let refused = world.client().person("p").ask("me".into()).await.unwrap_err().to_string();
        assert!(refused.contains("these wait for one another: person/p → diary/me → person/p"), "{refused}");
        assert_eq!(diary(&world, "me").await, ["begun"]);
    }
}

/// M3
#[tokio::test]
async fn a_call_from_inside_waits_thirty_seconds_by_default() {
    for setup in both() {
        let (world, _) = started(setup).await;
        world.client().diary("d").write("x".into()).await.unwrap();
        for (said, seconds) in [(None, 30_u64), (Some(5), 5)] {
            let person = world.client().person("p");
            let (answer, ()) = tokio::join!(person.wait_for(said).deadline(d!("10m")), async {
                world.advance(Duration::from_secs(seconds) - d!("1ms")).await;
                let explained = person.explain().await.unwrap().to_string();
                assert!(explained.contains("wait_for") && explained.contains("is running"), "{explained}");
                world.advance(d!("1ms")).await;
            });
            assert_eq!(answer.unwrap(), "too late");
        }
    }
}

/// M3, E5
#[tokio::test]
async fn a_call_from_inside_is_answered_with_what_the_other_says() {
    for setup in both() {
        let (world, _) = started(setup).await;
        assert_eq!(world.client().person("p").write("x".into()).await.unwrap(), 1);
        let refused = world.client().person("p").write("unspeakable".into()).await.unwrap_err();
        assert_eq!(refused.failed().unwrap().message(), "I will not write that");
        assert_eq!(world.client().person("p").state().await.unwrap().unwrap().told, 1);
    }
}

/// M1, E3
#[tokio::test]
async fn reading_code_that_says_something_fails_and_nothing_is_lost_quietly() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let person = world.client().person("p");
        person.start().await.unwrap();
        for refused in [person.whisper().await, person.mumble().await, person.doze().await] {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("take `&mut self`"), "{refused}");
        }
        world.advance(d!("1h")).await;
        assert_eq!((world.view("diary", "d").await.unwrap(), world.events().len()), (None, 0));
    }
}

/// M1, K3
#[tokio::test]
async fn code_that_sends_what_cannot_be_sent_fails_and_says_why() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let refused = world.client().person("p").shout_to_nobody().await.unwrap_err();
        assert!(refused.to_string().contains("bytes of a key (at least one)"), "{refused}");
        assert_eq!(world.view("person", "p").await.unwrap(), None);
    }
}

//! The process dies before and after every commit of a scenario: nothing is lost and nothing is doubled.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::collections::BTreeSet;

use drystone::{
    Batch, Context, Failure, Primitives, Services, d, primitive,
    testing::{Log, Moment, Setup, World},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

/// Counts its ticks; the second one fails at first.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counter {
    ticks: u64,
}

#[primitive(continuous, every = "10s", retry = "1s")]
impl Counter {
    #[tick]
    async fn tick(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        assert_eq!(self.ticks, cx.run_count());
        log.say(format!("{}/{}", cx.run_count(), cx.attempt()));
        self.ticks += 1;
        if cx.run_count() == 1 && cx.attempt() == 1 { Err("stumbles".into()) } else { Ok(()) }
    }
}

/// Keeps flushed items. A batch with a 3 fails at first, and one with a 7 always.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Bin {
    kept: Vec<u32>,
}

#[primitive(buffer, max_items = 2, max_wait = "10s", max_attempts = 2, backoff = "1s")]
impl Bin {
    #[flush]
    async fn keep(&mut self, batch: Batch<u32>, log: &Log) -> Result<(), Failure> {
        log.say(format!("{} {:?}", batch.id, batch.items));
        self.kept.extend(&batch.items);
        let fails = batch.items.contains(&7) || (batch.items.contains(&3) && batch.attempt == 1);
        if fails { Err("not this one".into()) } else { Ok(()) }
    }
}

/// Gets one reminder for each note.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Note {
    open: Vec<u32>,
    done: Vec<u32>,
}

#[primitive(object, retry = "1s")]
impl Note {
    async fn remember(&mut self, what: u32, cx: &Context) -> usize {
        self.open.push(what);
        cx.alarm_in(d!("10s"));
        self.open.len()
    }
    #[alarm]
    async fn remind(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        log.say(format!("{:?} {}", self.open, cx.attempt()));
        self.done.append(&mut self.open);
        if self.done.contains(&2) && cx.attempt() == 1 { Err("engaged".into()) } else { Ok(()) }
    }
}

#[derive(Primitives)]
struct App {
    counter: Counter,
    bin: Bin,
    note: Note,
}

async fn started(setup: Setup<()>) -> (World<App>, Log) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes.log)
}

/// Runs a scenario with a death at each of its commits in turn, and checks the end of each. After a death
/// the scenario runs again; its calls carry idempotency keys.
async fn at_every_commit(tell: impl AsyncFn(&World<App>) -> bool, look: impl AsyncFn(&World<App>, &Log, &str)) {
    for (index, make) in [World::memory, World::sqlite].into_iter().enumerate() {
        for moment in [Moment::Before, Moment::After] {
            let mut n = 0;
            loop {
                n += 1;
                let (world, log) = started(make()).await;
                world.crash_at_commit(n, moment);
                tell(&world).await;
                let has_died = world.is_dead();
                if has_died {
                    world.restart().await;
                    assert!(tell(&world).await, "the second time nothing stands in its way");
                }
                look(&world, &log, &format!("store {index}, commit {n}, {moment:?}")).await;
                if !has_died {
                    break;
                }
            }
            assert!(n > 4, "the story has {n} commits");
        }
    }
}

/// C5, C6, A2, R1
#[tokio::test]
async fn a_continuous_entity_counts_every_tick_once() {
    let tell = async |world: &World<App>| {
        let asked = world.client().counter("c").start().idempotency_key("start").await;
        world.advance(d!("25s")).await;
        asked.is_ok()
    };
    at_every_commit(tell, async |world, log, when| {
        let (counter, said) = (world.client().counter("c"), log.take());
        let (state, status) = (counter.state().await.unwrap().unwrap(), counter.status().await.unwrap().unwrap());
        assert_eq!((state.ticks, status.run_count), (status.run_count, state.ticks), "{when}");
        assert!(status.run_count >= 2, "{when}: {status:?}");
        // Each number ran, and only the work in progress at the death ran again.
        let runs: BTreeSet<&str> = said.iter().map(String::as_str).collect();
        assert!(["0/1", "1/1", "1/2"].iter().all(|run| runs.contains(run)), "{when}: {said:?}");
        assert!(said.len() <= runs.len() + 1, "{when}: {said:?}");
    })
    .await;
}

/// B3, B4, B5, D2: In one batch, or in one dead letter.
#[tokio::test]
async fn every_item_of_a_buffer_is_flushed_or_dead_once() {
    let tell = async |world: &World<App>| {
        let mut is_told = true;
        for item in 1..=9_u32 {
            is_told &= world.client().bin("b").add(item).idempotency_key(item.to_be_bytes()).await.is_ok();
        }
        world.advance(d!("1m")).await;
        is_told
    };
    at_every_commit(tell, async |world, log, when| {
        let bin = world.client().bin("b");
        let letters = world.dead_letters().list(Default::default()).await.unwrap().letters;
        assert_eq!(letters.len(), 1, "{when}: {letters:?}");
        let items = world.dead_letters().items(letters[0].id, None).await.unwrap().items;
        let dead = items.iter().map(|item| item.as_u64().unwrap() as u32);
        let mut all: Vec<u32> = bin.state().await.unwrap().unwrap().kept.into_iter().chain(dead).collect();
        all.sort_unstable();
        assert_eq!(all, (1..=9).collect::<Vec<_>>(), "{when}: {:?}", log.take());
        let status = bin.status().await.unwrap().unwrap();
        assert_eq!((status.open, status.closed.batches), (0, 0), "{when}");
        // Executions that were repeated had the same id and the same items.
        let said = log.take();
        let pairs: BTreeSet<&String> = said.iter().collect();
        let ids: BTreeSet<&str> = said.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(pairs.len(), ids.len(), "{when}: {said:?}");
    })
    .await;
}

/// A2, A3, E5, E7
#[tokio::test]
async fn an_alarm_of_an_object_does_each_thing_once() {
    let tell = async |world: &World<App>| {
        let mut is_told = true;
        for what in [1, 2] {
            is_told &= world.client().note("n").remember(what).idempotency_key([what as u8]).await.is_ok();
            world.advance(d!("15s")).await;
        }
        is_told
    };
    at_every_commit(tell, async |world, log, when| {
        let note = world.client().note("n");
        let state = note.state().await.unwrap().unwrap();
        assert_eq!((state.open.as_slice(), state.done.as_slice()), (&[][..], &[1, 2][..]), "{when}: {:?}", log.take());
        let status = note.status().await.unwrap().unwrap();
        assert_eq!((status.alarm, status.failures), (None, 0), "{when}");
    })
    .await;
}

/// R4, B2
#[tokio::test]
async fn lost_answers_and_lost_commits_lose_and_double_nothing() {
    use drystone::testing::Fault;
    for fault in [Fault::LostAnswer, Fault::LostCommit] {
        for setup in both() {
            let (world, _) = started(setup).await;
            world.client().bin("b").add(1).await.unwrap();
            world.store_fails(fault);
            let (added, ()) = tokio::join!(world.client().bin("b").add(2), world.advance(d!("20s")));
            added.unwrap();
            assert_eq!(world.client().bin("b").state().await.unwrap().unwrap().kept, [1, 2], "{fault:?}");
        }
    }
}

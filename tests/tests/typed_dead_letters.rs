//! Dead letters: batches, items, events and messages that could not be handled, kept for a person.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Batch, CallError, Client, Context, Failure, Primitives, Services, d,
    dead_letters::{Filter, LetterError, Payload, What},
    primitive,
    testing::{Log, Moment, Setup, World},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The services of a test: a log, and a door that is shut at first.
#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    door: Door,
}

#[derive(Clone, Default)]
struct Door(std::sync::Arc<std::sync::atomic::AtomicBool>);

impl Door {
    fn opens(&self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
    fn pass(&self) -> Result<(), Failure> {
        if self.0.load(std::sync::atomic::Ordering::Relaxed) { Ok(()) } else { Err("the door is shut".into()) }
    }
}

/// Carries items through the door.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cart {
    carried: Vec<u32>,
}

#[primitive(buffer, max_items = 2, max_attempts = 2, backoff = "1s")]
impl Cart {
    #[flush]
    async fn carry(&mut self, batch: Batch<u32>, log: &Log, door: &Door) -> Result<(), Failure> {
        log.say(format!("{} {:?} {:?}", batch.id, batch.reason, batch.items));
        door.pass()?;
        self.carried.extend(batch.items);
        Ok(())
    }
}

/// Passes the door itself.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Guest {
    visits: Vec<String>,
}

#[primitive(object)]
impl Guest {
    async fn visit(&mut self, whom: String, door: &Door) -> Result<(), Failure> {
        door.pass()?;
        self.visits.push(whom);
        Ok(())
    }
    async fn invite(&mut self, who: String, guests: &Client<Guest>, cx: &Context) {
        guests.send(guests.get(who).visit(cx.key_text()));
    }
}

#[derive(Primitives)]
struct App {
    cart: Cart,
    spare: Spare,
    guest: Guest,
}

/// Another buffer with items of the same type.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Spare {
    carried: Vec<u32>,
}

#[primitive(buffer, max_items = 2)]
impl Spare {
    #[flush]
    async fn carry(&mut self, batch: Batch<u32>) -> Result<(), Failure> {
        self.carried.extend(batch.items);
        Ok(())
    }
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// A world with a dead batch of `c` and a dead message from `host` to `g`.
async fn with_two(setup: Setup<()>) -> (World<App>, Fakes) {
    let (world, fakes) = started(setup).await;
    world.client().cart("c").add(1).await.unwrap();
    world.client().cart("c").add(2).await.unwrap();
    world.advance(d!("10m")).await;
    world.client().guest("host").invite("g".into()).await.unwrap();
    world.advance(d!("10m")).await;
    fakes.log.take();
    (world, fakes)
}

async fn ids(world: &World<App>, filter: Filter) -> Vec<u64> {
    world.dead_letters().list(filter).await.unwrap().letters.iter().map(|letter| letter.id).collect()
}

/// D2: Also where it was going, and when.
#[tokio::test]
async fn a_letter_says_what_it_was_and_why_it_died() {
    for setup in both() {
        let (world, _) = with_two(setup).await;
        let start = world.now();
        let letters = world.dead_letters().list(Filter::default()).await.unwrap().letters;
        let [batch, message] = letters.as_slice() else { panic!("{letters:?}") };
        assert_eq!((batch.what, batch.definition.as_str(), batch.key.as_str()), (What::Batch, "cart", "c"));
        assert_eq!((batch.attempts, batch.count, batch.kind.as_deref()), (2, 2, Some("buffer")));
        assert!(batch.error.as_ref().unwrap().to_string().contains("the door is shut"));
        assert_eq!(start.since(batch.died_at), d!("20m") - d!("1s"));
        let errors: Vec<_> =
            batch.errors.iter().map(|past| (past.error.message(), batch.died_at.since(past.at))).collect();
        assert_eq!(errors, [("the door is shut", d!("1s")), ("the door is shut", d!("0s"))]);
        assert_eq!((message.what, message.definition.as_str(), message.key.as_str()), (What::Message, "guest", "g"));
        assert_eq!((message.action.as_deref(), message.kind.as_deref()), (Some("visit"), Some("object")));
        assert!(message.from.as_deref().unwrap().contains("host"), "{message:?}");
        let payload = world.dead_letters().get(message.id).await.unwrap().payload;
        assert_eq!(payload, Payload::Message(json!(["host"])));
        let Payload::Batch(items) = world.dead_letters().get(batch.id).await.unwrap().payload else { panic!() };
        assert_eq!((items.items, items.next), (vec![json!(1), json!(2)], None));
    }
}

/// D3: A page at a time.
#[tokio::test]
async fn letters_are_listed_by_primitive_key_and_kind() {
    for setup in both() {
        let (world, _) = with_two(setup).await;
        let all = ids(&world, Filter::default()).await;
        let (batch, message) = (vec![all[0]], vec![all[1]]);
        let of = |filter| ids(&world, filter);
        assert_eq!(of(Filter { what: Some(What::Message), ..Filter::default() }).await, message);
        assert_eq!(of(Filter { definition: Some("cart".into()), ..Filter::default() }).await, batch);
        assert_eq!(of(Filter { key: Some(b"g".to_vec()), ..Filter::default() }).await, message);
        assert_eq!(of(Filter { kind: Some("buffer".into()), ..Filter::default() }).await, batch);
        assert_eq!(of(Filter { kind: Some("continuous".into()), ..Filter::default() }).await, Vec::<u64>::new());
        let page = world.dead_letters().list(Filter { limit: 1, ..Filter::default() }).await.unwrap();
        assert_eq!((page.letters[0].id, page.next.is_some()), (all[0], true));
        assert_eq!(of(Filter { after: page.next, ..Filter::default() }).await, message);
        assert_eq!(world.dead_letters().count().await.unwrap(), 2);
    }
}

/// D3, B4: The receiver wakes.
#[tokio::test]
async fn a_replay_delivers_a_letter_and_removes_it() {
    for setup in both() {
        let (world, fakes) = with_two(setup).await;
        let all = ids(&world, Filter::default()).await;
        let was = world.dead_letters().get(all[0]).await.unwrap();
        fakes.door.opens();
        for id in &all {
            world.dead_letters().replay(*id).await.unwrap();
        }
        world.settle().await;
        let said = fakes.log.take();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("flush/1 Replay [1, 2]"), "{said:?} {was:?}");
        assert_eq!(world.client().cart("c").state().await.unwrap().unwrap().carried, [1, 2]);
        assert_eq!(world.client().guest("g").state().await.unwrap().unwrap().visits, ["host"]);
        assert_eq!(world.dead_letters().count().await.unwrap(), 0);
        let again = world.dead_letters().replay(all[0]).await;
        assert!(matches!(again, Err(CallError::Failed(LetterError::Unknown { id })) if id == all[0]), "{again:?}");
    }
}

/// D3
#[tokio::test]
async fn a_replay_that_fails_is_a_letter_again() {
    for setup in both() {
        let (world, fakes) = with_two(setup).await;
        for id in ids(&world, Filter::default()).await {
            world.dead_letters().replay(id).await.unwrap();
        }
        world.advance(d!("10m")).await;
        assert_eq!(world.dead_letters().count().await.unwrap(), 2);
        fakes.door.opens();
        for id in ids(&world, Filter::default()).await {
            world.dead_letters().replay(id).await.unwrap();
        }
        world.advance(d!("10m")).await;
        assert_eq!(world.client().cart("c").state().await.unwrap().unwrap().carried, [1, 2]);
        assert_eq!(world.client().guest("g").state().await.unwrap().unwrap().visits, ["host"]);
    }
}

/// D3
#[tokio::test]
async fn a_replay_is_done_once_whatever_commit_the_process_dies_at() {
    let mut deaths = 0;
    for moment in [Moment::Before, Moment::After] {
        for n in 1.. {
            let (world, fakes) = with_two(World::memory()).await;
            fakes.door.opens();
            world.crash_at_commit(n, moment);
            let all = ids(&world, Filter::default()).await;
            for id in &all {
                drop(world.dead_letters().replay(*id).await);
            }
            world.settle().await;
            let has_died = world.is_dead();
            deaths += u32::from(has_died);
            if has_died {
                world.restart().await;
                for id in ids(&world, Filter::default()).await {
                    world.dead_letters().replay(id).await.unwrap();
                }
            }
            world.advance(d!("10m")).await;
            assert_eq!(world.client().cart("c").state().await.unwrap().unwrap().carried, [1, 2], "{n} {moment:?}");
            assert_eq!(world.client().guest("g").state().await.unwrap().unwrap().visits, ["host"], "{n} {moment:?}");
            assert_eq!(world.dead_letters().count().await.unwrap(), 0);
            if !has_died {
                break;
            }
        }
    }
    assert!(deaths >= 6, "{deaths}");
}

/// D3, E9: An unknown primitive is refused, with those there are.
#[tokio::test]
async fn a_letter_is_replayed_to_another_entity() {
    for setup in both() {
        let (world, fakes) = with_two(setup).await;
        let all = ids(&world, Filter::default()).await;
        let refused = world.dead_letters().replay_to(all[0], "wagon", "x").await.unwrap_err().to_string();
        assert_eq!(refused, "no primitive named `wagon`; this app has: cart, guest, spare");
        world.dead_letters().replay_to(all[0], "spare", "s").await.unwrap();
        fakes.door.opens();
        world.dead_letters().replay_to(all[1], "guest", "other").await.unwrap();
        world.settle().await;
        assert_eq!(world.client().spare("s").state().await.unwrap().unwrap().carried, [1, 2]);
        assert_eq!(world.client().guest("other").state().await.unwrap().unwrap().visits, ["host"]);
    }
}

/// D3
#[tokio::test]
async fn letters_are_removed_one_by_one_or_all_that_are_older() {
    for setup in both() {
        let (world, _) = with_two(setup).await;
        let all = ids(&world, Filter::default()).await;
        let letters = world.dead_letters().list(Filter::default()).await.unwrap().letters;
        assert_eq!(world.dead_letters().remove_older(letters[1].died_at).await.unwrap(), 1);
        assert_eq!(ids(&world, Filter::default()).await, [all[1]]);
        world.dead_letters().remove(all[1]).await.unwrap();
        let again = world.dead_letters().remove(all[1]).await;
        assert!(matches!(again, Err(CallError::Failed(LetterError::Unknown { .. }))), "{again:?}");
        assert_eq!(world.dead_letters().count().await.unwrap(), 0);
    }
}

/// D2: The letter outlives the buffer.
#[tokio::test]
async fn a_dead_batch_is_replayed_to_a_new_buffer() {
    for setup in both() {
        let (world, fakes) = with_two(setup).await;
        world.client().cart("c").destroy().await.unwrap();
        world.restart().await;
        world.advance(d!("1d")).await;
        fakes.door.opens();
        let batch = ids(&world, Filter { what: Some(What::Batch), ..Filter::default() }).await[0];
        world.dead_letters().replay(batch).await.unwrap();
        world.settle().await;
        assert_eq!(world.client().cart("c").state().await.unwrap().unwrap().carried, [1, 2]);
    }
}

/// D3
#[tokio::test]
async fn letters_expire_and_that_is_told() {
    for setup in both() {
        let (world, _) = with_two(setup).await;
        world.events();
        world.advance(d!("29d")).await;
        assert_eq!((world.dead_letters().count().await.unwrap(), world.events().len()), (2, 0));
        world.advance(d!("1d")).await;
        assert_eq!(world.dead_letters().count().await.unwrap(), 0);
        let events = world.events();
        assert!(names(&events).iter().all(|name| *name == "dead_letter.expired") && !events.is_empty());
    }
}

//! Messages without a taker are kept. A person lists, replays and removes them.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod office;

use std::sync::Arc;

use drystone::{
    Builder, CallError, Error, Runtime, Timestamp,
    dead_letters::{Filter, LetterError, Payload, What},
    runtime::{Call, Driver, Store, driver::TokioDriver, store::Memory},
    testing::{self, Moment},
};
use office::{Clock, Office, World, free, heard, start, until, words};
use serde_json::json;

/// The same on each store.
async fn everywhere(test: impl AsyncFn(Builder<()>)) {
    let folder = tempfile::tempdir().unwrap();
    test(Runtime::memory()).await;
    test(Runtime::memory().shared_keys()).await;
    test(Runtime::sqlite(folder.path().join("app.db"))).await;
}

/// An app with one dead letter: the word `a` from `s` to `t`.
async fn with_one(builder: Builder<()>, world: &World) -> Runtime<Office> {
    let runtime = start(builder, world).await;
    let mut events = runtime.events();
    runtime.client().sender("s").say("t".into(), "a".into()).await.unwrap();
    heard(&mut events, "dead_letter.added").await;
    runtime
}

/// D2, D3, M4: It is taken once when it is replayed.
#[tokio::test]
async fn a_message_that_always_fails_is_a_letter() {
    everywhere(async |builder| {
        let world = World::broken();
        let runtime = start(builder, &world).await;
        let (client, letters, mut events) = (runtime.client(), runtime.dead_letters(), runtime.events());
        client.sender("s").say("t".into(), "a".into()).await.unwrap();
        let added = heard(&mut events, "dead_letter.added").await;
        assert_eq!((&added.fields["definition"], &added.fields["key"]), (&json!("taker"), &json!("t")));

        let page = letters.list(Filter::default()).await.unwrap();
        let [letter] = &page.letters[..] else { panic!("{page:?}") };
        assert_eq!((letter.what, &*letter.definition, &*letter.key), (What::Message, "taker", "t"));
        assert_eq!((letter.kind.as_deref(), letter.action.as_deref()), (Some("object"), Some("take")));
        assert_eq!((letter.attempts, letter.count), (2, 1));
        assert!(letter.from.as_deref().unwrap().ends_with("/s"), "{letter:?}");
        assert_eq!(letter.error, Some(json!({ "wanted": "taken a" })));
        assert_eq!(letters.get(letter.id).await.unwrap().payload, Payload::Message(json!(["a"])));

        world.mend();
        letters.replay(letter.id).await.unwrap();
        until("it is taken", async || !world.log().is_empty()).await;
        until("it is kept", async || words(&runtime, "t").await == ["a"]).await;
        assert_eq!(letters.count().await.unwrap(), 0);
        let again = letters.replay(letter.id).await.unwrap_err();
        assert_eq!(again.failed(), Some(LetterError::Unknown { id: letter.id }));
        // Whatever is sent after it comes after it: had it been sent twice, it would be here by now.
        client.sender("s").say("t".into(), "b".into()).await.unwrap();
        until("b is taken", async || words(&runtime, "t").await.len() > 1).await;
        assert_eq!(words(&runtime, "t").await, ["a", "b"]);
        assert_eq!(world.log(), ["taken a", "taken b"]);
    })
    .await;
}

/// D2
#[tokio::test]
async fn letters_survive_the_death_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let (path, world) = (folder.path().join("app.db"), World::broken());
    // Without a shutdown: everything stops where it is.
    drop(with_one(Runtime::sqlite(&path), &world).await);
    world.mend();
    free(&path).await;
    let runtime = start(Runtime::sqlite(&path), &world).await;
    let letters = runtime.dead_letters();
    let page = letters.list(Filter::default()).await.unwrap();
    letters.replay(page.letters[0].id).await.unwrap();
    until("it is taken", async || words(&runtime, "t").await == ["a"]).await;
}

/// D2, D3
#[tokio::test]
async fn a_batch_is_kept_by_reference_and_flushed_again() {
    everywhere(async |builder| {
        let world = World::broken();
        let runtime = start(builder, &world).await;
        let (client, letters, mut events) = (runtime.client(), runtime.dead_letters(), runtime.events());
        client.outbox("o").add("a".into()).await.unwrap();
        client.outbox("o").add("b".into()).await.unwrap();
        heard(&mut events, "dead_letter.added").await;

        let page = letters.list(Filter { what: Some(What::Batch), ..Filter::default() }).await.unwrap();
        let letter = &page.letters[0];
        assert_eq!((&*letter.definition, &*letter.key, letter.count), ("outbox", "o", 2));
        assert_eq!(letter.kind.as_deref(), Some("buffer"));
        assert_eq!(letter.reason, "its flush failed: the world does not take flushed a,b");
        let Payload::Batch(items) = letters.get(letter.id).await.unwrap().payload else { panic!("not a batch") };
        assert_eq!((items.items, items.next), (vec![json!("a"), json!("b")], None));

        world.mend();
        letters.replay(letter.id).await.unwrap();
        let replayed = heard(&mut events, "buffer.flushed").await;
        assert_eq!(replayed.fields["reason"], "replay");
        assert_eq!(world.log(), ["flushed a,b"]);
        assert_eq!(letters.count().await.unwrap(), 0);
    })
    .await;
}

/// D2
#[tokio::test]
async fn a_batch_replayed_to_another_entity_and_back_is_a_batch() {
    everywhere(async |builder| {
        let world = World::broken();
        let runtime = start(builder, &world).await;
        let (letters, mut events) = (runtime.dead_letters(), runtime.events());
        let outbox = runtime.client().outbox("o");
        outbox.add("a".into()).await.unwrap();
        outbox.add("b".into()).await.unwrap();
        heard(&mut events, "dead_letter.added").await;
        let first = letters.list(Filter::default()).await.unwrap().letters.remove(0);
        // A taker takes no batches.
        letters.replay_to(first.id, "taker", "t").await.unwrap();
        heard(&mut events, "dead_letter.added").await;
        let second = letters.list(Filter::default()).await.unwrap().letters.remove(0);
        assert_eq!((second.what, &*second.definition, second.count), (What::Batch, "taker", 2));
        world.mend();
        letters.replay_to(second.id, "outbox", "other").await.unwrap();
        assert_eq!(heard(&mut events, "buffer.flushed").await.key, "other");
        assert_eq!(world.log(), ["flushed a,b"]);
    })
    .await;
}

/// D2
#[tokio::test]
async fn a_batch_that_is_removed_leaves_no_rows() {
    let driver: Arc<dyn Driver> = Arc::new(TokioDriver::new().unwrap());
    let clock = driver.clone();
    let store: Arc<dyn Store> = Arc::new(Memory::new(move || clock.now(), 1));
    let runtime = start(Runtime::store(store.clone()), &World::broken()).await;
    let (letters, mut events) = (runtime.dead_letters(), runtime.events());
    let outbox = runtime.client().outbox("o");
    outbox.add("a".into()).await.unwrap();
    outbox.add("b".into()).await.unwrap();
    heard(&mut events, "dead_letter.added").await;
    let id = letters.list(Filter::default()).await.unwrap().letters[0].id;
    let entity = runtime.kernel().view(&outbox.address().full_key().unwrap()).await.unwrap().unwrap().entity.id;
    let rows = async || {
        let range = drystone::runtime::Range::first("batch/1", 10);
        let read = drystone::runtime::store::Read::Rows { entity, range };
        store.read(&[read]).await.unwrap().remove(0).into_rows().len()
    };
    assert_eq!(rows().await, 2, "held");
    letters.remove(id).await.unwrap();
    heard(&mut events, "dead_letter.removed").await;
    assert_eq!(rows().await, 0, "released");
    assert_eq!(letters.get(id).await.unwrap_err().failed(), Some(LetterError::Unknown { id }));
}

/// A3, D2
#[tokio::test]
async fn a_last_state_can_be_read_and_not_replayed() {
    everywhere(async |builder| {
        let runtime = start(builder, &World::default()).await;
        let (letters, mut events) = (runtime.dead_letters(), runtime.events());
        runtime.client().clock("c").start_with(Clock { hour: 7 }).await.unwrap();
        heard(&mut events, "dead_letter.added").await;
        let letter = letters.list(Filter::default()).await.unwrap().letters.remove(0);
        assert_eq!((letter.what, &*letter.definition, &*letter.key), (What::State, "clock", "c"));
        assert_eq!(letter.error.as_ref().unwrap()["message"], "the spring is broken");
        assert_eq!(letters.get(letter.id).await.unwrap().payload, Payload::State(json!({ "hour": 7 })));
        let refused = letters.replay(letter.id).await.unwrap_err();
        assert!(refused.to_string().contains("cannot be replayed"), "{refused}");
        assert!(matches!(refused, CallError::Failed(LetterError::NotReplayable { .. })));
        assert!(matches!(letters.items(letter.id, None).await, Err(CallError::Failed(LetterError::NotABatch { .. }))));
        assert_eq!(letters.count().await.unwrap(), 1, "a refused replay takes nothing away");
    })
    .await;
}

/// D3
#[tokio::test]
async fn letters_are_listed_by_source_a_page_at_a_time() {
    let runtime = start(Runtime::memory(), &World::broken()).await;
    let (client, letters) = (runtime.client(), runtime.dead_letters());
    for number in 0..5 {
        client.sender("s").say(format!("t{number}"), "a".into()).await.unwrap();
    }
    client.outbox("o").add("a".into()).await.unwrap();
    client.outbox("o").add("b".into()).await.unwrap();
    until("all are dead", async || letters.count().await.unwrap() == 6).await;

    let takers = Filter { definition: Some("taker".into()), limit: 2, ..Filter::default() };
    let (mut keys, mut after) = (Vec::new(), None);
    loop {
        let page = letters.list(Filter { after, ..takers.clone() }).await.unwrap();
        assert!(page.letters.len() <= 2);
        keys.extend(page.letters.iter().map(|letter| letter.key.clone()));
        // The removal of a letter does not move the others.
        letters.remove(page.letters[0].id).await.unwrap();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    keys.sort();
    assert_eq!(keys, ["t0", "t1", "t2", "t3", "t4"]);
    let buffers = letters.list(Filter { kind: Some("buffer".into()), ..Filter::default() }).await.unwrap();
    assert_eq!(buffers.letters.len(), 1);
    let of_key = letters.list(Filter { key: Some(b"nobody".to_vec()), ..Filter::default() }).await.unwrap();
    assert!(of_key.letters.is_empty());
}

/// D3: An unknown primitive is refused, with those there are.
#[tokio::test]
async fn a_letter_is_replayed_to_another_entity() {
    let world = World::broken();
    let runtime = with_one(Runtime::memory(), &world).await;
    let letters = runtime.dead_letters();
    let id = letters.list(Filter::default()).await.unwrap().letters[0].id;
    world.mend();
    let unknown = letters.replay_to(id, "takr", "u").await.unwrap_err();
    assert!(unknown.to_string().ends_with("this app has: clock, outbox, sender, taker, watch"), "{unknown}");
    letters.replay_to(id, "taker", "u").await.unwrap();
    until("it is taken there", async || words(&runtime, "u").await == ["a"]).await;
    assert!(words(&runtime, "t").await.is_empty());
}

/// D3
#[tokio::test]
async fn those_that_died_before_a_time_are_removed() {
    everywhere(async |builder| {
        let runtime = with_one(builder, &World::broken()).await;
        let letters = runtime.dead_letters();
        let died_at = letters.list(Filter::default()).await.unwrap().letters[0].died_at;
        assert_eq!(letters.remove_older(died_at).await.unwrap(), 0);
        let later = Timestamp::from_millis(died_at.as_millis() + 1);
        assert_eq!(letters.remove_older(later).await.unwrap(), 1);
        assert_eq!(letters.count().await.unwrap(), 0);
    })
    .await;
}

/// D3
#[tokio::test]
async fn an_app_without_dead_letters_has_none() {
    let runtime = start(Runtime::memory(), &World::default()).await;
    let letters = runtime.dead_letters();
    assert_eq!(letters.count().await.unwrap(), 0);
    assert!(letters.list(Filter::default()).await.unwrap().letters.is_empty());
    assert_eq!(letters.remove_older(runtime.now()).await.unwrap(), 0);
    assert_eq!(letters.remove(3).await.unwrap_err().failed(), Some(LetterError::Unknown { id: 3 }));
}

/// E9
#[tokio::test]
async fn the_box_itself_is_no_primitive_of_the_app() {
    let runtime = start(Runtime::memory(), &World::default()).await;
    let asked = runtime.call("drystone:dead_letters", "dead-letters", "count", json!(null)).await;
    assert!(matches!(asked, Err(Error::UnknownDefinition { .. })));
}

/// D3, E4
#[tokio::test]
async fn a_crash_around_a_replay_loses_nothing_and_repeats_nothing() {
    for moment in [Moment::Before, Moment::After] {
        let outside = World::broken();
        let world = testing::World::sqlite().services(outside.clone()).start::<Office>().await;
        world.client().sender("s").say("t".into(), "a".into()).await.unwrap();
        world.advance(drystone::d!("10m")).await;
        let ask = async |verb: &'static str, body: &'static str| {
            let kernel = world.kernel();
            let call = kernel.call(Call::new("drystone:dead_letters", "dead-letters", verb, body));
            // The time of the world moves only when the test says so.
            tokio::join!(call, world.settle()).0
        };
        assert_eq!(ask("count", "[]").await.unwrap(), "1");
        outside.mend();
        world.crash_at_commit(1, moment);
        assert!(ask("replay", "[0]").await.is_err(), "nobody is told of what may not be durable");
        world.restart().await;
        // Either it happened, or it did not and happens now.
        let again = ask("replay", "[0]").await;
        assert_eq!(again.is_ok(), moment == Moment::Before, "{again:?}");
        world.advance(drystone::d!("10m")).await;
        assert_eq!(world.client().taker("t").state().await.unwrap().unwrap().words, ["a"]);
        assert_eq!(ask("count", "[]").await.unwrap(), "0");
    }
}

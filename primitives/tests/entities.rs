//! Entities are listed and filtered, a page at a time, and called by name.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod office;

use drystone::{
    Builder, Error, Runtime, Timestamp,
    entities::{Cursor, Page},
};
use office::{Clock, Mistaken, Office, Taker, Watch, World, free, heard, start, until, words};
use serde_json::json;

async fn everywhere(test: impl AsyncFn(Builder<()>)) {
    let folder = tempfile::tempdir().unwrap();
    test(Runtime::memory()).await;
    test(Runtime::memory().shared_keys()).await;
    test(Runtime::sqlite(folder.path().join("app.db"))).await;
}

async fn with_takers(builder: Builder<()>, count: u32) -> Runtime<Office> {
    let runtime = start(builder, &World::default()).await;
    for number in 0..count {
        runtime.client().taker(format!("t{number}")).take("a".into()).await.unwrap();
    }
    runtime
}

/// R6
#[tokio::test]
async fn pages_are_stable_while_entities_come_and_go() {
    everywhere(async |builder| {
        let runtime = with_takers(builder, 7).await;
        let client = runtime.client();
        let (mut keys, mut after) = (Vec::new(), None::<Cursor>);
        loop {
            let listing = runtime.entities().of::<Taker>().limit(2);
            let page = match after {
                Some(after) => listing.after(after).await.unwrap(),
                None => listing.await.unwrap(),
            };
            assert!(page.entities.len() <= 2);
            keys.extend(page.entities.iter().map(|view| view.key.clone()));
            let Some(next) = page.next else { break };
            // As a web page would keep it.
            let text = serde_json::to_string(&next).unwrap();
            after = Some(serde_json::from_str(&text).unwrap());
            assert_eq!(next.to_string().parse(), Ok(next));
            if keys.len() == 2 {
                client.taker("t0").destroy().await.unwrap();
                client.taker("t3").destroy().await.unwrap();
                client.taker("t7").take("a".into()).await.unwrap();
            }
        }
        assert_eq!(keys, ["t0", "t1", "t2", "t4", "t5", "t6", "t7"]);
        assert!("next".parse::<Cursor>().is_err());
    })
    .await;
}

/// R6, E14
#[tokio::test]
async fn entities_are_filtered_by_primitive_status_and_alarm() {
    everywhere(async |builder| {
        let runtime = with_takers(builder, 2).await;
        let outbox = runtime.client().outbox("o");
        let due = outbox.add("a".into()).await.unwrap().flushes_at;

        let all = runtime.entities().await.unwrap();
        assert_eq!((all.entities.len(), all.next), (3, None));
        let outboxes = runtime.entities().primitive("outbox").await.unwrap().entities;
        assert_eq!((&*outboxes[0].key, &*outboxes[0].kind, outboxes.len()), ("o", "buffer", 1));
        assert_eq!(outboxes[0].config["max_items"], 2);
        assert_eq!(Some(outboxes[0].clone()), outbox.view().await.unwrap());
        let buffering = runtime.entities().status("buffering").await.unwrap().entities;
        assert_eq!(buffering, outboxes);
        assert!(runtime.entities().status("buffering").of::<Taker>().await.unwrap().entities.is_empty());
        assert!(runtime.entities().due_before(due).await.unwrap().entities.is_empty());
        let later = Timestamp::from_millis(due.as_millis() + 1);
        assert_eq!(runtime.entities().due_before(later).await.unwrap().entities, outboxes);
        assert!(runtime.entities().failing().await.unwrap().entities.is_empty());
    })
    .await;
}

/// R6, E10
#[tokio::test]
async fn what_is_parked_and_what_was_given_up_is_failing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let runtime = with_takers(Runtime::sqlite(&path), 2).await;
    let mut events = runtime.events();
    runtime.client().watch("w").start_with(Watch { hour: 7 }).await.unwrap();
    heard(&mut events, "continuous.failed").await;
    runtime.client().clock("c").start_with(Clock { hour: 7 }).await.unwrap();
    heard(&mut events, "dead_letter.added").await;
    let keys = |page: Page| page.entities.into_iter().map(|view| view.key).collect::<Vec<_>>();
    assert_eq!(keys(runtime.entities().await.unwrap()), ["t0", "t1", "w"], "the dead letters are none of the app's");
    assert_eq!(keys(runtime.entities().failing().await.unwrap()), ["w"]);
    assert_eq!(keys(runtime.entities().status("error").await.unwrap()), ["w"]);
    drop((runtime, events));

    free(&path).await;
    let runtime = Runtime::sqlite(&path).services(World::default()).start::<Mistaken>().await.unwrap();
    let failed = runtime.call("taker", "t1", "tell", json!(null)).await.unwrap_err();
    assert!(matches!(failed, Error::Parked { .. }), "{failed:?}");
    // Who asked is told at once; that it is parked is durable a moment later.
    until("it is parked", async || !runtime.entities().parked().await.unwrap().entities.is_empty()).await;
    let parked = runtime.entities().parked().await.unwrap();
    assert!(parked.entities[0].meta.is_failing && parked.entities[0].meta.parked.is_some());
    assert_eq!(keys(runtime.entities().failing().parked().await.unwrap()), ["t1"]);
    assert_eq!(keys(parked), ["t1"]);
    assert_eq!(keys(runtime.entities().failing().await.unwrap()), ["t1", "w"]);
    let first = runtime.entities().failing().limit(1).await.unwrap();
    let second = runtime.entities().failing().limit(1).after(first.next.unwrap()).await.unwrap();
    assert_eq!((second.next, keys(first), keys(second)), (None, vec!["t1".into()], vec!["w".into()]));
}

/// E9
#[tokio::test]
async fn names_that_there_are_not_are_refused_with_those_there_are() {
    let runtime = start(Runtime::memory(), &World::default()).await;
    let unknown = runtime.entities().primitive("takr").await.unwrap_err();
    assert_eq!(unknown.to_string(), "no primitive named `takr`; this app has: clock, outbox, sender, taker, watch");
    let unknown = runtime.call("takr", "t", "take", json!(["a"])).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownDefinition { known, .. } if known.len() == 5));
    let unknown = runtime.call("taker", "t", "tkae", json!(["a"])).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownVerb { known, .. } if known.contains(&"take".to_owned())));
    assert!(runtime.entities().await.unwrap().entities.is_empty(), "nothing is stored");
}

/// E9
#[tokio::test]
async fn an_action_is_called_by_name_with_json() {
    everywhere(async |builder| {
        let world = World::default();
        let runtime = start(builder, &world).await;
        assert_eq!(runtime.call("taker", "t", "take", json!(["a"])).await.unwrap(), json!(1));
        assert_eq!(runtime.call("taker", "t", "state", json!(null)).await.unwrap(), json!({ "words": ["a"] }));
        assert_eq!(words(&runtime, "t").await, ["a"]);
        for wrong in [json!("a"), json!([]), json!([7])] {
            let refused = runtime.call("taker", "t", "take", wrong).await.unwrap_err();
            assert!(matches!(refused, Error::Malformed { .. }), "{refused:?}");
        }
    })
    .await;
}

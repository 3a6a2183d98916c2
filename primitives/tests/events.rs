//! Lifecycle events are told after their commit, to any number of listeners, and a slow one slows nobody.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod office;

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use drystone::{LifecycleEvent, Runtime};
use futures_core::Stream;
use office::{World, heard, start};
use serde_json::json;

/// E15
#[tokio::test]
async fn an_event_is_told_to_every_listener_with_its_fields() {
    let runtime = start(Runtime::memory(), &World::default()).await;
    let (mut one, mut other) = (runtime.events(), runtime.events());
    runtime.client().sender("s").say("t".into(), "a".into()).await.unwrap();
    let told = heard(&mut one, "said").await;
    let fields = [("word".to_owned(), json!("a"))].into_iter().collect();
    assert_eq!(told, LifecycleEvent { name: "said".into(), primitive: "sender".into(), key: "s".into(), fields });
    // The second listens as a stream.
    assert_eq!(poll_fn(|context| Pin::new(&mut other).poll_next(context)).await, Some(told));
    assert_eq!((one.missed(), other.missed()), (0, 0));
}

/// E15
#[tokio::test]
async fn what_an_event_tells_of_is_stored() {
    let runtime = start(Runtime::memory(), &World::broken()).await;
    let mut events = runtime.events();
    runtime.client().sender("s").say("t".into(), "a".into()).await.unwrap();
    heard(&mut events, "dead_letter.added").await;
    assert_eq!(runtime.dead_letters().count().await.unwrap(), 1);
}

/// E15
#[tokio::test]
async fn a_slow_listener_loses_the_oldest_counted_and_slows_nobody() {
    let runtime = start(Runtime::memory(), &World::default()).await;
    let (mut slow, mut quick) = (runtime.events(), runtime.events());
    let client = runtime.client();
    for number in 0..1_100 {
        client.sender("s").say("t".into(), number.to_string()).await.unwrap();
        assert_eq!(heard(&mut quick, "said").await.fields["word"], json!(number.to_string()));
    }
    let first = heard(&mut slow, "said").await;
    assert_eq!(slow.missed(), 1_100 - 1_024);
    assert_eq!(first.fields["word"], json!(slow.missed().to_string()), "what is left is in order");
    assert_eq!(quick.missed(), 0);
}

/// E15
#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing() {
    let runtime = start(Runtime::memory(), &World::default()).await;
    let mut events = runtime.events();
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(std::pin::pin!(events.next()).poll(&mut context), Poll::Pending);
    runtime.client().sender("s").say("t".into(), "a".into()).await.unwrap();
    assert_eq!(events.next().await.unwrap().name, "said");
}

/// E15
#[tokio::test]
async fn events_end_with_the_app() {
    let runtime = start(Runtime::memory(), &World::default()).await;
    let mut events = runtime.events();
    drop(runtime);
    assert_eq!(events.next().await, None);
    assert_eq!(events.next().await, None);
}

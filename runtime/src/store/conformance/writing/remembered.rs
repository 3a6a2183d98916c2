//! Remembered replies: a call with an idempotency key takes effect once.

use bytes::Bytes;

use crate::{
    Millis,
    store::{
        Remembered, Verdict, Write,
        conformance::fixture::{World, birth, destroy, key, message, reply, unbound},
    },
};

async fn remember(world: &World, reply: Remembered) -> Verdict {
    world.write(Write { remember: vec![reply], ..unbound(&key("a")) }).await
}

/// E12
pub async fn a_reply_is_remembered_with_its_write(world: &mut World) {
    let entity = world.born(&key("a"));
    world.applied(Write { remember: vec![reply(b"once", Millis(9))], ..birth(&entity) }).await;
    assert_eq!(world.remembered(&key("a"), b"once").await, Some(reply(b"once", Millis(9))));
    assert_eq!(world.remembered(&key("a"), b"other").await, None);
    assert_eq!(world.remembered(&key("b"), b"once").await, None);
}

/// E12
pub async fn a_repeat_is_stale_and_writes_nothing(world: &mut World) {
    let entity = world.born(&key("a"));
    world.applied(Write { remember: vec![reply(b"once", Millis::MAX)], ..birth(&entity) }).await;
    let (after, write) = world.touch(&entity);
    let other = Remembered { reply: Bytes::from_static(b"other"), ..reply(b"once", Millis::MAX) };
    let repeat = Write {
        sent: vec![message(after.version, 0, &key("b"))],
        remember: vec![reply(b"new", Millis::MAX), other],
        ..write
    };
    assert_eq!(world.write(repeat).await, Verdict::Stale(Some(entity.version)));
    assert_eq!(world.entity(&key("a")).await, Some(entity));
    assert_eq!(world.remembered(&key("a"), b"once").await, Some(reply(b"once", Millis::MAX)));
    assert_eq!(world.remembered(&key("a"), b"new").await, None);
    assert!(world.inbox(&key("b")).await.is_empty());
}

/// E12
pub async fn a_reply_past_its_time_is_replaced(world: &mut World) {
    let until = Millis(world.now.0 + 10);
    assert_eq!(remember(world, reply(b"once", until)).await, Verdict::Applied);
    world.now = Millis(until.0 - 1);
    assert_eq!(remember(world, reply(b"once", Millis::MAX)).await, Verdict::Stale(None));
    world.now = until;
    let second = Remembered { hash: 2, reply: Bytes::from_static(b"two"), ..reply(b"once", Millis::MAX) };
    assert_eq!(remember(world, second.clone()).await, Verdict::Applied);
    assert_eq!(world.remembered(&key("a"), b"once").await, Some(second));
}

/// E12
pub async fn a_reply_past_its_time_is_read_until_it_is_swept(world: &mut World) {
    assert_eq!(remember(world, reply(b"once", Millis(1))).await, Verdict::Applied);
    assert!(world.remembered(&key("a"), b"once").await.is_some());
    world.sweep_all(Millis(1), 10).await;
    assert_eq!(world.remembered(&key("a"), b"once").await, None);
}

/// E12, E8
pub async fn a_reply_outlives_its_entity(world: &mut World) {
    let entity = world.born(&key("a"));
    world.applied(Write { remember: vec![reply(b"once", Millis::MAX)], ..birth(&entity) }).await;
    world.applied(Write { remember: vec![reply(b"destroyed", Millis::MAX)], ..destroy(&entity) }).await;
    world.sweep_all(world.now, 100).await;
    let next = world.born(&key("a"));
    let repeat = Write { remember: vec![reply(b"once", Millis::MAX)], ..birth(&next) };
    assert_eq!(world.write(repeat).await, Verdict::Stale(None));
    assert!(world.remembered(&key("a"), b"destroyed").await.is_some());
}

/// E12
pub async fn a_key_that_stays_unbound_can_remember(world: &mut World) {
    assert_eq!(remember(world, reply(b"once", Millis::MAX)).await, Verdict::Applied);
    assert_eq!(remember(world, reply(b"once", Millis::MAX)).await, Verdict::Stale(None));
    assert_eq!(world.entity(&key("a")).await, None);
}

/// E12, fE1
pub async fn any_hash_and_any_bytes_are_remembered(world: &mut World) {
    let all: [(u64, &'static [u8]); 4] =
        [(0, b"\0"), (u64::MAX, b"\xff\xfe"), (1 << 63, b""), (7, "\u{1f9f1}".as_bytes())];
    for (hash, bytes) in all {
        let reply = Remembered { hash, reply: Bytes::from_static(bytes), ..reply(b"", Millis::MAX) };
        let once = if bytes.is_empty() { &b"empty"[..] } else { bytes };
        let reply = Remembered { once: Bytes::from_static(once), ..reply };
        assert_eq!(remember(world, reply.clone()).await, Verdict::Applied);
        assert_eq!(world.remembered(&key("a"), once).await, Some(reply));
    }
}

/// E12
pub async fn one_write_can_remember_several(world: &mut World) {
    let both = vec![reply(b"1", Millis::MAX), reply(b"2", Millis::MAX)];
    world.applied(Write { remember: both, ..unbound(&key("a")) }).await;
    assert!(world.remembered(&key("a"), b"1").await.is_some());
    assert!(world.remembered(&key("a"), b"2").await.is_some());
}

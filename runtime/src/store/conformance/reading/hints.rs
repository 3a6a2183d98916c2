//! Hints: a commit with a message causes a hint at the receiver's partition; scans find everything without
//! hints.

use crate::{
    Partition,
    store::{
        Write,
        conformance::fixture::{World, birth, key_in, message},
    },
};

/// M2
pub async fn a_message_hints_at_its_receivers_partition(world: &mut World) {
    let (mut first, mut second) = (world.store.hints(), world.store.hints());
    let sender = world.born(&key_in(0, 0));
    world.applied(Write { sent: vec![message(sender.version, 0, &key_in(2, 0))], ..birth(&sender) }).await;
    assert_eq!(first.next().await, Some(Partition(2)));
    assert_eq!(second.next().await, Some(Partition(2)));
    assert_eq!(world.inbox(&key_in(2, 0)).await.len(), 1, "the message is there when the hint is");
}

/// M2: the owner of the partition commits the message and delivers it itself.
pub async fn a_message_within_a_partition_hints_at_nothing(world: &mut World) {
    let mut hints = world.store.hints();
    let sender = world.born(&key_in(1, 0));
    let to = [key_in(1, 1), key_in(2, 0)];
    let sent = (0..).zip(&to).map(|(index, to)| message(sender.version, index, to)).collect();
    world.applied(Write { sent, ..birth(&sender) }).await;
    assert_eq!(hints.next().await, Some(Partition(2)), "a hint at the sender's own partition would come first");
    assert_eq!(world.inbox(&to[0]).await.len(), 1);
}

/// E15, R8
pub async fn a_listener_that_does_not_listen_stops_nobody(world: &mut World) {
    let _deaf = world.store.hints();
    drop(world.store.hints());
    let mut sender = world.bind(&key_in(0, 0)).await;
    for _ in 0..2000 {
        let (after, write) = world.touch(&sender);
        world.applied(Write { sent: vec![message(after.version, 0, &key_in(1, 0))], ..write }).await;
        sender = after;
    }
    assert_eq!(world.inbox(&key_in(1, 0)).await.len(), 2000);
}

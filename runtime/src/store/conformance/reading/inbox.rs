//! Inboxes: a message is part of its sender's write and is taken in its receiver's write, exactly once.

use bytes::Bytes;

use crate::{
    Entity, Key, MessageId, Millis, Partition,
    store::{
        Letter, Outgoing, Retry, Verdict, Write,
        conformance::fixture::{World, birth, destroy, key, key_in, message, partition, reply, unbound},
    },
};

/// Sends `count` messages from a new entity to `to` in one write. Returns their ids.
async fn send(world: &mut World, from: &Key, to: &Key, count: u32) -> Vec<MessageId> {
    let sender = world.born(from);
    let sent: Vec<Outgoing> = (0..count).map(|index| message(sender.version, index, to)).collect();
    let ids = sent.iter().map(|sent| sent.id).collect();
    world.applied(Write { sent, ..birth(&sender) }).await;
    ids
}

fn ids(letters: &[Letter]) -> Vec<MessageId> {
    letters.iter().map(|letter| letter.id).collect()
}

/// M1
pub async fn a_message_is_in_its_receivers_inbox(world: &mut World) {
    world.now = Millis(77);
    let sender = world.born(&key_in(0, 0));
    let sent = message(sender.version, 3, &key_in(1, 0));
    world.applied(Write { sent: vec![sent.clone()], ..birth(&sender) }).await;
    let letter = Letter {
        id: sent.id,
        from: sender.key.clone(),
        definition: sent.definition,
        verb: sent.verb,
        body: sent.body,
        mark: sent.mark,
        attempts: 0,
        at: Millis(77),
    };
    assert_eq!(world.inbox(&key_in(1, 0)).await, [letter]);
    assert_eq!(world.inbox(&sender.key).await, []);
}

/// M1
pub async fn messages_are_in_the_order_of_sending(world: &mut World) {
    let to = key("receiver");
    let mut sender = world.bind(&key("sender")).await;
    let mut expected = Vec::new();
    for _ in 0..3 {
        let (after, write) = world.touch(&sender);
        let sent: Vec<Outgoing> = [11, 2, 0].map(|index| message(after.version, index, &to)).into();
        expected.extend([0, 2, 11].map(|index| MessageId { version: after.version, index }));
        world.applied(Write { sent, ..write }).await;
        sender = after;
    }
    assert_eq!(ids(&world.inbox(&to).await), expected);
}

/// M1
pub async fn an_inbox_is_read_a_page_at_a_time(world: &mut World) {
    let to = key("receiver");
    let all = send(world, &key("sender"), &to, 5).await;
    assert_eq!(ids(&world.inbox_after(&to, None, 2).await), all[..2]);
    assert_eq!(ids(&world.inbox_after(&to, Some(all[1]), 2).await), all[2..4]);
    assert_eq!(ids(&world.inbox_after(&to, Some(all[4]), 2).await), []);
    assert_eq!(ids(&world.inbox_after(&to, None, 0).await), []);
}

/// M1
pub async fn a_message_is_taken_in_its_receivers_write(world: &mut World) {
    let to = key("receiver");
    let all = send(world, &key("sender"), &to, 3).await;
    let receiver = world.born(&to);
    world.applied(Write { taken: vec![all[1]], ..birth(&receiver) }).await;
    assert_eq!(ids(&world.inbox(&to).await), [all[0], all[2]]);
}

/// M1
pub async fn a_message_is_taken_once(world: &mut World) {
    let to = key("receiver");
    let all = send(world, &key("sender"), &to, 2).await;
    let receiver = world.born(&to);
    world.applied(Write { taken: all[..1].to_vec(), ..birth(&receiver) }).await;
    let (_, write) = world.touch(&receiver);
    let again = Write { taken: all.clone(), ..write };
    assert_eq!(world.write(again).await, Verdict::Stale(Some(receiver.version)));
    assert_eq!(world.entity(&to).await, Some(receiver));
    assert_eq!(ids(&world.inbox(&to).await), all[1..], "the message that was there stays");
}

/// M1
pub async fn a_write_that_takes_what_is_not_there_writes_nothing(world: &mut World) {
    let to = key("receiver");
    let all = send(world, &key("sender"), &to, 1).await;
    let receiver = world.born(&to);
    let missing = MessageId { version: all[0].version, index: 9 };
    let write = Write {
        rows: crate::store::conformance::fixture::put("lane", ["row"]),
        taken: vec![all[0], missing],
        sent: vec![message(receiver.version, 0, &key("third"))],
        remember: vec![reply(b"once", Millis::MAX)],
        ..birth(&receiver)
    };
    assert_eq!(world.write(write).await, Verdict::Stale(None));
    assert_eq!(world.entity(&to).await, None);
    assert_eq!(ids(&world.inbox(&to).await), all);
    assert!(world.inbox(&key("third")).await.is_empty() && world.lane(receiver.id, "lane").await.is_empty());
    assert_eq!(world.remembered(&to, b"once").await, None);
}

/// M1, V10
pub async fn a_message_cannot_be_taken_from_another_inbox(world: &mut World) {
    let all = send(world, &key("sender"), &key_in(0, 0), 1).await;
    let thief = world.born(&key_in(0, 1));
    assert_eq!(world.write(Write { taken: all.clone(), ..birth(&thief) }).await, Verdict::Stale(None));
    assert_eq!(ids(&world.inbox(&key_in(0, 0)).await), all);
}

/// M4
pub async fn a_message_is_taken_on_a_key_that_stays_unbound(world: &mut World) {
    let to = key("receiver");
    let all = send(world, &key("sender"), &to, 1).await;
    let letter = Outgoing { to: key("letters"), ..message(world.version(&to), 0, &key("letters")) };
    world.applied(Write { taken: all.clone(), sent: vec![letter], ..unbound(&to) }).await;
    assert!(world.inbox(&to).await.is_empty());
    assert_eq!(world.inbox(&key("letters")).await.len(), 1);
    assert_eq!(world.write(Write { taken: all, ..unbound(&to) }).await, Verdict::Stale(None));
}

/// M4
pub async fn a_message_that_is_tried_again_keeps_its_place(world: &mut World) {
    let to = key("receiver");
    let all = send(world, &key("sender"), &to, 2).await;
    let retry = Retry { id: all[0], attempts: 3, at: Millis(99) };
    world.applied(Write { retry: vec![retry], ..unbound(&to) }).await;
    let letters = world.inbox(&to).await;
    assert_eq!(ids(&letters), all);
    assert_eq!((letters[0].attempts, letters[0].at), (3, Millis(99)));
    assert_eq!((letters[1].attempts, letters[1].at), (0, world.now));
}

/// M4
pub async fn trying_again_what_is_not_there_is_passed_over(world: &mut World) {
    let id = MessageId { version: world.version(&key("a")), index: 0 };
    world.applied(Write { retry: vec![Retry { id, attempts: 1, at: Millis(1) }], ..unbound(&key("a")) }).await;
    assert!(world.inbox(&key("a")).await.is_empty());
}

/// M1, fB13
pub async fn a_message_that_is_already_there_is_left_as_it_is(world: &mut World) {
    let to = key("receiver");
    let all = send(world, &key("sender"), &to, 1).await;
    let retry = Retry { id: all[0], attempts: 3, at: Millis(99) };
    world.applied(Write { retry: vec![retry], ..unbound(&to) }).await;
    let sender = world.born(&key("another"));
    world.applied(Write { sent: vec![message(all[0].version, 0, &to)], ..birth(&sender) }).await;
    let letters = world.inbox(&to).await;
    assert_eq!((letters.len(), letters[0].attempts, &letters[0].from), (1, 3, &key("sender")));
}

/// M1
pub async fn a_stale_sender_sends_nothing(world: &mut World) {
    let entity = world.bind(&key("a")).await;
    let late = world.born(&key("a"));
    let write = Write { sent: vec![message(late.version, 0, &key("b"))], ..birth(&late) };
    assert_eq!(world.write(write).await, Verdict::Stale(Some(entity.version)));
    assert!(world.inbox(&key("b")).await.is_empty());
}

/// M1, E8
pub async fn an_inbox_outlives_its_receiver(world: &mut World) {
    let to = key("receiver");
    let all = send(world, &key("sender"), &to, 1).await;
    let receiver = world.bind(&to).await;
    world.applied(destroy(&receiver)).await;
    assert_eq!(ids(&world.inbox(&to).await), all);
    let next = world.born(&to);
    world.applied(Write { taken: all, ..birth(&next) }).await;
}

/// M1
pub async fn a_message_may_go_to_its_own_sender(world: &mut World) {
    let all = send(world, &key("a"), &key("a"), 1).await;
    let entity = world.entity(&key("a")).await;
    let (_, write) = world.touch(&entity.expect("it was born"));
    world.applied(Write { taken: all, ..write }).await;
    assert!(world.inbox(&key("a")).await.is_empty());
}

/// M1, R3
pub async fn a_sender_needs_only_its_own_partition(world: &mut World) {
    let (from, to) = (key_in(0, 0), key_in(3, 0));
    world.epochs.retain(|partition, _| *partition == Partition(0));
    let all = send(world, &from, &to, 1).await;
    assert_eq!(ids(&world.inbox(&to).await), all);
}

/// V10
pub async fn inboxes_of_keys_that_share_a_beginning_do_not_mix(world: &mut World) {
    let keys = ["k", "k\0", "kk", "k\u{7f}"].map(key);
    for (number, to) in keys.iter().enumerate() {
        send(world, &key(format!("sender-{number}")), to, 1).await;
    }
    for (number, to) in keys.iter().enumerate() {
        let letters = world.inbox(to).await;
        assert_eq!((letters.len(), &letters[0].from), (1, &key(format!("sender-{number}"))));
    }
}

/// R3
pub async fn a_message_to_the_wrong_partition_is_refused_with_its_write(world: &mut World) {
    let sender = world.born(&key("a"));
    let right = message(sender.version, 0, &key("b"));
    let elsewhere = Partition((partition(&key("b")).0 + 1) % 4);
    let wrong = Outgoing { partition: elsewhere, id: MessageId { index: 1, ..right.id }, ..right.clone() };
    world.refused(Write { sent: vec![right, wrong], ..birth(&sender) }).await;
    assert!(world.inbox(&key("b")).await.is_empty());
    assert_eq!(world.entity(&key("a")).await, None);
}

/// M1
pub async fn one_write_takes_and_sends(world: &mut World) {
    let (first, second) = (key("first"), key("second"));
    let all = send(world, &key("sender"), &first, 1).await;
    let entity = Entity { head: Bytes::from_static(b"taken"), ..world.born(&first) };
    let sent = vec![message(entity.version, 0, &second)];
    world.applied(Write { taken: all, sent, ..birth(&entity) }).await;
    assert_eq!((world.inbox(&first).await.len(), world.inbox(&second).await.len()), (0, 1));
    assert_eq!(world.entity(&first).await, Some(entity));
}

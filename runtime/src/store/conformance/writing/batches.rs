//! Batches: many writes in one transaction, each with its own verdict.

use bytes::Bytes;

use crate::{
    Entity, Epoch, Fingerprint, Key, Partition, Range,
    store::{
        After, Config, Found, Read, Verdict, Write,
        conformance::fixture::{World, birth, both, change, destroy, drop_lane, key, key_in, message, put},
    },
};

/// R4
pub async fn a_stale_write_leaves_the_others_applied(world: &mut World) {
    let bound = world.bind(&key("b")).await;
    let (first, late, last) = (world.born(&key("a")), world.born(&key("b")), world.born(&key("c")));
    let verdicts = world.commit(vec![birth(&first), birth(&late), birth(&last)]).await;
    assert_eq!(verdicts, [Verdict::Applied, Verdict::Stale(Some(bound.version)), Verdict::Applied]);
    assert_eq!(world.entity(&key("a")).await, Some(first));
    assert_eq!(world.entity(&key("b")).await, Some(bound));
    assert_eq!(world.entity(&key("c")).await, Some(last));
}

/// R3, R4
pub async fn verdicts_are_in_the_order_of_the_writes(world: &mut World) {
    let bound = world.bind(&key_in(0, 0)).await;
    let (stale, fenced) = (world.born(&key_in(0, 0)), world.born(&key_in(1, 0)));
    let (refused, applied) = (world.born(&key_in(2, 0)), world.born(&key_in(3, 0)));
    let epoch = world.epochs[&Partition(1)];
    world.epochs.insert(Partition(1), Epoch(epoch.0 + 1000));
    let refused = Write { key: key_in(2, 1), ..birth(&refused) };
    let verdicts = world.commit(vec![birth(&stale), birth(&fenced), refused, birth(&applied)]).await;
    assert_eq!(verdicts[0], Verdict::Stale(Some(bound.version)));
    assert_eq!(verdicts[1], Verdict::Fenced(epoch));
    assert!(matches!(verdicts[2], Verdict::Refused(_)));
    assert_eq!(verdicts[3], Verdict::Applied);
}

/// E4
pub async fn a_refused_write_leaves_nothing_of_itself_and_all_of_the_others(world: &mut World) {
    let entity = world.bind(&key("a")).await;
    let (dropped, write) = world.touch(&entity);
    world.applied(Write { drop: vec![drop_lane("gone", false)], ..write }).await;
    let (after, write) = world.touch(&dropped);
    let rows = both(&put("fine", ["1"]), &put("gone", ["1"]));
    let refused = Write { rows, sent: vec![message(after.version, 0, &key("b"))], ..write };
    let other = world.born(&key("c"));
    let other_write = Write { rows: put("fine", ["2"]), ..birth(&other) };
    let verdicts = world.commit(vec![refused, other_write]).await;
    assert!(matches!(verdicts[..], [Verdict::Refused(_), Verdict::Applied]), "{verdicts:?}");
    assert_eq!(world.entity(&key("a")).await, Some(dropped));
    assert!(world.lane(entity.id, "fine").await.is_empty() && world.inbox(&key("b")).await.is_empty());
    assert_eq!(world.lane(other.id, "fine").await, ["2"]);
}

/// R4
pub async fn an_empty_batch_is_applied(world: &mut World) {
    assert_eq!(world.commit(Vec::new()).await, []);
    world.epochs.clear();
    assert_eq!(world.commit(Vec::new()).await, []);
}

/// R8
pub async fn a_batch_of_many_writes_is_applied_in_one(world: &mut World) {
    let born: Vec<Entity> = (0..512).map(|number| world.born(&key(format!("{number}")))).collect();
    let verdicts = world.commit(born.iter().map(birth).collect()).await;
    assert!(verdicts.len() == 512 && verdicts.iter().all(|verdict| *verdict == Verdict::Applied));
    let after: Vec<Entity> =
        born.iter().map(|entity| Entity { head: entity.key.key.clone(), ..world.next(entity) }).collect();
    let changes = born.iter().zip(&after).map(|(before, after)| change(before, after)).collect();
    assert!(world.commit(changes).await.iter().all(|verdict| *verdict == Verdict::Applied));
    for entity in after {
        assert_eq!(world.entity(&entity.key).await, Some(entity));
    }
}

/// E4
pub async fn births_changes_and_ends_go_in_one_batch(world: &mut World) {
    let (ended, changed) = (world.bind(&key("ended")).await, world.bind(&key("changed")).await);
    let (born, (after, write)) = (world.born(&key("born")), world.touch(&changed));
    let verdicts = world.commit(vec![destroy(&ended), birth(&born), write]).await;
    assert_eq!(verdicts, [Verdict::Applied, Verdict::Applied, Verdict::Applied]);
    let found = [world.entity(&ended.key).await, world.entity(&born.key).await, world.entity(&after.key).await];
    assert_eq!(found, [None, Some(born), Some(after)]);
}

/// M1
pub async fn a_message_can_go_to_a_key_that_the_same_batch_binds(world: &mut World) {
    let (sender, receiver) = (world.born(&key("sender")), world.born(&key("receiver")));
    let send = Write { sent: vec![message(sender.version, 0, &receiver.key)], ..birth(&sender) };
    assert_eq!(world.commit(vec![send, birth(&receiver)]).await, [Verdict::Applied, Verdict::Applied]);
    assert_eq!(world.inbox(&receiver.key).await.len(), 1);
    assert_eq!(world.entity(&receiver.key).await, Some(receiver));
}

/// E11, E14
pub async fn a_configuration_is_kept_under_its_fingerprint(world: &mut World) {
    let config = |fingerprint, body| Config {
        definition: "counter".into(),
        fingerprint: Fingerprint(fingerprint),
        body: Bytes::from_static(body),
    };
    let mut batch = world.batch(Vec::new());
    batch.configs = vec![config(1, b"one"), config(u64::MAX, b"two")];
    world.store.commit(&batch).await.expect("a batch is answered");
    world.store.commit(&batch).await.expect("a batch is answered twice");
    let read = |definition: &'static str, fingerprint| Read::Config {
        definition: definition.into(),
        fingerprint: Fingerprint(fingerprint),
    };
    assert_eq!(world.read(read("counter", 1)).await, Found::Config(Some(Bytes::from_static(b"one"))));
    assert_eq!(world.read(read("counter", u64::MAX)).await, Found::Config(Some(Bytes::from_static(b"two"))));
    assert_eq!(world.read(read("counter", 2)).await, Found::Config(None));
    assert_eq!(world.read(read("other", 1)).await, Found::Config(None));
}

/// K1
pub async fn reads_are_answered_in_the_order_asked(world: &mut World) {
    let entity = world.born(&key("a"));
    world.applied(Write { rows: put("lane", ["1"]), ..birth(&entity) }).await;
    let nothing = |text| Read::Entity(key(text));
    let rows = Read::Rows { entity: entity.id, range: Range::first("lane", 1) };
    let reads = [nothing("b"), rows, nothing("a"), Read::Inbox { key: key("a"), after: None, limit: 1 }];
    let found = world.store.read(&reads).await.expect("reads are answered");
    assert_eq!(found[0], Found::Entity(None));
    assert!(matches!(&found[1], Found::Rows(rows) if rows.len() == 1));
    assert_eq!(found[2], Found::Entity(Some(Box::new(entity))));
    assert_eq!(found[3], Found::Inbox(Vec::new()));
    assert_eq!(world.store.read(&[]).await.expect("no reads are answered"), []);
}

/// E1
pub async fn a_write_that_says_nothing_changes_nothing(world: &mut World) {
    world.applied(crate::store::conformance::fixture::unbound(&key("a"))).await;
    assert_eq!(world.entity(&key("a")).await, None);
    let born: Key = key("b");
    let entity = world.bind(&born).await;
    let same = Write { after: After::Entity(Box::new(entity.clone())), ..change(&entity, &entity) };
    world.applied(same).await;
    assert_eq!(world.entity(&born).await, Some(entity));
}

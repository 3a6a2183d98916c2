//! Scans: keys that must be woken, in order, in pages.

use crate::{
    Entity, Key, Millis, Parked, Partition, Status,
    store::{
        Cursor, Ready, Write,
        conformance::fixture::{World, all_partitions, birth, change, destroy, key, key_in, message},
    },
};

fn due(until: i64) -> Ready {
    Ready::Due { partitions: all_partitions(), until: Millis(until) }
}

fn active() -> Ready {
    Ready::Active { partitions: all_partitions() }
}

fn parked() -> Ready {
    Ready::Parked { partitions: all_partitions() }
}

fn receivers() -> Ready {
    Ready::Inbox { partitions: all_partitions() }
}

async fn with_alarm(world: &mut World, key: &Key, at: i64) -> Entity {
    world.bind_with(key, |entity| entity.alarm = Some(Millis(at))).await
}

async fn message_to(world: &mut World, to: &Key, count: u32) {
    let version = world.version(to);
    let sender = world.born(&key(format!("sender of {version}")));
    let sent = (0..count).map(|index| message(sender.version, index, to)).collect();
    world.applied(Write { sent, ..birth(&sender) }).await;
}

/// A2, A4
pub async fn alarms_ring_in_order_of_time(world: &mut World) {
    for (name, at) in [("c", 30), ("a", 10), ("d", 40), ("b", 20)] {
        with_alarm(world, &key(name), at).await;
    }
    assert_eq!(world.woken(&due(100)).await, ["a", "b", "c", "d"].map(key));
}

/// A2
pub async fn no_alarm_rings_early(world: &mut World) {
    with_alarm(world, &key("a"), 10).await;
    assert_eq!(world.woken(&due(9)).await, []);
    assert_eq!(world.woken(&due(10)).await, [key("a")]);
}

/// A4
pub async fn alarms_of_one_moment_ring_by_id(world: &mut World) {
    let mut born = Vec::new();
    for number in 0..8 {
        born.push(with_alarm(world, &key(format!("{number}")), 10).await);
    }
    born.sort_by_key(|entity| entity.id);
    let expected: Vec<Key> = born.into_iter().map(|entity| entity.key).collect();
    assert_eq!(world.woken(&due(10)).await, expected);
    assert_eq!(world.woken_by_pages(&due(10), 3).await, expected);
}

/// A4
pub async fn overdue_alarms_are_read_a_page_at_a_time_each_once(world: &mut World) {
    let mut expected = Vec::new();
    for number in 0..20 {
        let at = i64::from(number / 3);
        expected.push((at, with_alarm(world, &key(format!("{number}")), at).await));
    }
    expected.sort_by_key(|(at, entity)| (*at, entity.id));
    let expected: Vec<Key> = expected.into_iter().map(|(_, entity)| entity.key).collect();
    for limit in [1, 3, 7, 20, 100] {
        assert_eq!(world.woken_by_pages(&due(100), limit).await, expected);
    }
}

/// R1
pub async fn a_due_entity_comes_whole_with_its_cursor(world: &mut World) {
    let entity = with_alarm(world, &key("a"), 10).await;
    let woken = world.ready(&due(10), None, 1).await.remove(0);
    assert_eq!(woken.cursor, Cursor::Alarm(Millis(10), entity.id));
    assert_eq!(woken.entity.as_deref(), Some(&entity));
}

/// E10, A7
pub async fn parked_entities_do_not_ring(world: &mut World) {
    let mut entity = with_alarm(world, &key("a"), 10).await;
    let asleep = Entity { parked: Some(Parked::Unregistered), ..world.next(&entity) };
    world.applied(change(&entity, &asleep)).await;
    assert_eq!(world.woken(&due(100)).await, []);
    entity = Entity { parked: None, ..world.next(&asleep) };
    world.applied(change(&asleep, &entity)).await;
    assert_eq!(world.woken(&due(100)).await, [key("a")]);
}

/// A1, A7
pub async fn an_alarm_that_was_moved_or_cleared_rings_there_only(world: &mut World) {
    let (moved, cleared) = (with_alarm(world, &key("a"), 10).await, with_alarm(world, &key("b"), 10).await);
    let later = Entity { alarm: Some(Millis(50)), ..world.next(&moved) };
    let never = Entity { alarm: None, ..world.next(&cleared) };
    world.applied(change(&moved, &later)).await;
    world.applied(change(&cleared, &never)).await;
    assert_eq!(world.woken(&due(49)).await, []);
    assert_eq!(world.woken(&due(50)).await, [key("a")]);
}

/// A7
pub async fn a_destroyed_entity_does_not_ring(world: &mut World) {
    let entity = world.bind_with(&key("a"), |entity| (entity.alarm, entity.active) = (Some(Millis(1)), true)).await;
    world.applied(destroy(&entity)).await;
    assert_eq!((world.woken(&due(9)).await, world.woken(&active()).await), (vec![], vec![]));
}

/// A2
pub async fn a_light_write_leaves_the_alarm_where_it_is(world: &mut World) {
    let entity = with_alarm(world, &key("a"), 10).await;
    let (_, write) = world.touch(&entity);
    world.applied(write).await;
    assert_eq!(world.woken(&due(10)).await, [key("a")]);
}

/// A5
pub async fn the_last_moment_and_moments_before_1970_are_due_in_order(world: &mut World) {
    with_alarm(world, &key("last"), i64::MAX).await;
    with_alarm(world, &key("first"), i64::MIN).await;
    with_alarm(world, &key("early"), -1).await;
    assert_eq!(world.woken_by_pages(&due(i64::MAX), 1).await, ["first", "early", "last"].map(key));
    assert_eq!(world.woken(&due(-1)).await, ["first", "early"].map(key));
}

/// R3
pub async fn only_the_partitions_asked_for_are_scanned(world: &mut World) {
    for number in 0..4 {
        world.bind_with(&key_in(number, 0), |entity| (entity.alarm, entity.active) = (Some(Millis(1)), true)).await;
        world.bind_with(&key_in(number, 1), |entity| entity.parked = Some(Parked::Unregistered)).await;
        let from = world.born(&key_in(0, 2 + number as usize));
        world.applied(Write { sent: vec![message(from.version, 0, &key_in(number, 0))], ..birth(&from) }).await;
    }
    let partitions = vec![Partition(3), Partition(1), Partition(3)];
    let first = [key_in(1, 0), key_in(3, 0)];
    assert_eq!(world.woken(&Ready::Due { partitions: partitions.clone(), until: Millis(1) }).await, first);
    assert_eq!(world.woken(&Ready::Active { partitions: partitions.clone() }).await, first);
    assert_eq!(world.woken(&Ready::Inbox { partitions: partitions.clone() }).await, first);
    assert_eq!(world.woken(&Ready::Parked { partitions }).await, [key_in(1, 1), key_in(3, 1)]);
}

/// R3
pub async fn no_partition_and_no_limit_give_nothing(world: &mut World) {
    with_alarm(world, &key("a"), 1).await;
    message_to(world, &key("a"), 1).await;
    assert_eq!(world.woken(&Ready::Due { partitions: Vec::new(), until: Millis(9) }).await, []);
    assert_eq!(world.woken(&Ready::Inbox { partitions: Vec::new() }).await, []);
    for which in [due(9), active(), parked(), receivers()] {
        assert_eq!(world.ready(&which, None, 0).await, []);
    }
}

/// R1, W2
pub async fn active_entities_are_found_by_id(world: &mut World) {
    let mut expected = Vec::new();
    for number in 0..10 {
        let entity = world.bind_with(&key(format!("{number}")), |entity| entity.active = number % 2 == 0).await;
        expected.extend((number % 2 == 0).then_some(entity));
    }
    expected.sort_by_key(|entity| entity.id);
    let expected: Vec<Key> = expected.into_iter().map(|entity| entity.key).collect();
    assert_eq!(world.woken(&active()).await, expected);
    assert_eq!(world.woken_by_pages(&active(), 2).await, expected);
}

/// R1
pub async fn an_entity_at_rest_or_parked_is_not_active(world: &mut World) {
    let entity = world.bind_with(&key("a"), |entity| entity.active = true).await;
    let poisoned = |entity: &mut Entity| (entity.active, entity.parked) = (true, Some(Parked::Poisoned("why".into())));
    world.bind_with(&key("b"), poisoned).await;
    assert_eq!(world.woken(&active()).await, [key("a")]);
    let rested = Entity { active: false, ..world.next(&entity) };
    world.applied(change(&entity, &rested)).await;
    assert_eq!(world.woken(&active()).await, []);
}

/// E10
pub async fn parked_entities_are_found_by_id(world: &mut World) {
    let mut expected = Vec::new();
    for number in 0..6 {
        let shape = |entity: &mut Entity| {
            (entity.parked, entity.status) = (Some(Parked::Unregistered), Status::live("running"));
        };
        expected.push(world.bind_with(&key(format!("{number}")), shape).await);
    }
    world.bind(&key("not parked")).await;
    expected.sort_by_key(|entity| entity.id);
    let expected: Vec<Key> = expected.into_iter().map(|entity| entity.key).collect();
    assert_eq!(world.woken(&parked()).await, expected);
    assert_eq!(world.woken_by_pages(&parked(), 4).await, expected);
}

/// M1, R1
pub async fn keys_with_messages_are_found_whether_bound_or_not(world: &mut World) {
    let bound = world.bind(&key_in(0, 0)).await;
    message_to(world, &key_in(0, 0), 1).await;
    message_to(world, &key_in(1, 0), 1).await;
    let found = world.ready(&receivers(), None, 10).await;
    assert_eq!((&found[0].key, found[0].entity.as_deref()), (&key_in(0, 0), Some(&bound)));
    assert_eq!((&found[1].key, found[1].entity.as_deref()), (&key_in(1, 0), None));
    assert_eq!(found[1].cursor, Cursor::Key(Partition(1), key_in(1, 0)));
}

/// M1
pub async fn keys_with_messages_are_in_order_of_partition_and_key(world: &mut World) {
    let mut expected = Vec::new();
    for (partition, number) in [(3, 1), (0, 2), (3, 0), (1, 0), (0, 0), (0, 1)] {
        message_to(world, &key_in(partition, number), 2).await;
        expected.push((partition, key_in(partition, number)));
    }
    expected.sort();
    let expected: Vec<Key> = expected.into_iter().map(|(_, key)| key).collect();
    assert_eq!(world.woken(&receivers()).await, expected);
    for limit in [1, 2, 5] {
        assert_eq!(world.woken_by_pages(&receivers(), limit).await, expected);
    }
}

/// R8
pub async fn a_key_with_many_messages_is_found_once(world: &mut World) {
    message_to(world, &key("a"), 500).await;
    assert_eq!(world.woken(&receivers()).await, [key("a")]);
}

/// M1
pub async fn a_key_whose_messages_were_taken_is_not_found(world: &mut World) {
    message_to(world, &key("a"), 2).await;
    let taken = world.inbox(&key("a")).await.iter().map(|letter| letter.id).collect();
    let entity = world.born(&key("a"));
    world.applied(Write { taken, ..birth(&entity) }).await;
    assert_eq!(world.woken(&receivers()).await, []);
}

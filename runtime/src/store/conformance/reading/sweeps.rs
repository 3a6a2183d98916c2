//! Sweeps: rows that are not visible are deleted in slices, and nothing else is.

use crate::{
    Entity, Millis,
    store::{
        Verdict, Write,
        conformance::fixture::{World, birth, both, destroy, drop_lane, key, key_in, put, reply, unbound},
    },
};

fn numbers(count: u32) -> Vec<String> {
    (0..count).map(|number| format!("{number:04}")).collect()
}

async fn with_rows(world: &mut World, count: u32) -> Entity {
    let entity = world.born(&key("a"));
    let rows = both(&put("left", numbers(count)), &put("right", numbers(count)));
    world.applied(Write { rows, ..birth(&entity) }).await;
    entity
}

/// K6
pub async fn there_is_nothing_to_sweep_in_a_store_where_nothing_ended(world: &mut World) {
    let entity = with_rows(world, 3).await;
    world.applied(Write { remember: vec![reply(b"once", Millis::MAX)], ..unbound(&key("b")) }).await;
    assert_eq!(world.sweep_all(Millis(i64::MAX - 1), 100).await, 0);
    assert_eq!(world.lane(entity.id, "left").await.len(), 3);
}

/// K6
pub async fn a_dropped_lane_is_swept_in_slices(world: &mut World) {
    let entity = with_rows(world, 25).await;
    let (_, write) = world.touch(&entity);
    world.applied(Write { drop: vec![drop_lane("left", false)], ..write }).await;
    let swept = world.sweep_all(world.now, 10).await;
    assert!((25..=26).contains(&swept), "{swept}");
    assert_eq!(world.lane(entity.id, "right").await.len(), 25);
    assert!(world.lane(entity.id, "left").await.is_empty());
}

/// K6, E8
pub async fn a_destroyed_entity_is_swept_in_slices(world: &mut World) {
    let entity = with_rows(world, 25).await;
    world.applied(destroy(&entity)).await;
    let swept = world.sweep_all(world.now, 7).await;
    assert!((50..=51).contains(&swept), "{swept}");
    assert!(world.lane(entity.id, "left").await.is_empty() && world.lane(entity.id, "right").await.is_empty());
}

/// D2, K6
pub async fn a_held_lane_is_swept_only_when_it_is_released(world: &mut World) {
    let entity = with_rows(world, 5).await;
    world.applied(Write { drop: vec![drop_lane("left", true)], ..destroy(&entity) }).await;
    let swept = world.sweep_all(world.now, 2).await;
    assert!((5..=6).contains(&swept), "{swept}");
    assert_eq!(world.lane(entity.id, "left").await.len(), 5);
    world.applied(Write { release: vec![(entity.id, "left".into())], ..unbound(&key("b")) }).await;
    let swept = world.sweep_all(world.now, 2).await;
    assert!((5..=6).contains(&swept), "{swept}");
}

/// E12
pub async fn replies_past_their_time_are_swept_in_slices(world: &mut World) {
    let keys: Vec<_> = (0..10).map(|number| key_in(0, number)).collect();
    for (number, key) in keys.iter().enumerate() {
        let until = if number < 7 { Millis(10) } else { Millis(11) };
        world.applied(Write { remember: vec![reply(b"once", until)], ..unbound(key) }).await;
    }
    assert_eq!(world.sweep_all(Millis(9), 3).await, 0);
    assert_eq!(world.sweep_all(Millis(10), 3).await, 7);
    assert_eq!(world.remembered(&keys[6], b"once").await, None);
    assert!(world.remembered(&keys[7], b"once").await.is_some());
}

/// K6
pub async fn a_sweep_of_nothing_deletes_nothing(world: &mut World) {
    let entity = with_rows(world, 3).await;
    world.applied(destroy(&entity)).await;
    assert_eq!(world.store.sweep(world.now, 0).await.expect("a sweep is answered"), 0);
    assert!(world.sweep_all(world.now, 100).await >= 6);
}

/// K6
pub async fn empty_lanes_and_entities_without_rows_do_not_stop_the_sweep(world: &mut World) {
    for number in 0..5 {
        let bare = world.bind(&key_in(1, number)).await;
        let (after, write) = world.touch(&bare);
        world.applied(Write { drop: vec![drop_lane("never filled", false)], ..write }).await;
        world.applied(destroy(&after)).await;
    }
    let entity = with_rows(world, 4).await;
    world.applied(destroy(&entity)).await;
    assert!(world.sweep_all(world.now, 1).await >= 8);
}

/// fB21
pub async fn a_sweep_never_touches_what_lives(world: &mut World) {
    let (gone, kept) = (with_rows(world, 4).await, world.born(&key("kept")));
    let write = Write {
        rows: put("left", numbers(4)),
        remember: vec![reply(b"once", Millis::MAX)],
        sent: vec![crate::store::conformance::fixture::message(kept.version, 0, &key("receiver"))],
        ..birth(&kept)
    };
    assert_eq!(world.commit(vec![destroy(&gone), write]).await, [Verdict::Applied, Verdict::Applied]);
    world.sweep_all(world.now, 3).await;
    assert_eq!(world.entity(&kept.key).await, Some(kept.clone()));
    assert_eq!(world.lane(kept.id, "left").await, numbers(4));
    assert!(world.remembered(&kept.key, b"once").await.is_some());
    assert_eq!(world.inbox(&key("receiver")).await.len(), 1);
}

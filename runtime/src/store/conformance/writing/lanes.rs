//! Lanes: dropped in one operation, held for others, swept later.

use bytes::Bytes;

use crate::{
    Entity,
    store::{
        Verdict, Write,
        conformance::fixture::{World, birth, both, destroy, drop_lane, key, put},
    },
};

/// Binds an entity with the rows 1 and 2 in the lanes `left` and `right`.
async fn with_lanes(world: &mut World) -> Entity {
    let entity = world.born(&key("a"));
    let rows = both(&put("left", ["1", "2"]), &put("right", ["1", "2"]));
    world.applied(Write { rows, ..birth(&entity) }).await;
    entity
}

async fn dropped(world: &mut World, entity: &Entity, held: bool) -> Entity {
    let (after, write) = world.touch(entity);
    world.applied(Write { drop: vec![drop_lane("left", held)], ..write }).await;
    after
}

async fn assert_lanes(world: &World, entity: &Entity, left: usize, right: usize) {
    let found = (world.lane(entity.id, "left").await.len(), world.lane(entity.id, "right").await.len());
    assert_eq!(found, (left, right));
}

/// K6
pub async fn a_dropped_lane_is_empty_at_once_and_the_others_stay(world: &mut World) {
    let entity = with_lanes(world).await;
    let entity = dropped(world, &entity, false).await;
    assert_lanes(world, &entity, 0, 2).await;
}

/// K6
pub async fn a_put_into_a_dropped_lane_is_refused_and_writes_nothing(world: &mut World) {
    let entity = with_lanes(world).await;
    let entity = dropped(world, &entity, false).await;
    let (_, write) = world.touch(&entity);
    let rows = both(&put("left", ["3"]), &put("another", ["3"]));
    world.refused(Write { rows, ..write }).await;
    assert_lanes(world, &entity, 0, 2).await;
    assert!(world.lane(entity.id, "another").await.is_empty());
    assert_eq!(world.entity(&key("a")).await, Some(entity));
}

/// K6, R4
pub async fn a_stale_put_into_a_dropped_lane_is_stale(world: &mut World) {
    let entity = with_lanes(world).await;
    let (_, late) = world.touch(&entity);
    let entity = dropped(world, &entity, false).await;
    let verdicts = world.commit(vec![Write { rows: put("left", ["3"]), ..late }]).await;
    assert_eq!(verdicts, [Verdict::Stale(Some(entity.version))]);
    assert_eq!(world.entity(&key("a")).await, Some(entity));
}

/// K6
pub async fn a_put_into_a_lane_dropped_by_the_same_write_is_refused(world: &mut World) {
    let entity = with_lanes(world).await;
    let (_, write) = world.touch(&entity);
    world.refused(Write { rows: put("left", ["3"]), drop: vec![drop_lane("left", false)], ..write }).await;
    assert_lanes(world, &entity, 2, 2).await;
}

/// D2
pub async fn a_put_into_a_held_lane_is_refused(world: &mut World) {
    let entity = with_lanes(world).await;
    let entity = dropped(world, &entity, true).await;
    let (_, write) = world.touch(&entity);
    world.refused(Write { rows: put("left", ["3"]), ..write }).await;
    assert_lanes(world, &entity, 2, 2).await;
}

/// D2
pub async fn a_held_lane_stays_readable(world: &mut World) {
    let entity = with_lanes(world).await;
    let entity = dropped(world, &entity, true).await;
    world.sweep_all(world.now, 100).await;
    assert_lanes(world, &entity, 2, 2).await;
}

/// D2
pub async fn a_held_lane_outlives_its_entity(world: &mut World) {
    let entity = with_lanes(world).await;
    let entity = dropped(world, &entity, true).await;
    world.applied(destroy(&entity)).await;
    assert_lanes(world, &entity, 2, 0).await;
    world.sweep_all(world.now, 1).await;
    assert_lanes(world, &entity, 2, 0).await;
}

/// D2
pub async fn a_lane_can_be_held_by_the_write_that_destroys(world: &mut World) {
    let entity = with_lanes(world).await;
    world.applied(Write { drop: vec![drop_lane("left", true)], ..destroy(&entity) }).await;
    world.sweep_all(world.now, 100).await;
    assert_lanes(world, &entity, 2, 0).await;
}

/// D3
pub async fn a_released_lane_is_gone(world: &mut World) {
    let entity = with_lanes(world).await;
    let entity = dropped(world, &entity, true).await;
    let other = world.bind(&key("letters")).await;
    let (_, write) = world.touch(&other);
    world.applied(Write { release: vec![(entity.id, "left".into())], ..write }).await;
    assert_lanes(world, &entity, 0, 2).await;
    assert!(world.sweep_all(world.now, 100).await >= 2);
}

/// D3
pub async fn a_held_lane_of_a_destroyed_entity_can_be_released(world: &mut World) {
    let entity = with_lanes(world).await;
    let entity = dropped(world, &entity, true).await;
    world.applied(destroy(&entity)).await;
    world.sweep_all(world.now, 100).await;
    let other = world.bind(&key("letters")).await;
    let (_, write) = world.touch(&other);
    world.applied(Write { release: vec![(entity.id, "left".into())], ..write }).await;
    assert_lanes(world, &entity, 0, 0).await;
    assert!(world.sweep_all(world.now, 100).await >= 2);
}

/// D3
pub async fn releasing_a_lane_that_is_not_held_does_nothing(world: &mut World) {
    let entity = with_lanes(world).await;
    let (after, write) = world.touch(&entity);
    world.applied(Write { release: vec![(entity.id, "left".into()), (entity.id, "none".into())], ..write }).await;
    assert_lanes(world, &after, 2, 2).await;
}

/// E8, K6
pub async fn a_destroyed_entity_has_no_rows(world: &mut World) {
    let entity = with_lanes(world).await;
    world.applied(destroy(&entity)).await;
    assert_lanes(world, &entity, 0, 0).await;
}

/// E8
pub async fn a_new_incarnation_has_none_of_the_old_rows(world: &mut World) {
    let old = with_lanes(world).await;
    world.applied(destroy(&old)).await;
    let new = world.bind(&key("a")).await;
    assert_lanes(world, &new, 0, 0).await;
    let (after, write) = world.touch(&new);
    world.applied(Write { rows: put("left", ["new"]), ..write }).await;
    world.sweep_all(world.now, 100).await;
    assert_lanes(world, &after, 1, 0).await;
    assert_lanes(world, &old, 0, 0).await;
}

/// E8
pub async fn rows_of_a_write_that_destroys_are_not_looked_at(world: &mut World) {
    let entity = with_lanes(world).await;
    world.applied(Write { rows: put("right", ["3"]), ..destroy(&entity) }).await;
    assert_lanes(world, &entity, 0, 0).await;
}

/// L4
pub async fn a_stale_write_drops_no_lane(world: &mut World) {
    let entity = with_lanes(world).await;
    let (_, late) = world.touch(&entity);
    let (after, write) = world.touch(&entity);
    world.applied(write).await;
    let late = Write { drop: vec![drop_lane("left", false)], ..late };
    assert_eq!(world.write(late).await, Verdict::Stale(Some(after.version)));
    assert_lanes(world, &after, 2, 2).await;
}

/// B4
pub async fn the_next_lane_is_filled_by_the_write_that_drops_the_last(world: &mut World) {
    let entity = with_lanes(world).await;
    let (_, write) = world.touch(&entity);
    world.applied(Write { rows: put("next", ["3"]), drop: vec![drop_lane("left", false)], ..write }).await;
    assert_lanes(world, &entity, 0, 2).await;
    assert_eq!(world.lane(entity.id, "next").await, [Bytes::from_static(b"3")]);
}

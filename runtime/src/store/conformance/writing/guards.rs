//! Guards: if the guard of a write does not hold, nothing of the write is applied.

use bytes::Bytes;

use crate::{
    Crashes, Entity, Millis, Status, Version,
    store::{
        After, Guard, Touched, Verdict, Write,
        conformance::fixture::{START, World, birth, change, destroy, key, key_in, message, put, reply, unbound},
    },
};

/// E4
pub async fn a_change_at_the_right_version_is_applied(world: &mut World) {
    let before = world.bind(&key("a")).await;
    let after = Entity { state: Bytes::from_static(b"new"), updated_at: Millis(9), ..world.next(&before) };
    world.applied(change(&before, &after)).await;
    assert_eq!(world.entity(&key("a")).await, Some(after));
}

/// R3, E4
pub async fn a_change_at_an_old_version_is_stale_and_writes_nothing(world: &mut World) {
    let (first, receiver) = (world.bind(&key("a")).await, key("b"));
    let (second, write) = world.touch(&first);
    world.applied(write).await;
    let late = Entity { head: Bytes::from_static(b"late"), ..world.next(&first) };
    let write = Write {
        rows: put("lane", ["row"]),
        sent: vec![message(late.version, 0, &receiver)],
        remember: vec![reply(b"once", Millis::MAX)],
        ..change(&first, &late)
    };
    assert_eq!(world.write(write).await, Verdict::Stale(Some(second.version)));
    assert_eq!(world.entity(&key("a")).await, Some(second.clone()));
    assert_eq!(world.lane(second.id, "lane").await, Vec::<Bytes>::new());
    assert_eq!(world.inbox(&receiver).await, []);
    assert_eq!(world.remembered(&key("a"), b"once").await, None);
}

/// R3
pub async fn a_change_from_the_future_is_stale(world: &mut World) {
    let entity = world.bind(&key("a")).await;
    let (later, _) = world.touch(&entity);
    let (last, _) = world.touch(&later);
    assert_eq!(world.write(change(&later, &last)).await, Verdict::Stale(Some(entity.version)));
}

/// L3, E8
pub async fn a_change_of_a_destroyed_entity_is_stale(world: &mut World) {
    let entity = world.bind(&key("a")).await;
    world.applied(destroy(&entity)).await;
    let (_, write) = world.touch(&entity);
    assert_eq!(world.write(write).await, Verdict::Stale(None));
    assert_eq!(world.entity(&key("a")).await, None);
}

/// E8, L3
pub async fn a_late_change_of_an_old_incarnation_is_stale(world: &mut World) {
    let old = world.bind(&key("a")).await;
    let (_, late) = world.touch(&old);
    world.applied(destroy(&old)).await;
    let new = world.bind(&key("a")).await;
    assert_eq!(world.write(late).await, Verdict::Stale(Some(new.version)));
    assert_eq!(world.write(destroy(&old)).await, Verdict::Stale(Some(new.version)));
    assert_eq!(world.entity(&key("a")).await, Some(new));
}

/// E4
pub async fn a_light_write_changes_version_head_state_and_time(world: &mut World) {
    let before = world
        .bind_with(&key("a"), |entity| {
            entity.status = Status::live("running");
            (entity.alarm, entity.active, entity.crashes) = (Some(Millis(5)), true, Crashes::from_byte(2));
        })
        .await;
    let mut after = world.next(&before);
    (after.head, after.state) = (Bytes::from_static(b"head 2"), Bytes::from_static(b"state 2"));
    after.updated_at = Millis(START.0 + 1);
    let write = change(&before, &after);
    assert_eq!(write.touched, Touched::default());
    world.applied(write).await;
    assert_eq!(world.entity(&key("a")).await, Some(after));
}

/// E7
pub async fn state_and_alarm_change_together(world: &mut World) {
    let before = world.bind(&key("a")).await;
    let set = Entity { alarm: Some(Millis(77)), active: true, ..world.next(&before) };
    let write = change(&before, &set);
    assert_eq!(write.touched, Touched::Wake);
    world.applied(write).await;
    assert_eq!(world.entity(&key("a")).await, Some(set.clone()));
    let cleared = Entity { alarm: None, active: false, ..world.next(&set) };
    world.applied(change(&set, &cleared)).await;
    assert_eq!(world.entity(&key("a")).await, Some(cleared));
}

/// E11
pub async fn status_and_alarm_change_together(world: &mut World) {
    let before = world.bind(&key("a")).await;
    let (status, alarm) = (Status::live("waiting"), Some(Millis(77)));
    let after = Entity { status, alarm, active: true, ..world.next(&before) };
    let write = change(&before, &after);
    assert_eq!(write.touched, Touched::Status);
    world.applied(write).await;
    assert_eq!(world.entity(&key("a")).await, Some(after));
}

/// E11, W2
pub async fn a_full_write_changes_the_rest(world: &mut World) {
    let before = world.bind(&key("a")).await;
    let after = Entity {
        kind: "other".into(),
        definition: "renamed".into(),
        status: Status::failing("error"),
        config: crate::Fingerprint(8),
        crashes: Crashes::from_byte(4).waiting(),
        suspect: Some(crate::WorkId::new("tick/7")),
        parked: Some(crate::Parked::Poisoned("why".into())),
        alarm: Some(Millis(9)),
        ..world.next(&before)
    };
    let write = change(&before, &after);
    assert_eq!(write.touched, Touched::All);
    world.applied(write).await;
    assert_eq!(world.entity(&key("a")).await, Some(after.clone()));
    let reset = Entity { suspect: None, parked: None, crashes: Crashes::NONE, ..world.next(&after) };
    world.applied(change(&after, &reset)).await;
    assert_eq!(world.entity(&key("a")).await, Some(reset));
}

/// R4
pub async fn the_same_change_twice_is_applied_once(world: &mut World) {
    let before = world.bind(&key("a")).await;
    let (after, write) = world.touch(&before);
    let write = Write { sent: vec![message(after.version, 0, &key("b"))], ..write };
    world.applied(write.clone()).await;
    assert_eq!(world.write(write).await, Verdict::Stale(Some(after.version)));
    assert_eq!(world.inbox(&key("b")).await.len(), 1);
}

/// R4
pub async fn the_same_birth_twice_is_applied_once(world: &mut World) {
    let entity = world.bind(&key("a")).await;
    assert_eq!(world.write(birth(&entity)).await, Verdict::Stale(Some(entity.version)));
}

/// E8
pub async fn destroying_at_an_old_version_is_stale(world: &mut World) {
    let first = world.bind(&key("a")).await;
    let (second, write) = world.touch(&first);
    world.applied(write).await;
    assert_eq!(world.write(destroy(&first)).await, Verdict::Stale(Some(second.version)));
    assert_eq!(world.entity(&key("a")).await, Some(second));
}

/// E8
pub async fn destroying_nothing_is_refused(world: &mut World) {
    world.refused(Write { after: After::Destroyed, ..unbound(&key("a")) }).await;
}

/// E1
pub async fn a_key_that_was_bound_meanwhile_does_not_stay_unbound(world: &mut World) {
    let entity = world.bind(&key("a")).await;
    let write = Write { remember: vec![reply(b"once", Millis::MAX)], ..unbound(&key("a")) };
    assert_eq!(world.write(write).await, Verdict::Stale(Some(entity.version)));
    assert_eq!(world.remembered(&key("a"), b"once").await, None);
}

/// E1
pub async fn a_bound_key_cannot_be_left_unbound(world: &mut World) {
    let entity = world.bind(&key("a")).await;
    world.refused(Write { after: After::Unbound, ..destroy(&entity) }).await;
    assert_eq!(world.entity(&key("a")).await, Some(entity));
}

/// R3
pub async fn an_entity_cannot_take_the_place_of_another(world: &mut World) {
    let entity = world.bind(&key_in(0, 0)).await;
    let other = Entity { id: Version(entity.id.0 + 1), ..world.next(&entity) };
    world.refused(Write { guard: Guard::At { id: entity.id, version: entity.version }, ..birth(&other) }).await;
    assert_eq!(world.entity(&entity.key).await, Some(entity));
}

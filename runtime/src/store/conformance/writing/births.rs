//! Births: a key is bound once.

use bytes::Bytes;

use crate::{
    Conviction, Crashes, Entity, Fingerprint, Key, Millis, Parked, Partition, Phase, Status, WorkId,
    store::{
        Verdict, Write,
        conformance::fixture::{World, birth, change, destroy, key, key_in},
    },
};

/// E1, K1
pub async fn a_birth_is_read_back_whole(world: &mut World) {
    let entity = world
        .bind_with(&key("a"), |entity| {
            entity.status = Status::live("running");
            entity.config = Fingerprint(u64::MAX >> 1);
            entity.active = true;
            entity.alarm = Some(Millis(5));
            entity.crashes = Crashes::from_byte(3);
            entity.suspect = Some(WorkId::new("charge#1"));
            entity.parked = Some(Parked::Undecodable("state.items[3]".into()));
            (entity.created_at, entity.updated_at) = (Millis(1), Millis(2));
        })
        .await;
    assert_eq!(world.entity(&entity.key).await, Some(entity));
}

/// E1
pub async fn an_unbound_key_reads_as_nothing(world: &mut World) {
    assert_eq!(world.entity(&key("a")).await, None);
}

/// E1, L2
pub async fn a_birth_on_a_bound_key_is_stale_and_names_the_version_found(world: &mut World) {
    let first = world.bind(&key("a")).await;
    let second = world.born(&key("a"));
    assert_eq!(world.write(birth(&second)).await, Verdict::Stale(Some(first.version)));
    assert_eq!(world.entity(&key("a")).await, Some(first));
}

/// R3
pub async fn an_id_is_given_to_one_entity_only(world: &mut World) {
    let first = world.bind(&key_in(0, 0)).await;
    let second = Entity { key: key_in(0, 1), ..first.clone() };
    world.refused(birth(&second)).await;
    assert_eq!(world.entity(&second.key).await, None);
    assert_eq!(world.entity(&first.key).await, Some(first));
}

/// E2, V10
pub async fn the_same_key_in_two_spaces_is_two_entities(world: &mut World) {
    let one = Key { space: "one".into(), key: Bytes::from_static(b"k") };
    let two = Key { space: "two".into(), ..one.clone() };
    let first = world.bind(&one).await;
    assert_eq!(world.entity(&two).await, None);
    let second = world.bind(&two).await;
    assert_eq!((world.entity(&one).await, world.entity(&two).await), (Some(first), Some(second)));
}

/// E10, W2
pub async fn every_reason_for_parking_comes_back(world: &mut World) {
    let why = || String::from("why: \u{1f9f1} 'quoted'");
    let conviction = |work: Option<WorkId>| Conviction { work, deaths: 9, controls: 6, build: u64::MAX };
    let reasons = [
        Parked::Unregistered,
        Parked::Undecodable(why()),
        Parked::Poisoned(why()),
        Parked::Broken(String::new()),
        Parked::Held(conviction(None)),
        Parked::Held(conviction(Some(WorkId::new("a step#1")))),
    ];
    for (number, parked) in reasons.into_iter().enumerate() {
        let entity = world.bind_with(&key(format!("{number}")), |entity| entity.parked = Some(parked)).await;
        assert_eq!(world.entity(&entity.key).await, Some(entity));
    }
}

/// R6
pub async fn every_phase_comes_back(world: &mut World) {
    for (number, phase) in [Phase::Live, Phase::Resting, Phase::Failing].into_iter().enumerate() {
        let status = Status { word: "word".into(), phase };
        let entity = world.bind_with(&key(format!("{number}")), |entity| entity.status = status).await;
        assert_eq!(world.entity(&entity.key).await, Some(entity));
    }
}

/// A5, K3
pub async fn a_record_holds_the_extremes(world: &mut World) {
    let entity = world
        .bind_with(&key("a"), |entity| {
            entity.alarm = Some(Millis::MAX);
            entity.crashes = Crashes::from_byte(u8::MAX);
            (entity.created_at, entity.updated_at) = (Millis(i64::MIN), Millis(-1));
            (entity.head, entity.state) = (Bytes::new(), Bytes::new());
        })
        .await;
    assert_eq!(world.entity(&entity.key).await, Some(entity));
}

/// K1
pub async fn an_entity_of_another_key_is_refused(world: &mut World) {
    let other = world.born(&key_in(0, 1));
    world.refused(Write { key: key_in(0, 0), ..birth(&other) }).await;
    assert_eq!((world.entity(&key_in(0, 0)).await, world.entity(&other.key).await), (None, None));
}

/// R3
pub async fn a_key_in_the_wrong_partition_is_refused(world: &mut World) {
    let entity = world.born(&key_in(0, 0));
    world.refused(Write { partition: Partition(1), ..birth(&entity) }).await;
    world.refused(Write { partition: Partition(99), ..birth(&entity) }).await;
    assert_eq!(world.entity(&entity.key).await, None);
}

/// E1
pub async fn an_entity_is_born_with_a_later_version_than_its_id(world: &mut World) {
    let first = world.born(&key("a"));
    let merged = world.next(&first);
    world.applied(birth(&merged)).await;
    let after = world.next(&merged);
    world.applied(change(&merged, &after)).await;
    assert_eq!(world.entity(&key("a")).await, Some(after));
}

/// E8
pub async fn a_destroyed_key_is_free_for_another(world: &mut World) {
    let first = world.bind(&key("a")).await;
    world.applied(destroy(&first)).await;
    assert_eq!(world.entity(&key("a")).await, None);
    let second = world.bind(&key("a")).await;
    assert_eq!(world.entity(&key("a")).await, Some(second));
}

//! Listing: all entities, filtered, in pages, stable while others change.

use crate::{
    Entity, Fingerprint, Key, Millis, Parked, Phase, Status, Version,
    store::{
        Page, Query, Write,
        conformance::fixture::{World, birth, destroy, key, message},
    },
};

async fn list(world: &World, query: &Query) -> Page {
    world.store.list(query).await.expect("a listing is answered")
}

async fn keys(world: &World, query: Query) -> Vec<Key> {
    list(world, &query).await.entities.into_iter().map(|entity| entity.key).collect()
}

async fn pages(world: &World, mut query: Query) -> Vec<Version> {
    let mut ids = Vec::new();
    loop {
        let page = list(world, &query).await;
        assert!(page.entities.len() <= query.limit);
        ids.extend(page.entities.iter().map(|entity| entity.id));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return ids,
        }
    }
}

/// Binds this many entities; returns them ordered by id.
async fn some(world: &mut World, count: u32) -> Vec<Entity> {
    let mut all = Vec::new();
    for number in 0..count {
        all.push(world.bind(&key(format!("{number}"))).await);
    }
    all.sort_by_key(|entity| entity.id);
    all
}

/// R6
pub async fn all_entities_are_listed_whole_by_id(world: &mut World) {
    let all = some(world, 7).await;
    assert_eq!(list(world, &Query::default()).await, Page { entities: all, next: None });
}

/// R6
pub async fn an_empty_store_lists_nothing(world: &mut World) {
    assert_eq!(list(world, &Query::default()).await, Page::default());
    assert_eq!(list(world, &Query { limit: 0, ..Query::default() }).await, Page::default());
}

/// R6
pub async fn pages_hold_each_entity_once(world: &mut World) {
    let ids: Vec<Version> = some(world, 12).await.iter().map(|entity| entity.id).collect();
    for limit in [1, 4, 5, 12, 13] {
        assert_eq!(pages(world, Query { limit, ..Query::default() }).await, ids);
    }
}

/// R6
pub async fn the_last_page_says_that_it_is_the_last(world: &mut World) {
    let all = some(world, 4).await;
    assert_eq!(list(world, &Query { limit: 3, ..Query::default() }).await.next, Some(all[2].id));
    assert_eq!(list(world, &Query { limit: 4, ..Query::default() }).await.next, None);
}

/// R6
pub async fn pages_are_stable_while_others_come_and_go(world: &mut World) {
    let all = some(world, 6).await;
    let first = list(world, &Query { limit: 3, ..Query::default() }).await;
    world.applied(destroy(&all[0])).await;
    world.applied(destroy(&all[4])).await;
    let second = list(world, &Query { limit: 3, after: first.next, ..Query::default() }).await;
    assert_eq!(first.entities, all[..3]);
    assert_eq!(second.entities, [all[3].clone(), all[5].clone()]);
}

/// R6
pub async fn a_listing_is_filtered_by_space(world: &mut World) {
    world.bind(&key("a")).await;
    let other = Key { space: "other".into(), ..key("a") };
    world.bind(&other).await;
    assert_eq!(keys(world, Query { space: Some("other".into()), ..Query::default() }).await, [other]);
    assert_eq!(keys(world, Query { space: Some("oth".into()), ..Query::default() }).await, []);
}

/// R6
pub async fn a_listing_is_filtered_by_definition(world: &mut World) {
    world.bind(&key("a")).await;
    world.bind_with(&key("b"), |entity| entity.definition = "cart".into()).await;
    assert_eq!(keys(world, Query { definition: Some("cart".into()), ..Query::default() }).await, [key("b")]);
}

/// R6
pub async fn a_listing_is_filtered_by_status_and_phase(world: &mut World) {
    world.bind_with(&key("a"), |entity| entity.status = Status::live("running")).await;
    world.bind_with(&key("b"), |entity| entity.status = Status::failing("error")).await;
    world.bind_with(&key("c"), |entity| entity.status = Status::resting("stopped")).await;
    assert_eq!(keys(world, Query { status: Some("error".into()), ..Query::default() }).await, [key("b")]);
    assert_eq!(keys(world, Query { phase: Some(Phase::Live), ..Query::default() }).await, [key("a")]);
    assert_eq!(keys(world, Query { phase: Some(Phase::Failing), ..Query::default() }).await, [key("b")]);
    assert_eq!(keys(world, Query { phase: Some(Phase::Resting), ..Query::default() }).await, [key("c")]);
}

/// R6, E10
pub async fn a_listing_is_filtered_by_parking(world: &mut World) {
    world.bind(&key("a")).await;
    world.bind_with(&key("b"), |entity| entity.parked = Some(Parked::Unregistered)).await;
    assert_eq!(keys(world, Query { parked: Some(true), ..Query::default() }).await, [key("b")]);
    assert_eq!(keys(world, Query { parked: Some(false), ..Query::default() }).await, [key("a")]);
}

/// R6
pub async fn a_listing_is_filtered_by_what_is_due(world: &mut World) {
    world.bind(&key("never")).await;
    world.bind_with(&key("soon"), |entity| entity.alarm = Some(Millis(10))).await;
    world.bind_with(&key("later"), |entity| entity.alarm = Some(Millis(11))).await;
    assert_eq!(keys(world, Query { due_until: Some(Millis(10)), ..Query::default() }).await, [key("soon")]);
    assert_eq!(keys(world, Query { due_until: Some(Millis(9)), ..Query::default() }).await, []);
}

/// E11
pub async fn entities_of_another_configuration_are_listed(world: &mut World) {
    world.bind_with(&key("old"), |entity| entity.config = Fingerprint(1)).await;
    world.bind_with(&key("new"), |entity| entity.config = Fingerprint(2)).await;
    let query = Query { config_other_than: Some(Fingerprint(2)), ..Query::default() };
    assert_eq!(keys(world, query).await, [key("old")]);
}

/// R6
pub async fn filters_hold_together_and_across_pages(world: &mut World) {
    let mut expected = Vec::new();
    for number in 0..12 {
        let live = number % 2 == 0;
        let cart = number % 3 == 0;
        let shape = |entity: &mut Entity| {
            entity.status = if live { Status::live("running") } else { Status::resting("stopped") };
            entity.definition = if cart { "cart".into() } else { "counter".into() };
        };
        let entity = world.bind_with(&key(format!("{number}")), shape).await;
        expected.extend((live && cart).then_some(entity.id));
    }
    expected.sort();
    let query = Query { definition: Some("cart".into()), phase: Some(Phase::Live), limit: 1, ..Query::default() };
    assert_eq!(pages(world, query).await, expected);
}

/// R7
pub async fn what_nothing_will_wake_is_listed_as_stuck(world: &mut World) {
    let live = |entity: &mut Entity| entity.status = Status::live("running");
    world.bind_with(&key("stuck"), live).await;
    world.bind_with(&key("has a message"), live).await;
    world.bind(&key("resting")).await;
    world.bind_with(&key("failing"), |entity| entity.status = Status::failing("error")).await;
    let alarm = |entity: &mut Entity| (entity.status, entity.alarm) = (Status::live("running"), Some(Millis(1)));
    world.bind_with(&key("has an alarm"), alarm).await;
    let active = |entity: &mut Entity| (entity.status, entity.active) = (Status::live("running"), true);
    world.bind_with(&key("has work"), active).await;
    let parked =
        |entity: &mut Entity| (entity.status, entity.parked) = (Status::live("running"), Some(Parked::Unregistered));
    world.bind_with(&key("parked"), parked).await;
    let sender = world.born(&key("sender"));
    let sent = vec![message(sender.version, 0, &key("has a message"))];
    world.applied(Write { sent, ..birth(&sender) }).await;
    assert_eq!(keys(world, Query { stuck: true, ..Query::default() }).await, [key("stuck")]);
}

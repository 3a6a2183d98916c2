//! Rows: the data that an entity has beside its record, in order.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    Entity, Range, Row, Version,
    store::{
        Touched, Write,
        conformance::fixture::{World, birth, both, key, key_in, put, unbound},
    },
};

async fn with_rows(world: &mut World, keys: &[&'static [u8]]) -> Entity {
    let entity = world.born(&key("a"));
    world.applied(Write { rows: put("lane", keys.iter().copied()), ..birth(&entity) }).await;
    entity
}

async fn keys(world: &World, entity: Version, range: Range) -> Vec<Bytes> {
    world.range(entity, range).await.into_iter().map(|row| row.key).collect()
}

fn range(from: Option<&'static str>, limit: u32, backwards: bool) -> Range {
    Range { of: None, lane: "lane".into(), from: from.map(Bytes::from), limit, backwards }
}

/// E1
pub async fn rows_are_born_with_their_entity(world: &mut World) {
    let entity = with_rows(world, &[b"row"]).await;
    let row = Row { lane: "lane".into(), key: Bytes::from_static(b"row"), body: Bytes::from_static(b"row") };
    assert_eq!(world.range(entity.id, Range::first("lane", 10)).await, [row]);
}

/// Q1
pub async fn rows_are_in_bytewise_order(world: &mut World) {
    let all: [&'static [u8]; 9] = [b"", b"\0", b"\0\0", b"A", b"a", b"a\0", b"aa", "\u{1f600}".as_bytes(), b"\xff\xff"];
    let mut shuffled = all;
    shuffled.reverse();
    let entity = with_rows(world, &shuffled).await;
    assert_eq!(world.lane(entity.id, "lane").await, all);
}

/// Q1
pub async fn a_range_begins_at_its_first_key(world: &mut World) {
    let entity = with_rows(world, &[b"a", b"c", b"e"]).await;
    assert_eq!(keys(world, entity.id, range(Some("c"), 10, false)).await, ["c", "e"]);
    assert_eq!(keys(world, entity.id, range(Some("d"), 10, false)).await, ["e"]);
    assert_eq!(keys(world, entity.id, range(Some("f"), 10, false)).await, Vec::<Bytes>::new());
}

/// T6
pub async fn a_range_can_be_read_backwards(world: &mut World) {
    let entity = with_rows(world, &[b"a", b"c", b"e"]).await;
    assert_eq!(keys(world, entity.id, range(None, 2, true)).await, ["e", "c"]);
    assert_eq!(keys(world, entity.id, range(Some("c"), 10, true)).await, ["c", "a"]);
    assert_eq!(keys(world, entity.id, range(Some("d"), 1, true)).await, ["c"]);
    assert_eq!(keys(world, entity.id, range(Some("\0"), 1, true)).await, Vec::<Bytes>::new());
}

/// K6
pub async fn a_range_ends_at_its_limit(world: &mut World) {
    let entity = with_rows(world, &[b"a", b"b", b"c"]).await;
    assert_eq!(keys(world, entity.id, Range::first("lane", 2)).await, ["a", "b"]);
    assert_eq!(keys(world, entity.id, Range::first("lane", 0)).await, Vec::<Bytes>::new());
    assert_eq!(keys(world, entity.id, Range::first("lane", u32::MAX)).await, ["a", "b", "c"]);
}

/// V10
pub async fn lanes_whose_names_share_a_beginning_do_not_mix(world: &mut World) {
    let entity = world.born(&key("a"));
    let lanes = ["a", "a\0", "a\0b", "aa", "b"];
    let rows = lanes.iter().fold(Arc::default(), |rows, lane| both(&rows, &put(lane, [*lane])));
    world.applied(Write { rows, ..birth(&entity) }).await;
    for lane in lanes {
        assert_eq!(world.lane(entity.id, lane).await, [lane]);
        let backwards = Range { backwards: true, ..Range::first(lane, 10) };
        assert_eq!(keys(world, entity.id, backwards).await, [lane]);
    }
}

/// V10
pub async fn rows_of_two_entities_do_not_mix(world: &mut World) {
    let (one, two) = (world.born(&key_in(0, 0)), world.born(&key_in(0, 1)));
    let rows = |entity: &Entity, row| Write { rows: put("lane", [row]), ..birth(entity) };
    world.commit(vec![rows(&one, "1"), rows(&two, "2")]).await;
    assert_eq!(
        (world.lane(one.id, "lane").await, world.lane(two.id, "lane").await),
        (vec!["1".into()], vec!["2".into()])
    );
}

/// E4
pub async fn a_row_put_twice_is_there_once_with_its_last_body(world: &mut World) {
    let entity = with_rows(world, &[b"a"]).await;
    let (_, write) = world.touch(&entity);
    let place = ("lane".into(), Bytes::from_static(b"a"));
    world.applied(Write { rows: Arc::new([(place, Some(Bytes::from_static(b"second")))].into()), ..write }).await;
    let rows = world.range(entity.id, Range::first("lane", 10)).await;
    assert_eq!((rows.len(), &rows[0].body[..]), (1, &b"second"[..]));
}

/// Q2
pub async fn a_removed_row_is_gone(world: &mut World) {
    let entity = with_rows(world, &[b"a", b"b"]).await;
    let (_, write) = world.touch(&entity);
    let gone = ["a", "never there"].map(|row| (("lane".into(), Bytes::from(row)), None));
    world.applied(Write { rows: Arc::new(gone.into()), ..write }).await;
    assert_eq!(world.lane(entity.id, "lane").await, ["b"]);
}

/// E4
pub async fn a_light_write_can_carry_rows(world: &mut World) {
    let entity = world.bind(&key("a")).await;
    let (after, write) = world.touch(&entity);
    assert_eq!(write.touched, Touched::default());
    world.applied(Write { rows: put("lane", ["a"]), ..write }).await;
    assert_eq!(world.lane(entity.id, "lane").await, ["a"]);
    assert_eq!(world.entity(&key("a")).await, Some(after));
}

/// K3
pub async fn one_write_can_change_a_thousand_rows(world: &mut World) {
    let entity = world.born(&key("a"));
    let names: Vec<String> = (0..1000).map(|number| format!("{number:04}")).collect();
    world.applied(Write { rows: put("lane", names.clone()), ..birth(&entity) }).await;
    assert_eq!(world.lane(entity.id, "lane").await, names);
}

/// E1
pub async fn rows_without_an_entity_are_refused(world: &mut World) {
    world.refused(Write { rows: put("lane", ["a"]), ..unbound(&key("a")) }).await;
}

/// D2
pub async fn a_range_is_read_of_the_entity_that_is_asked_for(world: &mut World) {
    let entity = with_rows(world, &[b"a"]).await;
    let range = Range { of: Some(Version(1)), ..Range::first("lane", 10) };
    assert_eq!(keys(world, entity.id, range).await, ["a"]);
}

/// V10
pub async fn an_entity_that_never_was_has_no_rows(world: &mut World) {
    with_rows(world, &[b"a"]).await;
    assert!(world.lane(Version(1), "lane").await.is_empty());
    assert!(world.lane(Version(u64::MAX), "lane").await.is_empty());
}

//! Hostile input: any bytes are read back unchanged, and no data of a key reaches another key.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    Entity, Fingerprint, Key, Millis, Name, Range, Status, WorkId,
    store::{
        Config, Found, Query, Read, Ready, Write,
        conformance::fixture::{World, all_partitions, birth, key, message, put},
    },
};

/// Bytes that break code which mistakes them for text, SQL, a path, a number or a tag.
const BYTES: [&[u8]; 24] = [
    b"\0",
    b"\0\0",
    b"a\0b",
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"'; DROP TABLE entity; --",
    b"\" OR 1=1",
    b"<script>alert(1)</script>",
    b"../../etc/passwd",
    b"a:b",
    b"{tag}",
    b"\r\n\r\n",
    b"%s%n",
    b"NULL",
    b"1",
    b"1.0",
    b"01",
    b"0x31",
    b" 1",
    "\u{1f9f1}\u{202e}".as_bytes(),
    "e\u{301}".as_bytes(),
    "\u{e9}".as_bytes(),
];

/// Returns those of the bytes that are valid text.
fn texts() -> impl Iterator<Item = String> {
    BYTES.into_iter().filter_map(|bytes| String::from_utf8(bytes.to_vec()).ok())
}

/// V10, fE5
pub async fn hostile_keys_do_not_meet(world: &mut World) {
    for bytes in BYTES {
        let entity = world.bind_with(&key(bytes), |entity| entity.head = Bytes::from_static(bytes)).await;
        let (_, write) = world.touch(&entity);
        world.applied(Write { rows: put("lane", [bytes]), ..write }).await;
    }
    for bytes in BYTES {
        let entity = world.entity(&key(bytes)).await.expect("it was bound");
        assert_eq!((&entity.head[..], &entity.key.key[..]), (bytes, bytes));
        assert_eq!(world.lane(entity.id, "lane").await, [bytes]);
    }
}

/// V10
pub async fn keys_that_share_a_beginning_do_not_meet(world: &mut World) {
    let keys: Vec<Key> = (1..40).map(|length| key("k".repeat(length))).collect();
    for key in &keys {
        world.bind_with(key, |entity| entity.state = key.key.clone()).await;
    }
    for key in &keys {
        assert_eq!(world.entity(key).await.map(|entity| entity.state), Some(key.key.clone()));
    }
    assert_eq!(world.entity(&key("k".repeat(40))).await, None);
}

/// V10
pub async fn the_border_between_space_and_key_cannot_be_moved(world: &mut World) {
    let keys = [("ab", "c"), ("a", "bc"), ("a/b", "c"), ("a", "b/c")];
    let keys = keys.map(|(space, key)| Key { space: space.into(), key: Bytes::from(key) });
    for key in &keys {
        world.bind(key).await;
    }
    for key in &keys {
        assert_eq!(world.entity(key).await.map(|entity| entity.key), Some(key.clone()));
    }
}

/// fE1
pub async fn hostile_payloads_come_back(world: &mut World) {
    for (number, bytes) in BYTES.into_iter().chain([&b""[..]]).enumerate() {
        let bytes = Bytes::from_static(bytes);
        let before = world.bind_with(&key(format!("{number}")), |entity| entity.head = bytes.clone()).await;
        let after = Entity { head: Bytes::new(), state: bytes.clone(), ..world.next(&before) };
        world.applied(crate::store::conformance::fixture::change(&before, &after)).await;
        assert_eq!(world.entity(&before.key).await, Some(after));
    }
}

/// fE1, fE5
pub async fn hostile_rows_come_back(world: &mut World) {
    let entity = world.born(&key("a"));
    world.applied(Write { rows: put("lane", BYTES), ..birth(&entity) }).await;
    for bytes in BYTES {
        let row = world.range(entity.id, Range::at("lane", bytes)).await.remove(0);
        assert_eq!((&row.key[..], &row.body[..]), (bytes, bytes));
    }
    let mut sorted = BYTES;
    sorted.sort_unstable();
    assert_eq!(world.lane(entity.id, "lane").await, sorted);
}

/// fE5
pub async fn hostile_lanes_do_not_meet(world: &mut World) {
    let entity = world.born(&key("a"));
    let place = |lane: String| ((Name::from(lane.clone()), Bytes::new()), Some(Bytes::from(lane)));
    world.applied(Write { rows: Arc::new(texts().map(place).collect()), ..birth(&entity) }).await;
    for lane in texts() {
        let rows = world.range(entity.id, Range::first(lane.clone(), 10)).await;
        assert_eq!((rows.len(), &rows[0].body[..]), (1, lane.as_bytes()));
    }
}

/// fE5
pub async fn hostile_names_come_back(world: &mut World) {
    for text in texts() {
        let shape = |entity: &mut Entity| {
            (entity.kind, entity.definition) = (text.clone().into(), text.clone().into());
            (entity.status, entity.suspect) = (Status::live(text.clone()), Some(WorkId::new(text.clone())));
        };
        let entity = world.bind_with(&key(text.clone()), shape).await;
        assert_eq!(world.entity(&entity.key).await, Some(entity.clone()));
        let query = Query { definition: Some(text.clone().into()), status: Some(text.into()), ..Query::default() };
        let page = world.store.list(&query).await.expect("a listing is answered");
        assert_eq!(page.entities, [entity]);
    }
}

/// fE1, V10
pub async fn hostile_messages_come_back_to_hostile_keys(world: &mut World) {
    for bytes in BYTES {
        let sender = world.born(&key([bytes, b"sender"].concat()));
        let mut sent = message(sender.version, 0, &key(bytes));
        sent.body = Bytes::from_static(bytes);
        world.applied(Write { sent: vec![sent], ..birth(&sender) }).await;
    }
    for bytes in BYTES {
        let letters = world.inbox(&key(bytes)).await;
        assert_eq!((letters.len(), &letters[0].body[..]), (1, bytes));
    }
    let found = world.woken_by_pages(&Ready::Inbox { partitions: all_partitions() }, 5).await;
    assert_eq!(found.len(), BYTES.len());
}

/// fE1
pub async fn hostile_configurations_come_back(world: &mut World) {
    let config = |number: usize, bytes| Config {
        definition: "counter".into(),
        fingerprint: Fingerprint(number as u64),
        body: Bytes::from_static(bytes),
    };
    let mut batch = world.batch(Vec::new());
    batch.configs = BYTES.into_iter().enumerate().map(|(number, bytes)| config(number, bytes)).collect();
    world.store.commit(&batch).await.expect("a batch is answered");
    for config in batch.configs {
        let read = Read::Config { definition: config.definition, fingerprint: config.fingerprint };
        assert_eq!(world.read(read).await, Found::Config(Some(config.body)));
    }
}

/// K3
pub async fn the_largest_key_and_payload_come_back(world: &mut World) {
    let largest = Bytes::from(vec![0xfe; 1 << 20]);
    let entity = world
        .bind_with(&key(vec![0xff; 512]), |entity| {
            (entity.head, entity.state) = (largest.clone(), Bytes::from("x".repeat(1 << 20)));
        })
        .await;
    assert_eq!(world.entity(&entity.key).await, Some(entity.clone()));
    let (_, write) = world.touch(&entity);
    let place = (Name::from("l".repeat(128)), Bytes::from(vec![1; 512]));
    world.applied(Write { rows: Arc::new([(place, Some(largest.clone()))].into()), ..write }).await;
    let rows = world.range(entity.id, Range::first("l".repeat(128), 1)).await;
    assert_eq!(rows[0].body, largest);
}

/// K3
pub async fn four_mebibytes_in_one_write_come_back(world: &mut World) {
    let entity = world.born(&key("a"));
    let body = |byte| Some(Bytes::from(vec![byte; 1 << 20]));
    let rows = (0..4_u8).map(|byte| (("lane".into(), Bytes::from(vec![byte])), body(byte)));
    world.applied(Write { rows: Arc::new(rows.collect()), ..birth(&entity) }).await;
    let rows = world.range(entity.id, Range::first("lane", 10)).await;
    assert!(rows.len() == 4 && rows.iter().all(|row| row.body.len() == 1 << 20 && row.body[7] == row.key[0]));
}

/// A5
pub async fn a_reply_kept_for_ever_is_kept(world: &mut World) {
    let entity = world.born(&key("a"));
    let replies = vec![crate::store::conformance::fixture::reply(b"once", Millis::MAX)];
    world.applied(Write { remember: replies, ..birth(&entity) }).await;
    assert_eq!(world.sweep_all(Millis(i64::MAX - 1), 10).await, 0);
    assert!(world.remembered(&entity.key, b"once").await.is_some());
}

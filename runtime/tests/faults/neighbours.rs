//! Neighbours: one engine per file, while other processes may read (K4).

use std::{io::Read as _, path::Path, sync::mpsc, time::Duration};

use bytes::Bytes;
use drystone_runtime::{
    driver::block_on,
    store::{Applied, Sqlite, SqliteOptions, Store, StoreErrorKind, Want, Worker},
};

use super::{
    child,
    engine::{Engine, list, place},
};

/// K4
#[test]
fn a_second_engine_in_this_process_is_refused() {
    let (folder, path) = place();
    let first = Engine::open(&path, SqliteOptions::default()).unwrap();
    let error = Sqlite::open(&path, SqliteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Locked);
    assert!(error.to_string().contains("is open in this process already"), "{error}");
    let roundabout = folder.path().join(".").join("app.db");
    assert_eq!(Sqlite::open(roundabout, SqliteOptions::default()).unwrap_err().kind(), StoreErrorKind::Locked);
    drop(first);
    Engine::open(&path, SqliteOptions::default()).unwrap();
}

/// K4
#[test]
fn a_refused_second_engine_does_not_disturb_the_first() {
    let (_folder, path) = place();
    let mut first = Engine::open(&path, SqliteOptions::default()).unwrap();
    for number in 0..20 {
        Sqlite::open(&path, SqliteOptions::default()).unwrap_err();
        first.put(number, Bytes::from_static(b"head")).unwrap();
    }
    first.assert_all_there();
}

/// K4
#[test]
fn a_second_engine_in_another_process_is_refused() {
    let (_folder, path) = place();
    let _first = Engine::open(&path, SqliteOptions::default()).unwrap();
    assert!(said(&path, "open").contains("refused: Locked"));
}

/// K4, E4
#[test]
fn what_a_killed_process_acknowledged_is_there_and_its_lock_is_not() {
    let (_folder, path) = place();
    let mut other = child::start("hold", &path);
    child::wait_for(&mut other, "held");
    let refused = Sqlite::open(&path, SqliteOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Locked);
    let said = refused.to_string();
    assert!(said.contains(&format!("is in use by process {};", other.id())) && !said.contains("server"), "{said}");
    other.kill().unwrap();
    other.wait().unwrap();
    let lock = std::fs::read_to_string(path.with_file_name("app.db.lock")).unwrap();
    assert_eq!(lock.trim(), other.id().to_string(), "the id of the dead process keeps nobody out");
    let store = Sqlite::open(&path, SqliteOptions::default()).unwrap();
    let entities = list(&store).unwrap();
    assert!(entities.len() == 10 && entities.iter().all(|entity| entity.head == "held"));
    let worker = Worker { id: "two".into(), address: String::new() };
    let claimed = block_on(store.claim(&worker, Want::Take { at_most: 1, lease: Duration::from_secs(60) })).unwrap();
    assert!(!claimed.leases[0].clean, "its lease is not waited for, and is known not to have ended cleanly");
}

/// K4, fB9
#[test]
fn another_process_reads_while_we_write() {
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, SqliteOptions::default()).unwrap();
    engine.put_many(1, b"head");
    let mut other = child::start("read", &path);
    child::wait_for(&mut other, "reading");
    for number in 1..200 {
        engine.put(number, Bytes::from_static(b"head")).unwrap();
    }
    let mut rest = String::new();
    other.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    assert!(other.wait().unwrap().success() && rest.contains("read all"), "{rest}");
}

/// fB7
#[test]
fn another_writer_is_waited_for() {
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, SqliteOptions::default()).unwrap();
    let (begun, has_begun) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    std::thread::scope(|scope| {
        let path = &path;
        scope.spawn(move || {
            let other = rusqlite::Connection::open(path).unwrap();
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            begun.send(()).unwrap();
            may_go.recv().unwrap();
            other.execute_batch("COMMIT").unwrap();
        });
        has_begun.recv().unwrap();
        go.send(()).unwrap();
        engine.put(0, Bytes::from_static(b"head")).unwrap();
    });
    engine.assert_all_there();
}

/// R4
#[test]
fn a_writer_that_stays_is_a_typed_error_and_nothing_is_written() {
    let (_folder, path) = place();
    let options = SqliteOptions { busy_wait: Duration::ZERO, ..SqliteOptions::default() };
    let mut engine = Engine::open(&path, options).unwrap();
    engine.put_many(3, b"head");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = engine.put(3, Bytes::from_static(b"head")).unwrap_err();
    assert_eq!((error.kind(), error.applied()), (StoreErrorKind::Busy, Applied::No));
    assert!(error.is_retryable());
    engine.assert_all_there();
    other.execute_batch("COMMIT").unwrap();
    engine.put(3, Bytes::from_static(b"head")).unwrap();
    assert_eq!(list(&engine.store).unwrap().len(), 4);
}

/// E14
#[test]
fn what_is_text_is_shown_as_text_and_what_is_not_is_kept() {
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, SqliteOptions::default()).unwrap();
    let heads: [(&'static [u8], &str); 4] =
        [(b"{\"a\":1}", "text"), (b"", "text"), (b"a\0b", "blob"), (b"\xff", "blob")];
    for (number, (head, _)) in heads.iter().enumerate() {
        engine.put(number as u32, Bytes::from_static(head)).unwrap();
    }
    let reader = rusqlite::Connection::open(&path).unwrap();
    for (number, (_, expected)) in heads.iter().enumerate() {
        let sql = "SELECT typeof(head) FROM drystone_entity ORDER BY id LIMIT 1 OFFSET ?1";
        let found: String = reader.query_row(sql, [number as i64], |row| row.get(0)).unwrap();
        assert_eq!(found, *expected);
    }
    engine.assert_all_there();
}

fn said(path: &Path, part: &str) -> String {
    let output = child::start(part, path).wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

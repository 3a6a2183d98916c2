//! A full disk: the error is typed, nothing acknowledged is lost, and writes work again when there is room
//! (fB1).

use bytes::Bytes;
use drystone_runtime::store::{Applied, SqliteOptions, StoreErrorKind};

use super::{
    child,
    engine::{Engine, list, place},
};

fn limited(max_pages: u32) -> SqliteOptions {
    SqliteOptions { max_pages: Some(max_pages), ..SqliteOptions::default() }
}

/// Writes until the file is full. Returns the first number that was refused.
fn fill(engine: &mut Engine) -> u32 {
    for number in 0..10_000 {
        if let Err(error) = engine.put(number, Bytes::from(vec![b'x'; 1000])) {
            assert_eq!((error.kind(), error.applied()), (StoreErrorKind::Full, Applied::No), "{error}");
            assert!(error.is_retryable());
            return number;
        }
    }
    panic!("the file never filled up");
}

/// fB1, R4
#[test]
fn a_full_file_is_a_typed_error_and_loses_nothing() {
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, limited(60)).unwrap();
    let full = fill(&mut engine);
    assert!(full > 10);
    engine.assert_all_there();
    assert_eq!(list(&engine.store).unwrap().len(), full as usize, "what was refused is not there");
}

/// R4
#[test]
fn writes_that_need_no_room_go_on_in_a_full_file() {
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, limited(60)).unwrap();
    fill(&mut engine);
    engine.put(0, Bytes::from(vec![b'y'; 1000])).unwrap();
    engine.assert_all_there();
}

/// fB1, R4
#[test]
fn writes_go_on_when_there_is_room_again() {
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, limited(60)).unwrap();
    let full = fill(&mut engine);
    let acknowledged = engine.acknowledged.clone();
    drop(engine);
    let mut engine = Engine::open(&path, limited(120)).unwrap();
    engine.acknowledged = acknowledged;
    for number in full..full + 20 {
        engine.put(number, Bytes::from(vec![b'x'; 1000])).unwrap();
    }
    engine.assert_all_there();
}

/// fB3, fB4, R4
#[cfg(unix)]
#[test]
fn a_commit_that_fails_on_the_disk_is_of_unknown_outcome_and_loses_nothing() {
    let (_folder, path) = place();
    let output = child::start_limited("outgrow", &path, 1024).wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let (_, rest) = said.split_once("acknowledged ").unwrap();
    let count: usize = rest.split_once('.').unwrap().0.parse().unwrap();
    assert!(count > 10);
    let engine = Engine::open(&path, SqliteOptions::default()).unwrap();
    let found = list(&engine.store).unwrap().len();
    assert!(found == count || found == count + 1, "{count} acknowledged, {found} found");
}

//! Opening files: paths, modes, files of other programs, files of other versions.

use std::{fs, path::Path};

use drystone_runtime::{
    driver::block_on,
    store::{Sqlite, SqliteOptions, Store, StoreErrorKind, Want, Worker},
};

use super::engine::{Engine, beside, list, place};

fn refused(path: &Path) -> StoreErrorKind {
    Sqlite::open(path, SqliteOptions::default()).unwrap_err().kind()
}

/// Opens a store and closes it, then changes the file by SQL, as another program would.
fn made_and_changed(path: &Path, sql: &str) {
    Engine::open(path, SqliteOptions::default()).unwrap().put_many(3, b"head");
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// K4
#[cfg(unix)]
#[test]
fn the_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, SqliteOptions::default()).unwrap();
    engine.put_many(1, b"head");
    for file in [path.clone(), beside(&path, "-wal"), beside(&path, "-shm"), beside(&path, ".lock")] {
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{} has mode {mode:o}", file.display());
    }
}

/// K4
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_may_not_be_written_is_refused_and_left_as_it_was() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = place();
    Engine::open(&path, SqliteOptions::default()).unwrap().put_many(3, b"head");
    let before = fs::read(&path).unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&path, 0o444);
    let output = super::child::start_bound("open", &path).wait_with_output().unwrap();
    mode(folder.path(), 0o755);
    mode(&path, 0o600);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("refused: ReadOnly"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(list(&Engine::open(&path, SqliteOptions::default()).unwrap().store).unwrap().len(), 3);
}

/// K4
#[test]
fn a_closed_store_is_one_file() {
    let (_folder, path) = place();
    Engine::open(&path, SqliteOptions::default()).unwrap().put_many(3, b"head");
    assert!(!beside(&path, "-wal").exists() && !beside(&path, "-shm").exists());
    assert_eq!(list(&Sqlite::open(&path, SqliteOptions::default()).unwrap()).unwrap().len(), 3);
}

/// K4
#[test]
fn a_path_that_cannot_hold_a_file_is_a_typed_error() {
    let (folder, _) = place();
    assert_eq!(refused(folder.path()), StoreErrorKind::Unavailable);
    assert_eq!(refused(&folder.path().join("none").join("app.db")), StoreErrorKind::Unavailable);
    assert_eq!(refused(Path::new("/")), StoreErrorKind::Unavailable);
}

/// fB11
#[test]
fn a_file_of_something_else_is_refused_and_left_alone() {
    let (_folder, path) = place();
    let text = "this is a letter, not a database\n".repeat(100);
    fs::write(&path, &text).unwrap();
    assert_eq!(refused(&path), StoreErrorKind::Corrupt);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert!(!beside(&path, "-wal").exists());
}

/// fB11
#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    for sql in ["CREATE TABLE t (a)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"] {
        let (_folder, path) = place();
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&path).unwrap();
        assert_eq!(refused(&path), StoreErrorKind::Corrupt, "{sql}");
        assert_eq!(fs::read(&path).unwrap(), before, "{sql}");
    }
}

/// K2
#[test]
fn an_empty_file_becomes_a_store() {
    let (_folder, path) = place();
    fs::write(&path, "").unwrap();
    Engine::open(&path, SqliteOptions::default()).unwrap().put_many(1, b"head");
}

/// K2
#[test]
fn a_file_of_a_newer_version_is_refused_and_left_alone() {
    let (_folder, path) = place();
    made_and_changed(&path, "PRAGMA user_version = 99");
    let before = fs::read(&path).unwrap();
    let error = Sqlite::open(&path, SqliteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    assert!(error.to_string().contains("schema version 99"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// K2
#[test]
fn a_store_that_lost_its_version_or_a_table_is_refused() {
    for sql in [
        "PRAGMA user_version = 0",
        "PRAGMA user_version = -1",
        "DROP TABLE drystone_store",
        "DELETE FROM drystone_store",
    ] {
        let (_folder, path) = place();
        made_and_changed(&path, sql);
        assert_eq!(refused(&path), StoreErrorKind::Corrupt, "{sql}");
    }
}

/// K2
#[test]
fn opening_twice_changes_nothing() {
    let (_folder, path) = place();
    let mut engine = Engine::open(&path, SqliteOptions::default()).unwrap();
    engine.put_many(5, b"head");
    let before = list(&engine.store).unwrap();
    drop(engine);
    for _ in 0..3 {
        assert_eq!(list(&Sqlite::open(&path, SqliteOptions::default()).unwrap()).unwrap(), before);
    }
}

/// R3
#[test]
fn the_number_of_partitions_is_the_one_the_file_was_made_with() {
    let (_folder, path) = place();
    drop(Sqlite::open(&path, SqliteOptions { partitions: 3, ..SqliteOptions::default() }).unwrap());
    let store = Sqlite::open(&path, SqliteOptions { partitions: 8, ..SqliteOptions::default() }).unwrap();
    let worker = Worker { id: "one".into(), address: String::new() };
    let want = Want::Take { at_most: 100, lease: std::time::Duration::from_secs(1) };
    let claimed = block_on(store.claim(&worker, want)).unwrap();
    assert_eq!((claimed.partitions, claimed.leases.len()), (3, 3));
}

/// A5
#[test]
fn without_a_clock_the_wall_clock_counts() {
    let (_folder, path) = place();
    let store = Sqlite::open(&path, SqliteOptions::default()).unwrap();
    let worker = Worker { id: "one".into(), address: String::new() };
    let want = Want::Renew { held: Vec::new(), lease: std::time::Duration::ZERO, now: drystone_runtime::Millis(0) };
    let year_2020 = drystone_runtime::Millis(1_577_836_800_000);
    assert!(block_on(store.claim(&worker, want)).unwrap().now > year_2020);
}

/// R3
#[test]
fn epochs_that_are_used_up_are_a_typed_error() {
    let (_folder, path) = place();
    made_and_changed(&path, "UPDATE drystone_store SET value = 2147483646 WHERE name = 'epoch'");
    let last = Engine::open(&path, SqliteOptions::default());
    assert!(last.is_ok());
    drop(last);
    let error = Engine::open(&path, SqliteOptions::default()).err().map(|error| error.kind());
    assert_eq!(error, Some(StoreErrorKind::Unsupported));
}

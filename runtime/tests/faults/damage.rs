//! Damaged files: a typed error, or all stored data; never a panic, never silent loss (fB5).
//!
//! SQLite keeps no checksums, so a flipped bit inside a payload cannot be detected. The cases check that no
//! entity is lost or invented.

use std::{collections::BTreeSet, fs, path::Path};

use drystone_runtime::{
    Key,
    store::{Sqlite, SqliteOptions, StoreErrorKind},
};

use super::engine::{Engine, key, list, place, read};

const COUNT: u32 = 60;

/// Makes a closed store with some entities, and returns its bytes.
fn sound(path: &Path) -> Vec<u8> {
    Engine::open(path, SqliteOptions::default()).unwrap().put_many(COUNT, b"{\"head\":\"of some length\"}");
    fs::read(path).unwrap()
}

fn is_typed(kind: StoreErrorKind) -> bool {
    matches!(kind, StoreErrorKind::Corrupt | StoreErrorKind::Unsupported | StoreErrorKind::ReadOnly)
}

/// Returns the keys found by listing, and the number of entities found by reading each key; or the first
/// error.
fn look(path: &Path, check: bool) -> Result<(BTreeSet<Key>, usize), StoreErrorKind> {
    let options = SqliteOptions { check, ..SqliteOptions::default() };
    let store = Sqlite::open(path, options).map_err(|error| error.kind())?;
    let listed = list(&store).map_err(|error| error.kind())?;
    let mut found = 0;
    for number in 0..COUNT {
        found += usize::from(read(&store, number).map_err(|error| error.kind())?.is_some());
    }
    Ok((listed.into_iter().map(|entity| entity.key).collect(), found))
}

/// fB5, fB11
#[test]
fn a_file_with_a_flipped_byte_is_refused_or_has_lost_no_entity() {
    let (folder, path) = place();
    let bytes = sound(&path);
    let (mut refused, mut sound) = (0, 0);
    let header = (0..100).chain((100..bytes.len()).step_by(251));
    for offset in header {
        let flipped = folder.path().join(format!("{offset}.db"));
        let mut bytes = bytes.clone();
        bytes[offset] ^= 0xff;
        fs::write(&flipped, bytes).unwrap();
        match look(&flipped, true) {
            Ok((listed, found)) => {
                // A flip inside a key turns it into another key; nothing else may be missing.
                let missing = (0..COUNT).filter(|number| !listed.contains(&key(*number))).count();
                assert!(listed.len() == COUNT as usize && missing <= 1, "offset {offset}: {missing} missing");
                assert!(found + missing >= COUNT as usize, "offset {offset}: {found} found");
                sound += 1;
            }
            Err(kind) => {
                assert!(is_typed(kind), "offset {offset}: {kind:?}");
                refused += 1;
            }
        }
        fs::remove_file(&flipped).unwrap();
    }
    assert!(refused > 30 && sound > 30, "{refused} refused, {sound} sound: the cases prove little");
}

/// fB5
#[test]
fn damage_met_while_running_is_a_typed_error_and_no_panic() {
    let (folder, path) = place();
    let bytes = sound(&path);
    let mut met = 0;
    for offset in (4096..bytes.len()).step_by(499) {
        let flipped = folder.path().join(format!("{offset}.db"));
        let mut bytes = bytes.clone();
        bytes[offset] ^= 0x5a;
        fs::write(&flipped, bytes).unwrap();
        if let Err(kind) = look(&flipped, false) {
            assert!(is_typed(kind), "offset {offset}: {kind:?}");
            met += 1;
        }
        fs::remove_file(&flipped).unwrap();
    }
    assert!(met > 0, "no damage was ever met");
}

/// fB5
#[test]
fn a_file_that_was_cut_short_is_refused() {
    let (folder, path) = place();
    let bytes = sound(&path);
    for length in [1, 100, 511, 512, 4095].into_iter().chain((4096..bytes.len()).step_by(8191)) {
        let cut = folder.path().join(format!("{length}.db"));
        fs::write(&cut, &bytes[..length]).unwrap();
        for check in [true, false] {
            assert_eq!(look(&cut, check), Err(StoreErrorKind::Corrupt), "cut to {length} of {}", bytes.len());
        }
    }
}

/// fB5
#[test]
fn a_page_of_zeros_is_found_by_the_check() {
    let (folder, path) = place();
    let bytes = sound(&path);
    for page in 1..bytes.len() / 4096 {
        let zeroed = folder.path().join(format!("{page}.db"));
        let mut bytes = bytes.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        fs::write(&zeroed, bytes).unwrap();
        assert_eq!(look(&zeroed, true), Err(StoreErrorKind::Corrupt), "page {page}");
    }
}

//! Every store of ours passes the whole conformance suite (K1).

#![expect(clippy::unwrap_used, reason = "what tests share is test code, too")]

use std::{
    future::{Ready, ready},
    sync::Arc,
};

use drystone_runtime::store::{Counting, Memory, Sqlite, SqliteOptions, Store, conformance::Clock};

drystone_runtime::conformance!(memory, |clock, partitions| {
    let store: Arc<dyn Store> = Arc::new(Memory::new(move || clock.now(), partitions));
    move || ready(store.clone())
});

drystone_runtime::conformance!(counting, |clock, partitions| {
    let store: Arc<dyn Store> = Arc::new(Counting::new(Memory::new(move || clock.now(), partitions)));
    move || ready(store.clone())
});

fn sqlite_files(clock: Clock, partitions: u32) -> impl FnMut() -> Ready<Arc<dyn Store>> {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(move || clock.now());
    move || {
        let options = SqliteOptions { partitions, clock: clock.clone(), ..SqliteOptions::default() };
        ready(Arc::new(Sqlite::open(folder.path().join("app.db"), options).unwrap()) as Arc<dyn Store>)
    }
}

drystone_runtime::conformance!(sqlite, sqlite_files);

drystone_runtime::sql_conformance!(sqlite_scripts, sqlite_files);

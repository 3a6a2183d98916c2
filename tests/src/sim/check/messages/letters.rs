//! D2: the dead letters can be read, and each batch still has all its items.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use drystone::dead_letters::{Filter, Items, Page, What};
use drystone_runtime::{Call, Name};

use crate::sim::{
    apps::LETTERS,
    drawing::roster::Role,
    recording::log::Class,
    running::{process::Processes, world::World},
};

/// Reads every dead letter, and the items of each batch.
pub async fn readable(world: &Arc<World>) {
    let parked = |number| world.witness.durable().story(number).is_parked();
    if world.cast.with(Role::Box).first().is_none_or(|number| parked(*number)) {
        return;
    }
    let filter = serde_json::json!([Filter { limit: 100, ..Filter::default() }]);
    let Some(page) = ask(world, "list", &filter).await else { return };
    let page: Page = serde_json::from_slice(&page).unwrap_or_default();
    for letter in page.letters.iter().filter(|letter| letter.what == What::Batch) {
        let items = ask(world, "items", &serde_json::json!([letter.id, null])).await;
        let items = items.and_then(|items| serde_json::from_slice::<Items>(&items).ok()).unwrap_or_default();
        // A folded batch has one row.
        let count = if letter.definition == "heap" { 1 } else { letter.count };
        world.chronicle.check(items.items.len() as u64 == count, Class::Lost, "D2", || {
            format!("{letter:?} shows the items {items:?}")
        });
    }
}

/// Asks each process in turn and returns the first answer.
async fn ask(world: &Arc<World>, verb: &'static str, body: &serde_json::Value) -> Option<Bytes> {
    for process in 0..world.processes.count() {
        let definition = Role::Box.definition();
        let call = Call::new(definition, LETTERS.key, Name::new(verb), Bytes::from(body.to_string()));
        let answer = Processes::call(world, process, call.deadline(Duration::from_secs(1)), |_| {}).await;
        if let Ok(answer) = answer {
            return Some(answer);
        }
    }
    None
}

//! Shows all journals as rows. A short journal is stored in the record of its run and moves to rows when it
//! grows; the checks always see rows, from the first entry on.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use drystone_runtime::{
    DropLane, Entity, Lane, Name, RowKey,
    store::{After, Write},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Lanes;

/// The part of a record that concerns the journal.
#[derive(Deserialize)]
struct Journal {
    generation: u32,
    #[serde(default)]
    lane: u32,
    entries: u64,
    #[serde(default)]
    brief: Vec<Box<RawValue>>,
}

impl Journal {
    fn of(entity: &Entity) -> Option<Self> {
        serde_json::from_slice(&entity.head).ok().filter(|_| entity.kind == "workflow")
    }

    fn is_brief(&self) -> bool {
        self.brief.len() as u64 == self.entries
    }

    fn lane(&self) -> Lane {
        Name::from(format!("journal/{}", if self.lane == 0 { self.generation } else { self.lane }))
    }
}

/// Returns the write as if all journals were stored in rows. `before` is the entity before the write, and
/// `lanes` has the rows before it, seen in the same way.
pub(super) fn unfolded<'a>(write: &'a Write, before: Option<&Entity>, lanes: &Lanes) -> Cow<'a, Write> {
    let After::Entity(after) = &write.after else { return Cow::Borrowed(write) };
    let Some(journal) = Journal::of(after) else { return Cow::Borrowed(write) };
    let before = before.filter(|before| before.id == after.id).and_then(Journal::of);
    let was_brief = before.as_ref().is_some_and(Journal::is_brief);
    if !journal.is_brief() && !was_brief {
        return Cow::Borrowed(write);
    }
    let (lane, mut write) = (journal.lane(), write.clone());
    let known = lanes.own(&(after.id, lane.clone())).cloned().unwrap_or_default();
    let rows = Arc::make_mut(&mut write.rows);
    if journal.is_brief() {
        let entries = (0..).zip(&journal.brief).map(|(number, text)| (row_key(number), text.get()));
        for (key, text) in entries.filter(|(key, text)| known.get(key).is_none_or(|known| known != text.as_bytes())) {
            rows.insert((lane.clone(), key), Some(Bytes::copy_from_slice(text.as_bytes())));
        }
        // A generation that keeps a part of the previous journal has lost the rest.
        for key in known.keys().filter(|key| **key >= row_key(journal.entries)) {
            rows.entry((lane.clone(), key.clone())).or_insert(None);
        }
    } else if before.as_ref().is_some_and(|before| before.lane() == lane) {
        // An entry that moves to a row unchanged is not new. An entry without a row is lost.
        for (key, text) in known.iter().filter(|(key, _)| **key < row_key(journal.entries)) {
            let place = (lane.clone(), key.clone());
            match rows.get(&place) {
                Some(Some(moved)) if moved == text => drop(rows.remove(&place)),
                Some(_) => {}
                None => drop(rows.insert(place, None)),
            }
        }
    }
    if let Some(left) = before.filter(|_| was_brief).map(|before| before.lane()).filter(|left| *left != lane) {
        write.drop.push(DropLane { lane: left, held: false });
    }
    Cow::Owned(write)
}

fn row_key(number: u64) -> RowKey {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

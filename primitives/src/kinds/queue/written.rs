//! The stored form of the items that a record names: consecutive items are one entry. The record of a queue
//! names all running items and the next waiting ones, and it is written with every turn.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::{place::Place, record::Running};
use crate::Timestamp;

/// Either one item that runs again: number, 0, 0, attempt, and the time of the retry. Or
/// several items that run or wait for the first time: the number, the priority and the place in the line of
/// the first, and how many they are.
type Entry = (u64, u8, u64, u32, Option<Timestamp>);

/// The most items of a record. Without this limit a damaged record could fill the memory.
const ITEMS_MAX: usize = 4_096;

fn write(items: impl Iterator<Item = Running>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for item in items {
        match (item, entries.last_mut()) {
            (Running::First(place), Some(entry)) if follows(place, entry) => entry.3 += 1,
            (Running::First(Place { priority, joined, number }), _) => {
                entries.push((number, priority, joined, 1, None));
            }
            (Running::Again { number, attempt, not_before }, _) => entries.push((number, 0, 0, attempt, not_before)),
        }
    }
    entries
}

fn follows(place: Place, (number, priority, joined, count, _): &Entry) -> bool {
    let next = u64::from(*count);
    *joined > 0 && (place.priority, place.joined, place.number) == (*priority, joined + next, number + next)
}

fn read(entries: Vec<Entry>) -> Result<Vec<Running>, &'static str> {
    let mut items = Vec::new();
    for (number, priority, joined, count, not_before) in entries {
        if joined == 0 {
            items.push(Running::Again { number, attempt: count, not_before });
            continue;
        }
        if items.len() + count as usize > ITEMS_MAX {
            return Err("a queue that names more items than any has");
        }
        let place = |nth| Place { priority, joined: joined + nth, number: number + nth };
        items.extend((0..u64::from(count)).map(|nth| Running::First(place(nth))));
    }
    Ok(items)
}

/// Running items.
pub(super) mod running {
    use super::{Deserialize, Deserializer, Entry, Error, Running, Serialize, Serializer};

    pub(in crate::kinds::queue) fn serialize<S: Serializer>(items: &[Running], to: S) -> Result<S::Ok, S::Error> {
        super::write(items.iter().copied()).serialize(to)
    }

    pub(in crate::kinds::queue) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Running>, D::Error> {
        super::read(Vec::<Entry>::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Waiting items.
pub(super) mod places {
    use super::{Deserializer, Error, Place, Running, Serialize, Serializer};

    pub(in crate::kinds::queue) fn serialize<S: Serializer>(places: &[Place], to: S) -> Result<S::Ok, S::Error> {
        super::write(places.iter().copied().map(Running::First)).serialize(to)
    }

    pub(in crate::kinds::queue) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Place>, D::Error> {
        let place = |item| match item {
            Running::First(place) => Ok(place),
            Running::Again { .. } => Err(D::Error::custom("an item that waits without a place in line")),
        };
        super::running::deserialize(from)?.into_iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn first(priority: u8, joined: u64, number: u64) -> Running {
        Running::First(Place { priority, joined, number })
    }

    fn any_item() -> impl Strategy<Value = Running> {
        let again = (0..5_u64, 2..4_u32, proptest::option::of(0..3_i64));
        prop_oneof![
            4 => (0..2_u8, 1..5_u64, 0..5_u64).prop_map(|(priority, joined, number)| first(priority, joined, number)),
            1 => again.prop_map(|(number, attempt, at)| {
                Running::Again { number, attempt, not_before: at.map(|at| drystone_runtime::Millis(at).into()) }
            }),
        ]
    }

    #[test]
    fn neighbours_are_one_entry() {
        let items = [first(0, 7, 9), first(0, 8, 10), first(0, 9, 11), first(1, 10, 12), first(1, 12, 13)];
        assert_eq!(write(items.into_iter()), [(9, 0, 7, 3, None), (12, 1, 10, 1, None), (13, 1, 12, 1, None)]);
    }

    #[test]
    fn a_count_that_is_too_high_is_refused() {
        assert!(read(vec![(1, 0, 1, u32::MAX, None)]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(items in proptest::collection::vec(any_item(), 0..20)) {
            prop_assert_eq!(read(write(items.iter().copied())).unwrap(), items);
        }
    }
}

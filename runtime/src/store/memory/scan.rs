//! Reads, scans and listings of the store in memory.

use std::ops::Bound;

use bytes::Bytes;

use super::tables::Tables;
use crate::{
    Entity, Key, Lane, MessageId, Millis, Partition, Range, Row, RowKey, Version,
    store::{Cursor, Found, Letter, Page, Query, Read, Ready, Woken},
};

impl Tables {
    pub(super) fn entity(&self, key: &Key) -> Option<&Entity> {
        self.entities.get(self.bound.get(key)?)
    }

    fn partition_of(&self, entity: &Entity) -> Partition {
        entity.key.partition(self.partitions())
    }

    pub(super) fn read(&self, read: &Read) -> Found {
        match read {
            Read::Entity(key) => Found::Entity(self.entity(key).cloned().map(Box::new)),
            Read::Rows { entity, range } => Found::Rows(self.rows(*entity, range)),
            Read::Inbox { key, after, limit } => Found::Inbox(self.letters(key, *after, *limit)),
            Read::Remembered { key, once } => {
                Found::Remembered(self.remembered.get(&(key.clone(), once.clone())).cloned())
            }
            Read::Config { definition, fingerprint } => {
                Found::Config(self.configs.get(&(definition.clone(), *fingerprint)).cloned())
            }
        }
    }

    /// Whether the rows of a lane are visible. A dropped lane is visible while it is held, even if its entity
    /// is gone.
    fn is_seen(&self, entity: Version, lane: &Lane) -> bool {
        match self.dropped.get(&(entity, lane.clone())) {
            Some(held) => *held,
            None => !self.destroyed.contains(&entity),
        }
    }

    fn rows(&self, entity: Version, range: &Range) -> Vec<Row> {
        if !self.is_seen(entity, &range.lane) {
            return Vec::new();
        }
        let place = |key: RowKey| (entity, range.lane.clone(), key);
        let first = Bound::Included(place(RowKey::new()));
        // No lane name sorts between a lane's name and the same name followed by a NUL.
        let end = Bound::Excluded((entity, Lane::from(format!("{}\0", range.lane)), RowKey::new()));
        let from = range.from.clone().map(|key| Bound::Included(place(key)));
        let row = |((_, lane, key), body): (&(Version, Lane, RowKey), &Bytes)| Row {
            lane: lane.clone(),
            key: key.clone(),
            body: body.clone(),
        };
        let limit = range.limit as usize;
        if range.backwards {
            return self.rows.range((first, from.unwrap_or(end))).rev().take(limit).map(row).collect();
        }
        self.rows.range((from.unwrap_or(first), end)).take(limit).map(row).collect()
    }

    fn letters(&self, key: &Key, after: Option<MessageId>, limit: u32) -> Vec<Letter> {
        let partition = key.partition(self.partitions());
        let from = after.map_or(Bound::Included(first_message()), Bound::Excluded);
        let slot = |id| (partition, key.clone(), id);
        let range = self.inbox.range((from.map(slot), Bound::Included(slot(last_message()))));
        range.take(limit as usize).map(|(_, letter)| letter.clone()).collect()
    }

    pub(super) fn ready(&self, which: &Ready, after: Option<&Cursor>, limit: usize) -> Vec<Woken> {
        match which {
            Ready::Due { partitions, until } => self.due(partitions, *until, after, limit),
            Ready::Active { partitions } => {
                self.by_id(partitions, after, limit, |entity| entity.active && entity.parked.is_none())
            }
            Ready::Inbox { partitions } => self.receivers(partitions, after, limit),
            Ready::Parked { partitions } => self.by_id(partitions, after, limit, |entity| entity.parked.is_some()),
        }
    }

    fn due(&self, partitions: &[Partition], until: Millis, after: Option<&Cursor>, limit: usize) -> Vec<Woken> {
        let from = match after {
            Some(Cursor::Alarm(at, id)) => Bound::Excluded((*at, *id)),
            _ => Bound::Unbounded,
        };
        let rings = self.alarms.range((from, Bound::Unbounded)).take_while(|(at, _)| *at <= until);
        let found = rings.filter_map(|(at, id)| Some((*at, self.entities.get(id)?)));
        found
            .filter(|(_, entity)| entity.parked.is_none() && partitions.contains(&self.partition_of(entity)))
            .take(limit)
            .map(|(at, entity)| woken(entity, Cursor::Alarm(at, entity.id)))
            .collect()
    }

    fn by_id(
        &self,
        partitions: &[Partition],
        after: Option<&Cursor>,
        limit: usize,
        wanted: impl Fn(&Entity) -> bool,
    ) -> Vec<Woken> {
        let from = match after {
            Some(Cursor::Id(id)) => Bound::Excluded(*id),
            _ => Bound::Unbounded,
        };
        let entities = self.entities.range((from, Bound::Unbounded)).map(|(_, entity)| entity);
        entities
            .filter(|entity| wanted(entity) && partitions.contains(&self.partition_of(entity)))
            .take(limit)
            .map(|entity| woken(entity, Cursor::Id(entity.id)))
            .collect()
    }

    fn receivers(&self, partitions: &[Partition], after: Option<&Cursor>, limit: usize) -> Vec<Woken> {
        let last = |partition: Partition, key: &Key| Bound::Excluded((partition, key.clone(), last_message()));
        let mut from = match after {
            Some(Cursor::Key(partition, key)) => last(*partition, key),
            _ => Bound::Unbounded,
        };
        let mut found = Vec::new();
        while found.len() < limit {
            let Some(((partition, key, _), _)) = self.inbox.range((from, Bound::Unbounded)).next() else { break };
            // Skip to the next key, however many messages this one has.
            from = last(*partition, key);
            if partitions.contains(partition) {
                let entity = self.entity(key).cloned().map(Box::new);
                found.push(Woken { key: key.clone(), entity, cursor: Cursor::Key(*partition, key.clone()) });
            }
        }
        found
    }

    pub(super) fn list(&self, query: &Query) -> Page {
        let from = query.after.map_or(Bound::Unbounded, Bound::Excluded);
        let entities = self.entities.range((from, Bound::Unbounded)).map(|(_, entity)| entity);
        let mut matching = entities.filter(|entity| self.matches(query, entity));
        let page: Vec<Entity> = matching.by_ref().take(query.limit).cloned().collect();
        let next = matching.next().and(page.last()).map(|last| last.id);
        Page { entities: page, next }
    }

    fn matches(&self, query: &Query, entity: &Entity) -> bool {
        query.space.as_ref().is_none_or(|space| *space == entity.key.space)
            && query.definition.as_ref().is_none_or(|definition| *definition == entity.definition)
            && query.status.as_ref().is_none_or(|status| *status == entity.status.word)
            && query.phase.is_none_or(|phase| phase == entity.status.phase)
            && query.parked.is_none_or(|parked| parked == entity.parked.is_some())
            && query.due_until.is_none_or(|until| entity.alarm.is_some_and(|at| at <= until))
            && query.config_other_than.is_none_or(|config| config != entity.config)
            && (!query.stuck || self.is_stuck(entity))
    }

    fn is_stuck(&self, entity: &Entity) -> bool {
        let silent = entity.wants_wake() && entity.alarm.is_none() && !entity.active;
        silent && self.letters(&entity.key, None, 1).is_empty()
    }
}

fn woken(entity: &Entity, cursor: Cursor) -> Woken {
    Woken { key: entity.key.clone(), entity: Some(Box::new(entity.clone())), cursor }
}

fn first_message() -> MessageId {
    MessageId { version: Version(0), index: 0 }
}

fn last_message() -> MessageId {
    MessageId { version: Version(u64::MAX), index: u32::MAX }
}

//! Sweeps of the store in memory: deletes rows that are not visible any more, a limited number per call.

use super::tables::Tables;
use crate::{Lane, Millis, Version};

impl Tables {
    pub(super) fn sweep(&mut self, now: Millis, limit: usize) -> usize {
        let mut left = limit;
        self.sweep_remembered(now, &mut left);
        self.sweep_dropped(&mut left);
        self.sweep_destroyed(&mut left);
        limit - left
    }

    fn sweep_remembered(&mut self, now: Millis, left: &mut usize) {
        let past = self.remembered.iter().filter(|(_, reply)| reply.expires_at <= now);
        let past: Vec<_> = past.take(*left).map(|(place, _)| place.clone()).collect();
        *left -= past.len();
        for place in past {
            self.remembered.remove(&place);
        }
    }

    fn sweep_dropped(&mut self, left: &mut usize) {
        let free = self.dropped.iter().filter(|(_, held)| !**held).take(*left);
        let free: Vec<(Version, Lane)> = free.map(|(place, _)| place.clone()).collect();
        for (entity, lane) in free {
            self.sweep_rows(entity, |found| *found == lane, left);
            if *left > 0 {
                self.dropped.remove(&(entity, lane));
                *left -= 1;
            }
        }
    }

    fn sweep_destroyed(&mut self, left: &mut usize) {
        let gone: Vec<Version> = self.destroyed.iter().copied().take(*left).collect();
        for entity in gone {
            let kept: Vec<Lane> = self.lanes_dropped(entity);
            self.sweep_rows(entity, |found| !kept.contains(found), left);
            if *left > 0 {
                self.destroyed.remove(&entity);
                *left -= 1;
            }
        }
    }

    fn lanes_dropped(&self, entity: Version) -> Vec<Lane> {
        let all = self.dropped.range((entity, Lane::new(""))..);
        all.take_while(|((of, _), _)| *of == entity).map(|((_, lane), _)| lane.clone()).collect()
    }

    fn sweep_rows(&mut self, entity: Version, wanted: impl Fn(&Lane) -> bool, left: &mut usize) {
        let all = self.rows.range((entity, Lane::new(""), bytes::Bytes::new())..);
        let of_entity = all.take_while(|((of, _, _), _)| *of == entity).filter(|((_, lane, _), _)| wanted(lane));
        let places: Vec<_> = of_entity.take(*left).map(|(place, _)| place.clone()).collect();
        *left -= places.len();
        for place in places {
            self.rows.remove(&place);
        }
    }
}

//! The removal of letters: replayed, removed, or expired (D3).

use drystone_runtime::{Change, Key, Name};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{kept::Kept, letter::LetterError, turn::Turn};
use crate::{Timestamp, system::halt::Halt};

/// The limit of letters that a commit removes. A letter takes a row or two, and perhaps a lane, of the
/// thousand changes that a commit may have.
pub(super) const SLICE: u32 = 250;

/// The result of one slice of a removal.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Slice {
    pub(super) removed: u64,
    /// The place where the next slice begins; `None` at the end.
    pub(super) next: Option<u64>,
}

impl Turn<'_> {
    /// Sends a letter to its receiver or to another entity, and removes the letter in the same commit.
    pub(super) fn replay(&mut self, id: u64, to: Option<(Name, Key)>) -> Result<(), Halt> {
        let kept = self.letter(id)?;
        let body = if kept.lane().is_none() { self.body(id)? } else { Default::default() };
        self.take(id, &kept);
        self.record.replayed += 1;
        let definition = kept.definition().to_owned();
        let message = kept.replayed(body, to).ok_or(LetterError::NotReplayable { id, definition })?;
        let key = String::from_utf8_lossy(&message.to.key).into_owned();
        self.emit("dead_letter.replayed", &json!({ "id": id, "definition": *message.definition, "key": key }));
        self.commit.send.push(message);
        Ok(())
    }

    /// Publishes an event on its topic, and removes its letter in the same commit.
    pub(super) fn publish(&mut self, id: u64) -> Result<(), Halt> {
        let (kept, body) = (self.letter(id)?, self.body(id)?);
        let message = kept.published(&body).ok_or(LetterError::NoTopic { id })?;
        self.take(id, &kept);
        self.record.replayed += 1;
        let topic = String::from_utf8_lossy(&message.to.key).into_owned();
        self.emit("dead_letter.replayed", &json!({ "id": id, "definition": *message.definition, "key": topic }));
        self.commit.send.push(message);
        Ok(())
    }

    /// Removes one letter.
    pub(super) fn remove_one(&mut self, id: u64) -> Result<(), Halt> {
        let kept = self.letter(id)?;
        self.remove_all("dead_letter.removed", &[(id, kept)]);
        self.record.removed += 1;
        Ok(())
    }

    /// Removes letters that died before a time, out of one slice of all letters.
    pub(super) fn remove_older(&mut self, before: Timestamp, after: Option<u64>) -> Result<Slice, Halt> {
        let looked_at = self.letters(after, SLICE)?;
        let next = looked_at.last().filter(|_| looked_at.len() >= SLICE as usize).map(|(id, _)| *id);
        let older: Vec<_> = looked_at.into_iter().filter(|(_, kept)| kept.died_at < before).collect();
        self.remove_all("dead_letter.removed", &older);
        self.record.removed += older.len() as u64;
        Ok(Slice { removed: older.len() as u64, next })
    }

    /// Handles the alarm: removes a slice of expired letters, and sets the alarm for the oldest letter that
    /// is left.
    pub(super) fn expire(&mut self) -> Result<(), Halt> {
        let mut oldest = self.letters(None, SLICE)?;
        let is_more = oldest.len() >= SLICE as usize;
        let expires_at = |kept: &Kept| kept.kept_at.after(self.limits.keep_for);
        let now = Timestamp::from(self.now);
        let expired = oldest.iter().take_while(|(_, kept)| expires_at(kept) <= now).count();
        let next = oldest.get(expired).map(|(_, kept)| expires_at(kept)).or(is_more.then_some(now));
        oldest.truncate(expired);
        self.record.expired += oldest.len() as u64;
        self.remove_all("dead_letter.expired", &oldest);
        self.commit.alarm = next.map_or(Change::Clear, |next| Change::Set(next.into()));
        Ok(())
    }

    pub(super) fn remove_all(&mut self, event: &'static str, letters: &[(u64, Kept)]) {
        if letters.is_empty() {
            return;
        }
        for (id, kept) in letters {
            self.remove(*id, kept);
        }
        let ids: Vec<u64> = letters.iter().map(|(id, _)| *id).collect();
        self.emit(event, &json!({ "count": ids.len(), "ids": ids }));
    }
}

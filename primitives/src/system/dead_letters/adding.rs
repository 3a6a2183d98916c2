//! New letters. If there are too many letters, the oldest is dropped and counted (D3).

use std::collections::BTreeMap;

use bytes::Bytes;
use drystone_runtime::{self as runtime, Key, Name};
use serde_json::json;

use super::{BATCH, EVENT, ITEM, STATE, kept::Kept, removing::SLICE, turn::Turn};
use crate::{decode, system::halt::Halt};

impl Turn<'_> {
    /// Adds a message that the kernel gave up (M4).
    pub(super) fn add_message(&mut self, body: &Bytes, kinds: &BTreeMap<Name, Name>) -> Result<(), Halt> {
        let unreadable = || Halt::malformed("letter", "this is no dead letter".to_owned());
        let dead = runtime::DeadLetter::decode(body).ok_or_else(unreadable)?;
        let (kept, body) = Kept::message(&dead, kinds.get(&dead.definition), self.now.into());
        self.add(&kept, body)
    }

    /// Adds a batch after the last attempt of the buffer.
    pub(super) fn add_batch(&mut self, body: &[u8], from: &Key) -> Result<(), Halt> {
        let [batch] = decode(body).map_err(|reason| Halt::malformed(BATCH, reason))?;
        self.add(&Kept::batch(batch, from, self.now.into()), None)
    }

    /// Adds an item after the last attempt of the queue.
    pub(super) fn add_item(&mut self, body: &[u8], from: &Key) -> Result<(), Halt> {
        let [item] = decode(body).map_err(|reason| Halt::malformed(ITEM, reason))?;
        let (kept, body) = Kept::item(item, from, self.now.into());
        self.add(&kept, Some(body))
    }

    /// Adds an event that was not taken.
    pub(super) fn add_event(&mut self, body: &[u8], from: &Key) -> Result<(), Halt> {
        let [event] = decode(body).map_err(|reason| Halt::malformed(EVENT, reason))?;
        let (kept, body) = Kept::event(event, from, self.now.into());
        self.add(&kept, Some(body))
    }

    /// Adds the last state of an entity that gave up.
    pub(super) fn add_state(&mut self, body: &[u8], from: &Key) -> Result<(), Halt> {
        let [state] = decode(body).map_err(|reason| Halt::malformed(STATE, reason))?;
        let (kept, body) = Kept::state(state, from, self.now.into());
        self.add(&kept, Some(body))
    }

    fn add(&mut self, kept: &Kept, body: Option<Bytes>) -> Result<(), Halt> {
        self.make_room()?;
        let id = self.put(kept, body)?;
        let shown = kept.shown(id);
        self.emit(
            "dead_letter.added",
            &json!({ "id": id, "what": shown.what, "definition": shown.definition, "key": shown.key, "reason": shown.reason }),
        );
        Ok(())
    }

    /// Makes room for one more letter. If the limit was larger before, each new letter removes a slice of
    /// the oldest.
    fn make_room(&mut self) -> Result<(), Halt> {
        let beyond = (self.record.count + 1).saturating_sub(self.limits.letters_max.max(1));
        if beyond == 0 {
            return Ok(());
        }
        let oldest = self.letters(None, u32::try_from(beyond).map_or(SLICE, |beyond| beyond.min(SLICE)))?;
        self.record.dropped += oldest.len() as u64;
        self.remove_all("dead_letter.dropped", &oldest);
        Ok(())
    }
}

//! The history of a trial as text: the writes of each commit, calls and lifecycle events.

use std::collections::BTreeMap;

use drystone_runtime::{
    Entity, Key, MessageId,
    kernel::Event,
    store::{
        After, Batch, Write,
        sql::{Claim, Script},
    },
};

use crate::{Timestamp, workflow::entries_in};

/// How many characters of a value are shown.
const SHOWN_MAX: usize = 160;

/// The lines, and the state that is needed to write them.
#[derive(Default)]
pub(super) struct Trace {
    pub(super) lines: Vec<String>,
    /// Each entity as it was last written, so that a write is shown by its differences.
    entities: BTreeMap<Key, Entity>,
    /// The verbs of the messages in flight.
    letters: BTreeMap<MessageId, String>,
}

impl Trace {
    /// Returns the writes of a batch as text; `None` if it writes no entity.
    pub(super) fn wrote(&self, batch: &Batch) -> Option<String> {
        let writes: Vec<String> = batch.writes.iter().filter_map(|write| self.write(write)).collect();
        (!writes.is_empty()).then(|| writes.join("; "))
    }

    /// Returns the transactional steps of the scripts as text; `None` for scripts without a step.
    pub(super) fn transacted(&self, scripts: &[Script]) -> Option<String> {
        let claims = scripts.iter().filter_map(|script| script.claim.as_ref());
        let steps: Vec<String> = claims.map(|claim| self.claim(claim)).collect();
        (!steps.is_empty()).then(|| steps.join("; "))
    }

    fn claim(&self, claim: &Claim) -> String {
        let entity = self.entities.values().find(|entity| entity.id == claim.entity);
        let who = entity.map_or_else(|| "?".to_owned(), |entity| named(&entity.definition, &entity.key));
        format!("{who} executes `{}` in a transaction", claim.key.escape_ascii())
    }

    /// Records that a batch was applied.
    pub(super) fn keep(&mut self, batch: &Batch) {
        for write in &batch.writes {
            match &write.after {
                After::Entity(entity) => drop(self.entities.insert(write.key.clone(), (**entity).clone())),
                After::Destroyed | After::Unbound => drop(self.entities.remove(&write.key)),
            }
            let letters = write.sent.iter().map(|sent| (sent.id, sent.verb.to_string()));
            self.letters.extend(letters);
        }
    }

    pub(super) fn told(&mut self, event: &Event) {
        let fields = event.lifecycle.fields.iter().map(|(name, value)| format!(" {name}: {}", shown(value)));
        let fields: String = fields.collect();
        let (who, what) = (named(&event.definition, &event.key), &event.lifecycle.name);
        self.lines.push(format!("{who} tells {what}{fields}"));
    }

    fn write(&self, write: &Write) -> Option<String> {
        let before = self.entities.get(&write.key);
        let mut parts: Vec<String> = write
            .taken
            .iter()
            .map(|id| format!("takes `{}`", self.letters.get(id).map_or("?", String::as_str)))
            .collect();
        let definition = match (&write.after, before) {
            (After::Entity(after), before) => {
                parts.extend(changes(before, after));
                after.definition.as_str()
            }
            (After::Destroyed, before) => {
                parts.push("is destroyed".to_owned());
                before.map_or("?", |before| before.definition.as_str())
            }
            (After::Unbound, _) => "nothing",
        };
        parts.extend(write.rows.iter().map(|((lane, _), body)| match body {
            Some(body) => format!("{lane} + {}", shown(body)),
            None => format!("{lane} - 1"),
        }));
        parts.extend(write.drop.iter().map(|dropped| format!("{dropped:?}")));
        parts.extend(
            write.sent.iter().map(|sent| format!("sends `{}` to {}", sent.verb, named(&sent.definition, &sent.to))),
        );
        (!parts.is_empty()).then(|| format!("{} {}", named(definition, &write.key), parts.join(", ")))
    }
}

/// Returns the differences between two versions of an entity.
fn changes(before: Option<&Entity>, after: &Entity) -> Vec<String> {
    let mut parts = Vec::new();
    if before.is_none_or(|before| before.status != after.status) {
        parts.push(format!("is {}", after.status.word));
    }
    if before.map_or(!after.state.is_empty(), |before| before.state != after.state) {
        parts.push(format!("state {}", shown(&after.state)));
    }
    if before.map(|before| before.alarm) != Some(after.alarm) {
        parts.extend(after.alarm.map(|at| format!("alarm at {}", Timestamp::from(at))));
    }
    if before.is_some_and(|before| before.crashes.deaths() < after.crashes.deaths()) {
        parts.push("a crash is counted".to_owned());
    }
    parts.extend(
        after
            .parked
            .iter()
            .filter(|_| before.is_none_or(|before| before.parked.is_none()))
            .map(|parked| format!("parked: {parked}")),
    );
    let known = before.map(|before| entries_in(&before.head)).unwrap_or_default();
    let entries = entries_in(&after.head).into_iter().filter(|entry| !known.contains(entry));
    parts.extend(entries.map(|entry| format!("journal + {}", shown(entry.as_bytes()))));
    if parts.is_empty() && before.is_none_or(|before| before.head != after.head) {
        parts.push("record".to_owned());
    }
    parts
}

fn named(definition: &str, key: &Key) -> String {
    format!("{definition}({})", key.key.escape_ascii())
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

//! The handler of the entity that keeps dead letters. A message brings a letter, a call reads or changes
//! letters, and the alarm removes old ones.

use std::{collections::BTreeMap, pin::Pin};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Change, Cx, Entity, Handler, Hot, Input, Key, Millis, Name, Needed, Next, Now, Outcome, Rows, Ticket, Work,
    key_after,
};

use super::{
    BATCH, DEFINITION, EVENT, ITEM, Limits, STATE,
    letter::{Filter, ItemCursor, Items, LetterError, Page, What},
    turn::{Elsewhere, Turn, held},
};
use crate::{Error, Params, Stored, Timestamp, client::view::json, system::halt::Halt};

/// The letters that one turn of a listing looks at.
const SCAN: u32 = 200;

/// The limit of items in an answer.
const ITEMS: u32 = 100;

/// The bytes after which an answer is not made longer.
const ANSWER_BYTES: usize = 256 << 10;

/// The verbs that only read.
const READS: [&str; 6] = ["list", "get", "body", "items", "count", "counts"];

/// The verbs that change something.
const WRITES: [&str; 5] = ["replay", "replay_to", "replay_to_topic", "remove", "remove_older"];

/// The handler of dead letters.
pub(super) struct Letters {
    pub(super) limits: Limits,
    /// The kinds of the app's definitions.
    pub(super) kinds: BTreeMap<Name, Name>,
}

impl Handler for Letters {
    fn borrow(&self, verb: &str) -> Borrow {
        if READS.contains(&verb) { Borrow::Shared } else { Borrow::None }
    }

    fn turn(
        &self,
        _: &mut Hot,
        _: &Key,
        entity: Option<&Entity>,
        rows: &Rows,
        input: &Input,
        Now { at: now, .. }: Now,
    ) -> Next {
        let turned = Turn::open(self.limits, entity, rows, now).and_then(|turn| match input {
            Input::Message { verb, body, from, .. } => self.sent(turn, verb, body, from),
            Input::Call { verb, body, ticket, .. } => called(turn, verb, body, *ticket),
            Input::Alarm { .. } => expire(turn),
            // The limits have changed, so the alarm looks at once for letters that are too old.
            Input::Changed => Ok(looked_at_soon(turn)),
            Input::Done { .. } | Input::Gone { .. } => Ok(Next::nothing()),
        });
        turned.unwrap_or_else(Next::from)
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        Box::pin(async { Outcome::refused("dead letters list no work") })
    }
}

impl Letters {
    fn sent(&self, mut turn: Turn<'_>, verb: &str, body: &Bytes, from: &Key) -> Result<Next, Halt> {
        match verb {
            "letter" => turn.add_message(body, &self.kinds)?,
            BATCH => turn.add_batch(body, from)?,
            ITEM => turn.add_item(body, from)?,
            EVENT => turn.add_event(body, from)?,
            STATE => turn.add_state(body, from)?,
            _ => return Err(unknown(verb)),
        }
        Ok(turn.close())
    }
}

fn expire(mut turn: Turn<'_>) -> Result<Next, Halt> {
    turn.expire()?;
    Ok(turn.close())
}

fn looked_at_soon(mut turn: Turn<'_>) -> Next {
    turn.commit.alarm = Change::Set(turn.now);
    turn.close()
}

fn called(mut turn: Turn<'_>, verb: &str, body: &[u8], ticket: Ticket) -> Result<Next, Halt> {
    match verb {
        "list" => {
            let page = list(&turn, &one(verb, body)?)?;
            turn.answer(ticket, &page)?;
        }
        "get" => {
            let id = one(verb, body)?;
            let shown = turn.letter(id)?.shown(id);
            turn.answer(ticket, &shown)?;
        }
        "body" => {
            let id = one(verb, body)?;
            turn.letter(id)?;
            let bytes = turn.body(id)?;
            turn.answer_bytes(ticket, bytes);
        }
        "items" => {
            let (id, after) = two(verb, body)?;
            let items = items(&turn, id, after)?;
            turn.answer(ticket, &items)?;
        }
        "count" => {
            let count = turn.record.count;
            turn.answer(ticket, &count)?;
        }
        "counts" => {
            let counts = turn.record.counts();
            turn.answer(ticket, &counts)?;
        }
        "replay" => {
            turn.replay(one(verb, body)?, None)?;
            turn.answer(ticket, &())?;
        }
        "replay_to" => {
            let (id, to) = two::<u64, Elsewhere>(verb, body)?;
            turn.replay(id, Some(to.into()))?;
            turn.answer(ticket, &())?;
        }
        "replay_to_topic" => {
            turn.publish(one(verb, body)?)?;
            turn.answer(ticket, &())?;
        }
        "remove" => {
            turn.remove_one(one(verb, body)?)?;
            turn.answer(ticket, &())?;
        }
        "remove_older" => {
            let (before, after) = two::<Timestamp, Option<u64>>(verb, body)?;
            let slice = turn.remove_older(before, after)?;
            turn.answer(ticket, &slice)?;
        }
        _ => return Err(unknown(verb)),
    }
    // A read must not write the record, so it does not close the turn.
    Ok(if READS.contains(&verb) { Next::Commit(turn.commit) } else { turn.close() })
}

/// Returns letters that match the filter. If this is not all of them, the next call continues behind `next`.
fn list(turn: &Turn<'_>, filter: &Filter) -> Result<Page, Halt> {
    let looked_at = turn.letters(filter.after, SCAN)?;
    let is_more = looked_at.len() >= SCAN as usize;
    let (mut page, mut bytes) = (Page::default(), 0);
    for (id, kept) in looked_at {
        if page.letters.len() >= filter.limit || bytes > ANSWER_BYTES {
            return Ok(page);
        }
        page.next = Some(id);
        if kept.is_wanted(filter) {
            bytes += kept.weight();
            page.letters.push(kept.shown(id));
        }
    }
    page.next = page.next.filter(|_| is_more);
    Ok(page)
}

/// Returns a page of the items of a batch.
fn items(turn: &Turn<'_>, id: u64, after: Option<ItemCursor>) -> Result<Items, Halt> {
    let kept = turn.letter(id)?;
    let lane = kept.lane().filter(|_| kept.what() == What::Batch).ok_or(LetterError::NotABatch { id })?;
    let from = after.map(|ItemCursor(key)| key_after(&key));
    let rows = turn.rows(held(lane, from, ITEMS))?;
    let is_more = rows.len() >= ITEMS as usize;
    let (mut items, mut bytes) = (Items::default(), 0);
    for row in rows {
        if bytes > 0 && bytes + row.body.len() > ANSWER_BYTES {
            return Ok(items);
        }
        bytes += row.body.len();
        items.items.push(json(&row.body));
        items.next = Some(ItemCursor(row.key.to_vec()));
    }
    items.next = items.next.filter(|_| is_more);
    Ok(items)
}

fn one<T: Stored>(verb: &str, body: &[u8]) -> Result<T, Halt> {
    Params::one(body).map_err(|reason| unreadable(verb, reason))
}

fn two<T: Stored, U: Stored>(verb: &str, body: &[u8]) -> Result<(T, U), Halt> {
    Params::two(body).map_err(|reason| unreadable(verb, reason))
}

fn unreadable(verb: &str, reason: String) -> Halt {
    Halt::malformed(verb, reason)
}

fn unknown(verb: &str) -> Halt {
    let known =
        READS.into_iter().chain(WRITES).chain(["letter", BATCH, ITEM, EVENT, STATE]).map(str::to_owned).collect();
    Halt::Refuse(Error::UnknownVerb { definition: DEFINITION.to_string(), verb: verb.to_owned(), known })
}

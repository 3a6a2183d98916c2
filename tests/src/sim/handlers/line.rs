//! A line, in which one caller is inside while the others wait in order; and a gate, where all callers wait
//! until it opens.

use std::pin::Pin;

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Commit, Cx, Entity, Epoch, Handler, Hot, Input, Key, Millis, Name, Needed, Next, Now, Outcome, Range, Row,
    Rows, Status, Ticket, To, Work,
};

use super::{
    answer,
    codec::{Reader, Record, Writer, pack, unpack},
    malformed, not_bound, unknown_verb,
};

/// The record of a line. Waiting callers are rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// The number of the caller inside.
    pub inside: Option<u64>,
    /// The number of the next row.
    pub next: u64,
    /// The number of times that the gate opened.
    pub opened: u64,
}

impl Record for Queue {
    fn write(&self, out: &mut Writer) {
        [self.inside.unwrap_or(0), self.next, self.opened].into_iter().for_each(|value| out.number(value));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let inside = Some(from.number()?).filter(|inside| *inside != 0);
        Some(Self { inside, next: from.number()?, opened: from.number()? })
    }
}

const LANE: Name = Name::new("line");

/// The limit of rows that are read. No history has more callers.
const LONGEST: u32 = 64;

/// A waiting caller.
struct Waiting {
    place: Bytes,
    number: u64,
    ticket: Ticket,
}

impl Waiting {
    fn of(row: &Row) -> Option<Self> {
        let [number, epoch, counter] = unpack(&row.body)?;
        let ticket = Ticket { epoch: Epoch(epoch as u32), number: counter };
        Some(Self { place: row.key.clone(), number, ticket })
    }

    fn row(place: u64, number: u64, ticket: Ticket) -> Row {
        Row { lane: LANE, key: pack(&[place]), body: pack(&[number, u64::from(ticket.epoch.0), ticket.number]) }
    }
}

/// The handler.
pub(super) struct Line;

impl Handler for Line {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::None
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, rows: &Rows, input: &Input, _: Now) -> Next {
        let Some(queue) = Queue::decode(entity.map_or(&[], |entity| &entity.head)) else {
            return Next::Park("no queue".to_owned());
        };
        match input {
            Input::Call { verb, body, ticket, .. } => asked(entity, queue, rows, verb, body, *ticket),
            Input::Gone { ticket } if entity.is_some() => gone(rows, *ticket),
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("a line lists no work")
    }
}

fn asked(entity: Option<&Entity>, queue: Queue, rows: &Rows, verb: &str, body: &Bytes, ticket: Ticket) -> Next {
    let Some([number]) = unpack(body) else { return malformed(verb) };
    match verb {
        "enter" => Next::Commit(enter(queue, number, ticket)),
        "open" => Next::Commit(open(queue, ticket)),
        "leave" | "wait" if entity.is_none() => not_bound(),
        "leave" => leave(queue, rows, number, ticket),
        // Waiting at the gate writes nothing.
        "wait" => Next::Commit(Commit { hold: Some("gate".into()), ..Commit::default() }),
        _ => unknown_verb("line", verb),
    }
}

fn enter(mut queue: Queue, number: u64, ticket: Ticket) -> Commit {
    // A caller that retries may be inside already: the answer to its first call was lost.
    if queue.inside.is_none_or(|inside| inside == number) {
        queue.inside = Some(number);
        return written(&queue, answer(Some(ticket), Ok(pack(&[number]))));
    }
    queue.next += 1;
    let row = Waiting::row(queue.next, number, ticket);
    Commit { put: vec![row], hold: Some("line".into()), ..written(&queue, Vec::new()) }
}

fn open(mut queue: Queue, ticket: Ticket) -> Commit {
    queue.opened += 1;
    let told = pack(&[queue.opened]);
    let mut replies = answer(Some(ticket), Ok(told.clone()));
    replies.push((To::All("gate".into()), Ok(told)));
    written(&queue, replies)
}

/// Removes the caller of this number, who is inside or waits. Lets in the next caller that can still get an
/// answer.
fn leave(mut queue: Queue, rows: &Rows, number: u64, ticket: Ticket) -> Next {
    let range = Range::first(LANE, LONGEST);
    let Some(found) = rows.get(&range) else { return Next::Read(vec![range]) };
    let waiting: Vec<_> = found.iter().filter_map(Waiting::of).collect();
    // The callers of an older epoch have left: they got an error.
    let (here, gone): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|one| one.ticket.epoch == ticket.epoch && one.number != number);
    let mut removed: Vec<_> = gone.into_iter().map(|one| (LANE, one.place)).collect();
    let mut replies = answer(Some(ticket), Ok(Bytes::new()));
    if queue.inside == Some(number) {
        let next = here.into_iter().next();
        queue.inside = next.as_ref().map(|one| one.number);
        if let Some(one) = next {
            removed.push((LANE, one.place));
            replies.push((To::Ticket(one.ticket), Ok(pack(&[one.number]))));
        }
    }
    Next::Commit(Commit { remove: removed, ..written(&queue, replies) })
}

fn gone(rows: &Rows, ticket: Ticket) -> Next {
    let range = Range::first(LANE, LONGEST);
    let Some(found) = rows.get(&range) else { return Next::Read(vec![range]) };
    let mut left = found.iter().filter_map(Waiting::of).filter(|one| one.ticket == ticket);
    let remove = left.next().map(|one| (LANE, one.place)).into_iter().collect();
    Next::Commit(Commit { remove, ..Commit::default() })
}

fn written(queue: &Queue, replies: Vec<(To, drystone_runtime::Reply)>) -> Commit {
    Commit { head: Some(queue.encode()), status: Some(Status::resting("open")), replies, ..Commit::default() }
}

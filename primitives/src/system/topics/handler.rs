//! The handler of all topics: events are published, runs register and withdraw waits, people read.

use std::pin::Pin;

use drystone_runtime::{
    Borrow, Commit, Cx, Entity, Handler, Hot, Input, Key, Millis, Needed, Next, Now, Outcome, Rows, Ticket, Work,
};

use super::{
    DEFINITION, looking,
    passing::Slices,
    turn::{Seen, Turn},
    watching::left,
    wire::{DECLINED, Declined, LEAVE, Leave, MOVE, PUBLISH, Publish, WATCH, Wait, Watch, said},
};
use crate::{Error, system::halt::Halt};

/// The verbs that only read.
const READS: [&str; 4] = ["status", "watchers", "history", "deliveries"];

/// The verbs of messages only.
const MESSAGES: [&str; 4] = [WATCH, LEAVE, MOVE, DECLINED];

/// The handler of all topics.
pub(super) struct Topics(pub(super) Slices);

impl Handler for Topics {
    fn borrow(&self, verb: &str) -> Borrow {
        if READS.contains(&verb) { Borrow::Shared } else { Borrow::None }
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, rows: &Rows, input: &Input, now: Now) -> Next {
        let seen = Seen { entity, rows, now: now.at, slices: self.0 };
        let turned = match input {
            Input::Message { verb, body, .. } => sent(seen, (verb, body)),
            Input::Call { verb, body, ticket, .. } => called(seen, (verb, body), *ticket),
            Input::Alarm { .. } => rang(seen),
            Input::Changed | Input::Done { .. } | Input::Gone { .. } => Ok(Next::nothing()),
        };
        turned.unwrap_or_else(Next::from)
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        Box::pin(async { Outcome::refused("topics list no work") })
    }
}

fn rang(seen: Seen<'_>) -> Result<Next, Halt> {
    let Some(entity) = seen.entity else { return Ok(Next::nothing()) };
    let mut turn = Turn::of(entity, seen)?;
    turn.ring()?;
    turn.close()
}

fn called(seen: Seen<'_>, (verb, body): (&str, &[u8]), ticket: Ticket) -> Result<Next, Halt> {
    match verb {
        PUBLISH => published(seen, body, Some(ticket)),
        _ if READS.contains(&verb) => looking::looked(seen, (verb, body), ticket),
        _ => Err(unknown(verb)),
    }
}

fn published(seen: Seen<'_>, body: &[u8], caller: Option<Ticket>) -> Result<Next, Halt> {
    let (Publish { topic, options, event },) = said(PUBLISH, body)?;
    let mut turn = Turn::open(seen, &topic, options)?;
    turn.publish(event, caller)?;
    turn.close()
}

fn sent(seen: Seen<'_>, (verb, body): (&str, &[u8])) -> Result<Next, Halt> {
    match verb {
        PUBLISH => published(seen, body, None),
        WATCH => {
            let watch: Watch = said(verb, body)?;
            let mut turn = Turn::open(seen, &watch.topic, watch.options)?;
            turn.watch(watch)?;
            turn.close()
        }
        DECLINED => {
            let declined: Declined = said(verb, body)?;
            let mut turn = Turn::open(seen, &declined.topic, declined.options)?;
            turn.take_back(declined)?;
            turn.close()
        }
        LEAVE => {
            let leave: Leave = said(verb, body)?;
            let Some(entity) = seen.entity else {
                let send = left(&leave).into_iter().collect();
                return Ok(Next::Commit(Commit { send, ..Commit::default() }));
            };
            let mut turn = Turn::of(entity, seen)?;
            turn.leave(&leave)?;
            turn.close()
        }
        MOVE => {
            let Some(entity) = seen.entity else { return Ok(Next::nothing()) };
            let mut turn = Turn::of(entity, seen)?;
            turn.move_deadline(said::<Wait>(verb, body)?)?;
            turn.close()
        }
        _ => Err(unknown(verb)),
    }
}

fn unknown(verb: &str) -> Halt {
    let known = [PUBLISH].into_iter().chain(READS).chain(MESSAGES).map(str::to_owned).collect();
    Halt::Refuse(Error::UnknownVerb { definition: DEFINITION.to_string(), verb: verb.to_owned(), known })
}

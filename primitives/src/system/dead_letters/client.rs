//! The caller's side of dead letters.

use drystone_runtime::Call;
use serde::de::DeserializeOwned;

use super::{
    DEFINITION, KEY,
    letter::{
        Counts, DeadLetter, EventLetter, EventPage, Filter, ItemCursor, Items, LetterError, Opened, Page, Payload, What,
    },
    removing::Slice,
    turn::Elsewhere,
};
use crate::{
    Args, CallError, Desk, Error, Event, Timestamp, app::definitions::Definitions, client::view::json, decode,
};

/// The dead letters of an app, from [`Runtime::dead_letters`](crate::Runtime::dead_letters).
///
/// At most 10,000 letters are kept, each for 30 days. Beyond that, the oldest is dropped. Listeners are
/// notified of both (`dead_letter.dropped`, `dead_letter.expired`).
#[derive(Clone, Debug)]
pub struct DeadLetters {
    desk: Desk,
    definitions: Definitions,
}

impl DeadLetters {
    pub(crate) fn new(desk: Desk, definitions: Definitions) -> Self {
        Self { desk, definitions }
    }

    /// Returns a page of letters, the oldest first. Letters that come or go meanwhile do not move others to
    /// another page.
    pub async fn list(&self, filter: Filter) -> Result<Page, Error> {
        let (mut page, limit) = (Page::default(), filter.limit.max(1));
        let mut asked = filter;
        loop {
            asked.limit = limit - page.letters.len();
            let found: Page = self.ask("list", Args::new().put(&asked)).await?;
            page.letters.extend(found.letters);
            page.next = found.next;
            if page.next.is_none() || page.letters.len() >= limit {
                return Ok(page);
            }
            asked.after = page.next;
        }
    }

    /// Returns a page of events of this type that were not taken, the oldest first, of those that match
    /// `filter`. An event that is replayed or removed meanwhile is left out.
    pub async fn events<E: Event>(&self, filter: Filter) -> Result<EventPage<E>, Error> {
        let filter = Filter { what: Some(What::Event), event: Some(E::NAME.to_owned()), ..filter };
        let Page { letters, next } = self.list(filter).await?;
        let mut events = Vec::with_capacity(letters.len());
        for letter in letters {
            match self.send("body", Args::new().put(&letter.id)).await {
                Ok(body) => events.push(EventLetter { event: E::codec().read(&body), letter }),
                Err(CallError::Failed(LetterError::Unknown { .. })) => {}
                Err(CallError::Failed(error)) => return Err(unreadable("body", error.to_string())),
                Err(CallError::Fault(error)) => return Err(error),
            }
        }
        Ok(EventPage { events, next })
    }

    /// Returns a letter with its payload; of a batch, the payload is the first items.
    pub async fn get(&self, id: u64) -> Result<Opened, CallError<LetterError>> {
        let letter: DeadLetter = self.ask_of("get", Args::new().put(&id)).await?;
        let payload = match letter.what {
            What::Batch => Payload::Batch(self.items(id, None).await?),
            What::Message => Payload::Message(json(&self.send("body", Args::new().put(&id)).await?)),
            What::Item => Payload::Item(json(&self.send("body", Args::new().put(&id)).await?)),
            What::Event => Payload::Event(json(&self.send("body", Args::new().put(&id)).await?)),
            What::State => Payload::State(json(&self.send("body", Args::new().put(&id)).await?)),
        };
        Ok(Opened { letter, payload })
    }

    /// Returns more items of a batch: those after a place, or the first.
    pub async fn items(&self, id: u64, after: Option<ItemCursor>) -> Result<Items, CallError<LetterError>> {
        self.ask_of("items", Args::new().put(&id).put(&after)).await
    }

    /// Sends a letter to where it was going and removes it, in one commit. A message is tried as if it were
    /// new, a batch is flushed again, an item is enqueued again, an event is sent or published again. If
    /// that fails, too, it becomes a dead letter again, under another number.
    pub async fn replay(&self, id: u64) -> Result<(), CallError<LetterError>> {
        self.ask_of("replay", Args::new().put(&id)).await
    }

    /// Sends a letter to another entity instead. That entity must have the same action, be a buffer or a
    /// queue of the same items, or be a run that accepts the event.
    pub async fn replay_to(
        &self,
        id: u64,
        primitive: &str,
        key: impl AsRef<[u8]>,
    ) -> Result<(), CallError<LetterError>> {
        let key = self.definitions.key(primitive, key.as_ref())?;
        let space = key.space.to_string();
        let to = Elsewhere { definition: primitive.to_owned(), space, key: key.key.to_vec() };
        self.ask_of("replay_to", Args::new().put(&id).put(&to)).await
    }

    /// Publishes an event on its topic instead and removes its letter, in one commit. Waits on the topic get
    /// the event.
    pub async fn replay_to_topic(&self, id: u64) -> Result<(), CallError<LetterError>> {
        self.ask_of("replay_to_topic", Args::new().put(&id)).await
    }

    /// Removes a letter and its payload for good.
    pub async fn remove(&self, id: u64) -> Result<(), CallError<LetterError>> {
        self.ask_of("remove", Args::new().put(&id)).await
    }

    /// Removes the letters that died before a time, in slices of 250, each in one commit. Returns how many
    /// were removed. After an error, another call continues the removal.
    pub async fn remove_older(&self, before: impl Into<Timestamp>) -> Result<u64, Error> {
        let (before, mut removed, mut after) = (before.into(), 0, None);
        loop {
            let slice: Slice = self.ask("remove_older", Args::new().put(&before).put(&after)).await?;
            removed += slice.removed;
            after = slice.next;
            if after.is_none() {
                return Ok(removed);
            }
        }
    }

    /// Returns how many letters are kept.
    pub async fn count(&self) -> Result<u64, Error> {
        self.ask("count", Args::new()).await
    }

    /// Returns the numbers of letters of all time: kept, added, expired, dropped, replayed and removed.
    pub async fn counts(&self) -> Result<Counts, Error> {
        self.ask("counts", Args::new()).await
    }

    /// Makes a call that has no error of its own.
    async fn ask<T: DeserializeOwned>(&self, verb: &'static str, args: Args) -> Result<T, Error> {
        self.ask_of(verb, args).await.map_err(|error: CallError<LetterError>| match error {
            CallError::Fault(error) => error,
            CallError::Failed(error) => unreadable(verb, error.to_string()),
        })
    }

    async fn ask_of<T: DeserializeOwned>(&self, verb: &'static str, args: Args) -> Result<T, CallError<LetterError>> {
        let answer = self.send(verb, args).await?;
        decode(&answer).map_err(|reason| CallError::Fault(unreadable(verb, reason)))
    }

    async fn send(&self, verb: &'static str, args: Args) -> Result<bytes::Bytes, CallError<LetterError>> {
        let body = args.finish().map_err(|reason| CallError::Fault(unreadable(verb, reason)))?;
        self.desk.clone().call(Call::new(DEFINITION, KEY, verb, body)).await.map_err(|error| match error {
            Error::Failed(own) | Error::Declined(own) => match decode(&own) {
                Ok(own) => CallError::Failed(own),
                Err(reason) => CallError::Fault(unreadable(verb, reason)),
            },
            error => CallError::Fault(error),
        })
    }
}

fn unreadable(verb: &str, reason: String) -> Error {
    Error::Malformed { verb: verb.to_owned(), reason }
}

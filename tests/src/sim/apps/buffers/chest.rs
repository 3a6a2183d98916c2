//! A chest: a buffer whose flush is a transaction. The flush writes a row and sends messages before it
//! fails or panics.

use drystone::{Batch, Client, Transaction, kinds::buffer::Reason, primitive};
use drystone_runtime::WorkId;
use serde::{Deserialize, Serialize};

use crate::sim::{
    apps::{BOOK, Errand, Flush, errand::post, queues::mail::Mail, unmarked},
    drawing::{
        random::{Chance, mix},
        roster::Role,
    },
    faults::panics::on_purpose,
    handlers::Fate,
    workflows::{self, Sends},
};

/// The batches that were flushed, and the rows that the flushes wrote.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Chest {
    /// The batches, as in every buffer.
    pub flushed: Vec<Flush>,
    /// The value of the row of each batch.
    pub values: Vec<u64>,
    /// The calls that wrote here between the flushes.
    pub laid: Vec<u64>,
}

#[primitive(buffer, max_items = 4, max_wait = "150ms", max_attempts = 2, backoff = "40ms")]
impl Chest {
    /// Writes its number here. The end of a flush whose transaction is already durable must not undo this.
    async fn lay(&mut self, number: u64) {
        self.laid.push(number);
    }

    #[flush(transaction)]
    fn store(
        &mut self,
        batch: Batch<u64>,
        mails: &Client<Mail>,
        errands: &Client<Errand>,
        sql: &mut Transaction<'_>,
    ) -> Result<(), String> {
        let Batch { id, number, reason, attempt, items } = batch;
        let world = workflows::world();
        let member = world.cast.with(Role::Chest)[0];
        world.recorder.flushes(&world.chronicle, &id, &items);
        let value = world.recorder.acted.returns(items[0]);
        world.outbox.books(value, member);
        let fate = world.fate(member, &WorkId::new(unmarked(&id)), attempt);
        sql.execute(BOOK, (items[0], value)).map_err(|error| error.to_string())?;
        let mut chance = Chance::new(mix(world.seed ^ value));
        let has_mail = !world.cast.with(Role::Mail).is_empty();
        let has_errands = !world.cast.with(Role::Errand).is_empty();
        let all = [(Sends::Item, has_mail), (Sends::Note, has_errands)];
        let may: Vec<_> = all.into_iter().filter_map(|(sends, is_there)| is_there.then_some(sends)).collect();
        let count = if may.is_empty() { 0 } else { chance.below(3) };
        let sends: Vec<_> = (0..count).map(|_| chance.pick(&may)).collect();
        post(value, &sends, mails, errands, sql)?;
        self.flushed.push(Flush { number, id, is_replayed: reason == Reason::Replay, items });
        self.values.push(value);
        match fate {
            Fate::Well(_) => Ok(()),
            // A transaction that hangs would keep all other transactions waiting, so a fate that hangs
            // fails instead.
            Fate::Fails | Fate::Hangs | Fate::Kills => Err("as drawn".to_owned()),
            Fate::Panics => on_purpose("as drawn"),
        }
    }
}

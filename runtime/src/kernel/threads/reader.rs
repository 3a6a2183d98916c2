//! Reads for residents, many at once, and for callers from outside.

use std::future::pending;

use tokio::sync::oneshot;

use super::writer::Whenever;
use crate::{
    Epoch, Error, Key, Partition, Range, Row,
    kernel::{
        api::call::Reader,
        state::{core::Core, mail::Mail, shared::Shared},
    },
    planted::Bug,
    store::{Found, Page, Query, Read, StoreError},
};

/// A read, and its receiver.
pub(crate) enum Wanted {
    /// A resident cannot continue without this read.
    Resident(Key, u64, Vec<Read>),
    /// A caller from outside asked for records.
    Person(Vec<Read>, oneshot::Sender<Result<Vec<Found>, Error>>),
    /// A caller from outside asked for a listing.
    Listing(Query, oneshot::Sender<Result<Page, Error>>),
}

impl Wanted {
    /// Has a turn thread make a read for a caller from outside, and waits for the answer.
    pub(crate) async fn ask<T>(
        shared: &Shared,
        wanted: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Self,
    ) -> Result<T, Error> {
        let (asker, answer) = oneshot::channel();
        if shared.is_closed() {
            return Err(Error::Closing);
        }
        shared.with(|core, _| {
            if !core.is_closed {
                core.wanted.push_back(wanted(asker));
            }
        });
        answer.await.unwrap_or(Err(Error::Closing))
    }
}

/// Makes reads, many at once.
pub(crate) struct StoreReader<'a> {
    shared: &'a Shared,
}

impl<'a> StoreReader<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self { shared }
    }

    /// Makes the reads. Reads for residents are retried until the store answers; callers from outside get an
    /// error at once.
    pub(crate) async fn load(&self, wanted: Vec<Wanted>) {
        let _loading = Whenever(self.shared, Core::loaded);
        let (residents, people): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|wanted| matches!(wanted, Wanted::Resident(..)));
        self.load_residents(residents).await;
        for item in people {
            match item {
                Wanted::Resident(..) => {}
                Wanted::Person(reads, asker) => drop(asker.send(self.read_now(&reads).await.map_err(Error::from))),
                Wanted::Listing(query, asker) => drop(asker.send(self.list_now(&query).await.map_err(Error::from))),
            }
        }
    }

    async fn load_residents(&self, residents: Vec<Wanted>) {
        let reads_of = |wanted: &Wanted| match wanted {
            Wanted::Resident(_, _, reads) => reads.clone(),
            Wanted::Person(..) | Wanted::Listing(..) => Vec::new(),
        };
        let all: Vec<Read> = residents.iter().flat_map(reads_of).collect();
        let Some(mut found) = self.read_until_found(&all).await.map(Vec::into_iter) else { return };
        let mut core = self.shared.lock();
        for wanted in residents {
            if let Wanted::Resident(key, read, reads) = wanted {
                let mine = found.by_ref().take(reads.len()).collect();
                core.post_resident(&key, Mail::Found(read, reads, mine));
            }
        }
    }

    async fn read_now(&self, reads: &[Read]) -> Result<Vec<Found>, StoreError> {
        self.shared.store()?.read(reads).await
    }

    async fn list_now(&self, query: &Query) -> Result<Page, StoreError> {
        self.shared.store()?.list(query).await
    }

    async fn read_until_found(&self, reads: &[Read]) -> Option<Vec<Found>> {
        if reads.is_empty() {
            return None;
        }
        let mut failures = 0;
        while !self.shared.is_closed() {
            match self.read_now(reads).await {
                Ok(found) => return Some(found),
                Err(error) => {
                    failures += 1;
                    self.shared.store_trouble(&error);
                    self.shared.pause(failures).await;
                }
            }
        }
        None
    }
}

/// Reads rows for code that runs.
pub(crate) struct WorkReader<'a> {
    shared: &'a Shared,
    reader: &'a Reader,
}

impl<'a> WorkReader<'a> {
    pub(crate) fn new(shared: &'a Shared, reader: &'a Reader) -> Self {
        Self { shared, reader }
    }

    /// Reads rows for work that has started, and retries until the store answers: a store that is down is
    /// no failure of the work (R4).
    pub(crate) async fn rows(&self, range: Range) -> Result<Vec<Row>, Error> {
        let reader = self.reader;
        let entity = range.of.unwrap_or(reader.id);
        // The record comes last: if the entity is still ours then, all rows were there when they were read.
        let reads = vec![Read::Rows { entity, range }, Read::Entity(reader.key.clone())];
        let mut failures = 0;
        loop {
            match Wanted::ask(self.shared, |asker| Wanted::Person(reads.clone(), asker)).await {
                Ok(found) if self.is_still_ours(&found) => {
                    return Ok(found.into_iter().flat_map(Found::into_rows).collect());
                }
                // The remaining rows would be taken for all rows (B4). The code waits here until it is
                // dropped: with the partition, or with the entity when this worker learns of its end.
                Ok(_) => return pending().await,
                Err(error) if error.is_retryable() && !self.shared.is_closed() => {
                    failures += 1;
                    self.shared.pause(failures).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether no other owner has written the entity of the work. A clock that jumps ends a lease before
    /// its owner can know, and a record of another owner is then the first sign.
    fn is_still_ours(&self, found: &[Found]) -> bool {
        let Some(Found::Entity(Some(entity))) = found.last() else { return Bug::RowsUnchecked.planted() };
        let (partition, epoch) = self.reader.owned;
        let is_taken = entity.version.epoch() > epoch;
        if is_taken && !Bug::RowsUnchecked.planted() {
            self.taken_over(partition, epoch);
        }
        (entity.id == self.reader.id && !is_taken) || Bug::RowsUnchecked.planted()
    }

    fn taken_over(&self, partition: Partition, epoch: Epoch) {
        self.shared.with(|core, released| {
            if core.leases.get(&partition).is_some_and(|lease| lease.epoch == epoch) {
                tracing::warn!(partition = partition.0, "another worker has taken the partition over");
                core.lose(partition, self.shared, released);
            }
        });
    }
}

//! Reads for bodies and for people, many at once.

use tokio::sync::oneshot;

use super::{core::Core, mail::Mail, shared::Shared, writer::Whenever};
use crate::{
    Error, Key, Row,
    store::{Found, Page, Query, Read},
};

/// Something to read, and for whom.
pub(crate) enum Wanted {
    /// A body cannot go on without it.
    Body(Key, u64, Vec<Read>),
    /// Somebody asked.
    Person(Vec<Read>, oneshot::Sender<Result<Vec<Found>, Error>>),
    /// Somebody wants a listing.
    Listing(Query, oneshot::Sender<Result<Page, Error>>),
}

impl Shared {
    /// Reads what is wanted, however long the store takes to come back; people are told at once if it fails.
    pub(crate) async fn load(&self, wanted: Vec<Wanted>) {
        let _loading = Whenever(self, Core::loaded);
        let (bodies, people): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|wanted| matches!(wanted, Wanted::Body(..)));
        self.load_bodies(bodies).await;
        for item in people {
            match item {
                Wanted::Body(..) => {}
                Wanted::Person(reads, asker) => drop(asker.send(self.store.read(&reads).await.map_err(Error::from))),
                Wanted::Listing(query, asker) => drop(asker.send(self.store.list(&query).await.map_err(Error::from))),
            }
        }
    }

    async fn load_bodies(&self, bodies: Vec<Wanted>) {
        let reads_of = |wanted: &Wanted| match wanted {
            Wanted::Body(_, _, reads) => reads.clone(),
            Wanted::Person(..) | Wanted::Listing(..) => Vec::new(),
        };
        let all: Vec<Read> = bodies.iter().flat_map(reads_of).collect();
        let Some(mut found) = self.read_until_found(&all).await.map(Vec::into_iter) else { return };
        let mut core = self.lock();
        for wanted in bodies {
            if let Wanted::Body(key, read, reads) = wanted {
                let mine = found.by_ref().take(reads.len()).collect();
                core.post_resident(&key, Mail::Found(read, reads, mine));
            }
        }
    }

    /// Rows for work that has started, however long the store takes to come back: a store that is down is no
    /// failure of the work (R4).
    pub(crate) async fn rows_for_work(&self, read: Read) -> Result<Vec<Row>, Error> {
        let mut failures = 0;
        loop {
            match self.ask(|asker| Wanted::Person(vec![read.clone()], asker)).await {
                Ok(found) => return Ok(found.into_iter().flat_map(Found::into_rows).collect()),
                Err(error) if error.is_retryable() && !self.is_closed() => {
                    failures += 1;
                    self.pause(failures).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn read_until_found(&self, reads: &[Read]) -> Option<Vec<Found>> {
        if reads.is_empty() {
            return None;
        }
        let mut failures = 0;
        while !self.is_closed() {
            match self.store.read(reads).await {
                Ok(found) => return Some(found),
                Err(error) => {
                    failures += 1;
                    self.store_trouble(&error);
                    self.pause(failures).await;
                }
            }
        }
        None
    }

    pub(crate) async fn ask<T>(
        &self,
        wanted: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Wanted,
    ) -> Result<T, Error> {
        let (asker, answer) = oneshot::channel();
        if self.is_closed() {
            return Err(Error::Closing);
        }
        self.with(|core, _| {
            if !core.is_closed {
                core.wanted.push_back(wanted(asker));
            }
        });
        answer.await.unwrap_or(Err(Error::Closing))
    }
}

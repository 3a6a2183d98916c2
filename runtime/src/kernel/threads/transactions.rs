//! Transactions: brings code of the author's that writes rows of its own to the store, all waiting code in
//! one transaction (W6). It runs on a thread of its own, from its first use on, because such code must not
//! delay the kernel threads.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, oneshot};

use super::transaction_messages::Post;
use crate::{
    Error, Key, Outcome,
    kernel::{resident::turn::guarded, state::shared::Shared},
    planted::Bug,
    store::{
        Applied, StoreError,
        sql::{Script, ScriptCode, Scripted},
    },
};

/// The most scripts that share a transaction. Each script takes time, and all run again if the transaction
/// fails.
const TOGETHER_MAX: usize = 256;

/// The scripts that wait for the thread of the transactions.
#[derive(Default)]
pub(crate) struct Line {
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    has_thread: bool,
    is_closed: bool,
}

struct Waiting {
    script: Script,
    /// The messages that the script sends.
    post: Arc<Post>,
    asker: oneshot::Sender<Result<Scripted, Error>>,
}

impl Line {
    /// Closes the line. Scripts that wait are dropped, and their callers get `Closing`.
    pub(crate) fn close(&self) {
        let waiting = {
            let mut state = self.state();
            state.is_closed = true;
            std::mem::take(&mut state.waiting)
        };
        drop(waiting);
        self.bell.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next scripts whose callers still wait.
    fn take(&self) -> Vec<Waiting> {
        let mut state = self.state();
        let count = state.waiting.len().min(TOGETHER_MAX);
        state.waiting.drain(..count).filter(|waiting| !waiting.asker.is_closed()).collect()
    }
}

/// Runs a script, and retries until the store answers: a store that is down is no failure of the code (R4). A
/// script without a claim is not retried, because it might run twice.
pub(crate) async fn transact(shared: Arc<Shared>, from: Option<Key>, mut script: Script) -> Result<Scripted, Error> {
    let entity = script.claim.as_ref().map(|claim| claim.owned);
    let post = Post::new(&shared, from.zip(entity))?;
    script.fence = Some(post.owned());
    script.code = guard(post.clone().of(script.code));
    let (asker, answer) = oneshot::channel();
    let needs_thread = {
        let mut state = shared.transactions.state();
        if state.is_closed || shared.is_closed() {
            return Err(Error::Closing);
        }
        state.waiting.push_back(Waiting { script, post, asker });
        !std::mem::replace(&mut state.has_thread, true)
    };
    if needs_thread {
        let kept = shared.clone();
        shared.start_loop("transactions", async move { Transactions { shared: &kept }.run().await });
    }
    shared.transactions.bell.notify_one();
    // A caller that waits does not keep the kernel alive.
    drop(shared);
    answer.await.unwrap_or(Err(Error::Closing))
}

/// The loop of the transactions.
struct Transactions<'a> {
    shared: &'a Shared,
}

impl Transactions<'_> {
    async fn run(&self) {
        while !self.shared.is_closed() {
            let waiting = self.shared.transactions.take();
            if waiting.is_empty() {
                self.shared.transactions.bell.notified().await;
            } else {
                self.write_down(waiting).await;
            }
        }
    }

    async fn write_down(&self, mut waiting: Vec<Waiting>) {
        let mut failures = 0;
        while !waiting.is_empty() && !self.shared.is_closed() {
            let scripts: Vec<Script> = waiting.iter().map(|waiting| waiting.script.clone()).collect();
            match self.run_scripts(&scripts).await {
                Ok(done) => {
                    for (waiting, scripted) in waiting.drain(..).zip(done) {
                        if matches!(scripted, Scripted::Done(_)) || Bug::SentAlthoughRolledBack.planted() {
                            waiting.post.deliver(self.shared);
                        } else if failures > 0 {
                            // An earlier try may have applied the script, and its claim may have been
                            // removed since.
                            waiting.post.look_for(self.shared);
                        }
                        // A caller that has left finds the result in the store.
                        drop(waiting.asker.send(Ok(scripted)));
                    }
                }
                Err(error) => {
                    failures += 1;
                    self.shared.store_trouble(&error);
                    waiting = self.give_up(waiting, &error);
                    if !waiting.is_empty() {
                        self.shared.pause(failures).await;
                    }
                }
            }
        }
    }

    /// Answers the scripts that are not retried after this error; returns all others.
    fn give_up(&self, waiting: Vec<Waiting>, error: &StoreError) -> Vec<Waiting> {
        let is_over = !error.is_retryable() && error.applied() == Applied::No;
        let mut stay = Vec::new();
        for waiting in waiting {
            let has_left = waiting.asker.is_closed();
            if !has_left && !is_over && waiting.script.claim.is_some() {
                stay.push(waiting);
                continue;
            }
            if error.applied() != Applied::No {
                waiting.post.look_for(self.shared);
            }
            drop(waiting.asker.send(Err(error.clone().into())));
        }
        stay
    }

    async fn run_scripts(&self, scripts: &[Script]) -> Result<Vec<Scripted>, StoreError> {
        match self.shared.store()?.sql() {
            Some(sql) => sql.transact(scripts).await,
            None => Err(StoreError::new(crate::store::StoreErrorKind::Unsupported, NO_SQL)),
        }
    }
}

/// Refuses definitions that need SQL if the store has none, before anything is stored.
pub(crate) fn check_scripts(shared: &Shared) -> Result<(), Error> {
    if shared.store()?.sql().is_some() {
        return Ok(());
    }
    for definition in shared.registry.iter() {
        if let Some(work) = definition.handler.scripts().into_iter().next() {
            return Err(Error::NoSql { definition: definition.name.to_string(), work: work.to_string() });
        }
    }
    Ok(())
}

const NO_SQL: &str = "the store has no SQL: open it over SQLite";

/// Returns the same code with a panic turned into an outcome.
fn guard(code: ScriptCode) -> ScriptCode {
    Arc::new(move |statements| {
        guarded(|| code(statements)).unwrap_or_else(|message| Err(Box::new(Outcome::Panicked(message))))
    })
}

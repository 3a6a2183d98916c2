//! Messages of an author's transaction: they are in the inboxes of their receivers if and only if the rows
//! of the transaction are kept (M6).
//!
//! The code sends by [`Statements::send`]. Each message gets an id and is put into the inbox within the
//! transaction. The id consists of a version of the worker's lease, drawn once for the script, and the
//! place of the message; so code that runs again sends the same messages. When the transaction is durable,
//! its messages are delivered to their receivers in this process, like those of a commit (M2). After a
//! crash the receivers find them in the inbox.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;

use crate::{
    Epoch, Error, Key, Message, MessageId, Now, Partition, Version,
    kernel::{
        resident::verdict::inbox_form,
        state::{lease::Held, mail::Mail, shared::Shared},
    },
    planted::Bug,
    store::{
        Outgoing,
        sql::{EachRow, ScriptCode, SqlFault, SqlFaultKind, SqlValue, Statements},
    },
};

/// The key space of senders for transactions outside all entities. Each such transaction is a sender of its
/// own.
const OUTSIDE: &str = "drystone:transaction";

/// The messages of one script.
pub(crate) struct Post {
    /// The entity that sends; `None` for a transaction outside all entities.
    from: Option<Key>,
    lease: Arc<Held>,
    version: OnceLock<Version>,
    now: Now,
    partitions: u32,
    limits: Limits,
    /// Whether the code has run with this post.
    has_run: AtomicBool,
    sent: Mutex<Vec<Outgoing>>,
}

/// How much one transaction may send (K3).
#[derive(Clone, Copy)]
struct Limits {
    messages: usize,
    bytes: usize,
    payload: usize,
}

impl Post {
    /// Returns the post for a script of an entity, or for a script outside all entities. Without a lease to
    /// send under, no script may run: its rows would be kept without its messages.
    pub(crate) fn new(shared: &Shared, entity: Option<(Key, (Partition, Epoch))>) -> Result<Arc<Self>, Error> {
        let (from, owned) = entity.unzip();
        let core = shared.lock();
        let mut leases = core.leases.values();
        let found = leases.find(|lease| owned.is_none_or(|owned| owned == (lease.partition, lease.epoch))).cloned();
        let partition = owned.map_or(Partition(0), |(partition, _)| partition);
        let not_owner = || Error::NotOwner { partition, owner: core.others.get(&partition).cloned() };
        let lease = found.ok_or_else(not_owner)?;
        drop(core);
        let limits = Limits {
            messages: shared.options.commit_rows_max,
            bytes: shared.options.commit_bytes_max,
            payload: shared.options.payload_bytes_max,
        };
        let (now, partitions) = (shared.now(), shared.partitions());
        let (version, has_run, sent) = Default::default();
        Ok(Arc::new(Self { from, lease, version, now, partitions, limits, has_run, sent }))
    }

    /// Delivers the messages of a durable transaction. If its code ran earlier, with another post, the
    /// receivers are not known here.
    pub(crate) fn deliver(&self, shared: &Shared) {
        if !self.has_run.load(Ordering::Acquire) {
            shared.expect_unseen();
        }
        let sent = std::mem::take(&mut *self.sent());
        let from = self.sender();
        shared.with(|core, _| {
            for message in sent {
                let to = message.to.clone();
                core.post(&to, Mail::Message(inbox_form(message, &from, shared.time.now())));
            }
        });
    }

    /// Handles a transaction whose outcome will never be known. The receivers read their inboxes, and later
    /// messages do not overtake the messages found there (M1).
    pub(crate) fn look_for(&self, shared: &Shared) {
        let receivers: Vec<Key> = self.sent().iter().map(|message| message.to.clone()).collect();
        if receivers.is_empty() {
            return;
        }
        shared.expect_unseen();
        shared.with(|core, _| receivers.iter().for_each(|to| core.post(to, Mail::Look)));
    }

    /// Returns the partition and the epoch under which the post sends.
    pub(crate) fn owned(&self) -> (Partition, Epoch) {
        (self.lease.partition, self.lease.epoch)
    }

    /// Returns the same code with its messages sent by this post.
    pub(crate) fn of(self: Arc<Self>, code: ScriptCode) -> ScriptCode {
        Arc::new(move |statements| {
            self.has_run.store(true, Ordering::Release);
            if Bug::SentTwice.planted() {
                self.put_again(statements);
            } else {
                // Code that runs again sends its messages again: only those of the last run count.
                self.sent().clear();
            }
            code(&mut Posting { post: &self, bytes: 0, statements })
        })
    }

    /// A planted bug: the messages of the run before are put again.
    fn put_again(&self, statements: &mut dyn Statements) {
        let sender = self.sender();
        self.sent().iter().for_each(|sent| drop(statements.put_message(&sender, self.now.at, sent)));
    }

    fn version(&self) -> Version {
        *self.version.get_or_init(|| self.lease.next_version())
    }

    fn sender(&self) -> Key {
        let outside = || Key { space: OUTSIDE.into(), key: Bytes::from(format!("{:x}", self.version().0)) };
        self.from.clone().unwrap_or_else(outside)
    }

    fn sent(&self) -> MutexGuard<'_, Vec<Outgoing>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The statements of a script, extended by sending.
struct Posting<'a> {
    post: &'a Post,
    bytes: usize,
    statements: &'a mut dyn Statements,
}

impl Posting<'_> {
    fn check(&self, message: &Message) -> Result<(), SqlFault> {
        let Limits { messages, bytes, payload } = self.post.limits;
        let reason = if message.body.len() > payload {
            format!("a message has {} bytes, more than {payload}", message.body.len())
        } else if self.post.sent().len() >= messages {
            format!("a transaction sends {messages} messages at most")
        } else if self.bytes + message.body.len() > bytes {
            format!("a transaction sends {bytes} bytes at most")
        } else {
            return Ok(());
        };
        Err(SqlFault::new(SqlFaultKind::Limit, reason))
    }
}

impl Statements for Posting<'_> {
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<usize, SqlFault> {
        self.statements.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[SqlValue], each: &mut EachRow<'_>) -> Result<(), SqlFault> {
        self.statements.query(sql, values, each)
    }

    fn batch(&mut self, sql: &str) -> Result<(), SqlFault> {
        self.statements.batch(sql)
    }

    fn send(&mut self, message: Message) -> Result<(), SqlFault> {
        self.check(&message)?;
        if Bug::SendForgotten.planted() {
            return Ok(());
        }
        let id = MessageId { version: self.post.version(), index: self.post.sent().len() as u32 };
        let Message { to, definition, verb, body } = message;
        self.bytes += body.len();
        let partition = to.partition(self.post.partitions);
        let outgoing = Outgoing { id, partition, to, definition, verb, body, mark: Some(self.post.now.mark) };
        if !Bug::SentInMemoryAlone.planted() {
            self.statements.put_message(&self.post.sender(), self.post.now.at, &outgoing)?;
        }
        self.post.sent().push(outgoing);
        Ok(())
    }
}

//! Messages of a transaction of the author's: they are in their receivers' inboxes if and only if its rows are there (M6).
//!
//! The code sends by [`Statements::send`]. Each message gets an id of its own and is put into the inbox within the transaction. An
//! id is made of a version of the worker's lease, drawn once for the script, so that code which runs again sends the same
//! messages. When the transaction is durable they are handed to their receivers in this process, as those of a commit are (M2);
//! after a crash the inbox has them.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;

use super::{lease::Held, mail::Mail, settling::letter, shared::Shared};
use crate::{
    Epoch, Error, Key, Message, MessageId, Now, Partition, Version,
    planted::Bug,
    store::{
        Outgoing,
        sql::{EachRow, ScriptCode, SqlFault, SqlFaultKind, SqlValue, Statements},
    },
};

/// The space of the senders of transactions beside the entities: each of them is a sender of its own.
const OUTSIDE: &str = "drystone:transaction";

/// What a script sends.
pub(crate) struct Post {
    /// The entity that sends; `None` beside the entities.
    from: Option<Key>,
    lease: Arc<Held>,
    version: OnceLock<Version>,
    now: Now,
    partitions: u32,
    limits: Limits,
    /// The code was run.
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

impl Shared {
    /// The post of a script of this entity, or of one beside the entities. Without a lease to send under no script may run: its rows
    /// would be kept without its messages.
    pub(crate) fn post_of(&self, entity: Option<(Key, (Partition, Epoch))>) -> Result<Arc<Post>, Error> {
        let (from, owned) = entity.unzip();
        let core = self.lock();
        let mut leases = core.leases.values();
        let found = leases.find(|lease| owned.is_none_or(|owned| owned == (lease.partition, lease.epoch))).cloned();
        let partition = owned.map_or(Partition(0), |(partition, _)| partition);
        let not_owner = || Error::NotOwner { partition, owner: core.others.get(&partition).cloned() };
        let lease = found.ok_or_else(not_owner)?;
        drop(core);
        let limits = Limits {
            messages: self.options.commit_rows_max,
            bytes: self.options.commit_bytes_max,
            payload: self.options.payload_bytes_max,
        };
        let (now, partitions) = (self.now(), self.partitions());
        let (version, has_run, sent) = Default::default();
        Ok(Arc::new(Post { from, lease, version, now, partitions, limits, has_run, sent }))
    }

    /// Hands over what a durable transaction has sent. If its code was run before, under another post, nobody here knows to
    /// whom it sent.
    pub(crate) fn deliver(&self, post: &Post) {
        if !post.has_run.load(Ordering::Acquire) {
            self.expect_unseen();
        }
        let sent = std::mem::take(&mut *post.sent());
        let from = post.sender();
        self.with(|core, _| {
            for message in sent {
                let to = message.to.clone();
                core.post(&to, Mail::Letter(letter(message, &from, self.time.now())));
            }
        });
    }

    /// Whether a transaction happened is not known, and will not be. Its receivers look, and nothing overtakes what they find (M1).
    pub(crate) fn look_for(&self, post: &Post) {
        let receivers: Vec<Key> = post.sent().iter().map(|message| message.to.clone()).collect();
        if receivers.is_empty() {
            return;
        }
        self.expect_unseen();
        self.with(|core, _| receivers.iter().for_each(|to| core.post(to, Mail::Look)));
    }
}

impl Post {
    /// Under which epoch of which partition it sends.
    pub(crate) fn owned(&self) -> (Partition, Epoch) {
        (self.lease.partition, self.lease.epoch)
    }

    /// The same code, whose messages are sent by this post.
    pub(crate) fn of(self: Arc<Self>, code: ScriptCode) -> ScriptCode {
        Arc::new(move |statements| {
            self.has_run.store(true, Ordering::Release);
            if Bug::SentTwice.planted() {
                self.put_again(statements);
            } else {
                self.sent().clear();
            }
            code(&mut Posting { post: &self, bytes: 0, statements })
        })
    }

    /// A planted bug: what was sent by the run before is put, too.
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

/// Statements of code that can send.
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

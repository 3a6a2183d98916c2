//! A call to an entity: what is asked, and how long the caller waits.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;

use crate::{
    Epoch, Error, Key, Name, Partition, Range, Reply, Row, Version,
    store::{
        Once,
        sql::{Script, Scripted},
    },
};

/// One call, to be made with [`Kernel::call`](crate::kernel::Kernel::call) or [`Cx::call`](crate::Cx::call).
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) definition: Name,
    pub(crate) key: Bytes,
    pub(crate) verb: Name,
    pub(crate) body: Bytes,
    pub(crate) once: Option<Once>,
    pub(crate) remember_for: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) chain: Arc<[Key]>,
}

impl Call {
    /// Creates a call of `verb` on the entity that `definition` has under `key`.
    pub fn new(
        definition: impl Into<Name>,
        key: impl Into<Bytes>,
        verb: impl Into<Name>,
        body: impl Into<Bytes>,
    ) -> Self {
        Self {
            definition: definition.into(),
            key: key.into(),
            verb: verb.into(),
            body: body.into(),
            once: None,
            remember_for: None,
            deadline: None,
            chain: Arc::new([]),
        }
    }

    /// Adds an idempotency key: a repeated call gets the answer of the first (E12).
    #[must_use]
    pub fn once(mut self, once: impl Into<Once>) -> Self {
        self.once = Some(once.into());
        self
    }

    /// Sets how long the answer is remembered under the idempotency key. Default: `Options::remember_for`
    /// of the kernel.
    #[must_use]
    pub fn remembered_for(mut self, span: Duration) -> Self {
        self.remember_for = Some(span);
        self
    }

    /// Sets how long the caller waits at most. Default: `Options::deadline` of the kernel.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Whether the call has an idempotency key.
    pub fn is_once(&self) -> bool {
        self.once.is_some()
    }

    pub(crate) fn within(mut self, chain: Arc<[Key]>) -> Self {
        self.chain = chain;
        self
    }
}

impl fmt::Display for Call {
    /// Writes the definition, the key and the verb: `cart(ada) put`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}({}) {}", self.definition, self.key.escape_ascii(), self.verb)
    }
}

/// The kernel as seen by code that runs as work: it makes calls and reads rows here.
pub(crate) trait KernelPort: Send + Sync {
    fn call(&self, call: Call) -> Pin<Box<dyn Future<Output = Reply> + Send>>;
    fn rows(&self, reader: Reader, range: Range) -> Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send>>;
    fn weak_kernel(&self) -> crate::kernel::WeakKernel;
    fn transact(&self, from: Key, script: Script) -> Pin<Box<dyn Future<Output = Result<Scripted, Error>> + Send>>;
}

/// Work that reads rows: its entity, and the epoch under which the work was started.
pub(crate) struct Reader {
    pub(crate) key: Key,
    pub(crate) id: Version,
    pub(crate) owned: (Partition, Epoch),
}

/// The kernel's own verb, called by [`Kernel::unpark`](crate::kernel::Kernel::unpark).
pub(crate) const UNPARK: &str = "drystone:unpark";

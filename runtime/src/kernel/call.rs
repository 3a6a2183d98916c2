//! A call from outside: what is asked of which entity, and how long its caller waits.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;

use crate::{
    Epoch, Error, Key, Name, Partition, Range, Reply, Row, Version,
    store::{
        Once,
        sql::{Script, Scripted},
    },
};

/// One call, to be made with [`Kernel::call`](super::Kernel::call) or [`Cx::call`](crate::Cx::call).
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
    /// Asks `verb` of the entity that `definition` has under `key`.
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

    /// With an idempotency key: asked again, it is answered as it was the first time (E12).
    #[must_use]
    pub fn once(mut self, once: impl Into<Once>) -> Self {
        self.once = Some(once.into());
        self
    }

    /// How long its answer is remembered under its idempotency key; the kernel's default otherwise.
    #[must_use]
    pub fn remembered_for(mut self, span: Duration) -> Self {
        self.remember_for = Some(span);
        self
    }

    /// Waits at most so long; the kernel's default otherwise.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Whether it has an idempotency key.
    pub fn is_once(&self) -> bool {
        self.once.is_some()
    }

    pub(crate) fn within(mut self, chain: Arc<[Key]>) -> Self {
        self.chain = chain;
        self
    }
}

impl fmt::Display for Call {
    /// `cart(ada) put`: of whom what is asked.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}({}) {}", self.definition, self.key.escape_ascii(), self.verb)
    }
}

/// Where code that runs as work makes its calls: the kernel, seen from inside.
pub(crate) trait Door: Send + Sync {
    fn call(&self, call: Call) -> Pin<Box<dyn Future<Output = Reply> + Send>>;
    fn rows(&self, reader: Reader, range: Range) -> Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send>>;
    fn outpost(&self) -> super::Outpost;
    fn transact(&self, from: Key, script: Script) -> Pin<Box<dyn Future<Output = Result<Scripted, Error>> + Send>>;
}

/// Code that reads rows: of which entity it is the work, and under which epoch it was started.
pub(crate) struct Reader {
    pub(crate) key: Key,
    pub(crate) id: Version,
    pub(crate) owned: (Partition, Epoch),
}

/// The kernel's own verb, asked by [`Kernel::unpark`](super::Kernel::unpark).
pub(crate) const UNPARK: &str = "drystone:unpark";

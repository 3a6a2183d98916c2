//! A call on its way: what is asked of which entity, and how its answer is read.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{self as runtime, Cx, Kernel, Key, Message, Name, driver::Task, kernel::Outpost};

use crate::{Args, CallError, Error, Never, Stored, decode, key_space::space_of};

/// Where calls are made: outside, or in an entity's code, whose callers wait for it (M3).
#[derive(Clone)]
pub struct Desk {
    line: Line,
    /// Whether all primitives share one space of keys (E2).
    is_shared: bool,
}

#[derive(Clone)]
enum Line {
    Outside(Kernel),
    /// Outside, where somebody else must run what is asked.
    Through(Arc<dyn Passage>),
    Inside(Cx),
    /// In the body of a workflow, which asks by its `Flow`.
    Body,
}

/// The way to a kernel that does not run by itself: that of a test, whose world stands while the test's own code runs.
pub(crate) trait Passage: Send + Sync {
    /// The kernel to ask now; an error if there is none.
    fn kernel(&self) -> Result<Kernel, Error>;

    /// Runs a task where that kernel runs. It ends when the task has ended, or never will.
    fn carry(&self, task: Task) -> Task;

    /// The call as it is to be made.
    fn prepare(&self, call: runtime::Call) -> runtime::Call;

    /// A number that grows when the process dies without the test's doing, and when it is back. Who was not answered asks
    /// again.
    fn lives(&self) -> u64;

    /// Whether every call that was answered is made again.
    fn repeats(&self) -> bool;
}

impl Desk {
    /// The desk of code outside of any entity.
    pub(crate) fn outside(kernel: Kernel, is_shared: bool) -> Self {
        Self { line: Line::Outside(kernel), is_shared }
    }

    /// The desk of code outside that cannot wait for the kernel by itself.
    pub(crate) fn through(passage: Arc<dyn Passage>, is_shared: bool) -> Self {
        Self { line: Line::Through(passage), is_shared }
    }

    /// The desk of an entity's code.
    pub(crate) fn inside(cx: Cx, is_shared: bool) -> Self {
        Self { line: Line::Inside(cx), is_shared }
    }

    /// The desk of a body: what is asked there is asked by its `Flow`.
    pub(crate) fn body() -> Self {
        Self { line: Line::Body, is_shared: false }
    }

    pub(crate) fn is_body(&self) -> bool {
        matches!(self.line, Line::Body)
    }

    /// The address of a key of a definition.
    pub fn address(&self, definition: impl Into<Name>, key: impl AsRef<[u8]>) -> Address {
        Address { desk: self.clone(), definition: definition.into(), key: Bytes::copy_from_slice(key.as_ref()) }
    }

    /// Makes a call. Each line has a future of its own, so that that of a plain call is as short as it can be.
    pub(crate) fn call(self, call: runtime::Call) -> Answer {
        match self.line {
            Line::Outside(kernel) => Box::pin(async move { kernel.call(call).await }),
            Line::Inside(cx) => Box::pin(async move { cx.call(call).await }),
            Line::Through(passage) => Box::pin(called_through(passage, call)),
            Line::Body => Box::pin(std::future::ready(Err(in_a_body()))),
        }
    }

    /// Makes a call, and `then` something of its answer, in one breath: whoever stops waiting either left the call, or
    /// drops what was made of it.
    pub(crate) async fn call_then<T: Send + 'static>(
        self,
        call: runtime::Call,
        then: impl FnOnce(Bytes, Outpost) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        match self.line {
            Line::Inside(cx) => then(cx.call(call).await?, cx.outpost()),
            Line::Outside(kernel) => then(kernel.call(call).await?, kernel.outpost()),
            Line::Through(passage) => {
                let then = Arc::new(Mutex::new(Some(then)));
                let ask = |kernel: Kernel| {
                    let (call, then) = (call.clone(), then.clone());
                    async move {
                        let answer = kernel.call(call).await?;
                        let then = then.lock().unwrap_or_else(PoisonError::into_inner).take();
                        then.map_or(Err(Error::Closing), |then| then(answer, kernel.outpost()))
                    }
                };
                carried(&*passage, ask).await
            }
            Line::Body => Err(in_a_body()),
        }
    }

    /// Asks the kernel something that is no call; not in an entity's code.
    pub(crate) async fn ask<T: Send + 'static, F>(&self, ask: impl Fn(Kernel) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        match &self.line {
            Line::Outside(kernel) => ask(kernel.clone()).await,
            Line::Through(passage) => carried(&**passage, ask).await,
            Line::Inside(_) => {
                let reason = "it can be asked by code outside of entities only".to_owned();
                Err(Error::Malformed { verb: "explain".to_owned(), reason })
            }
            Line::Body => Err(in_a_body()),
        }
    }
}

fn in_a_body() -> Error {
    let reason = "the body of a workflow calls by its flow: write `flow.call(..)`".to_owned();
    Error::Malformed { verb: "call".to_owned(), reason }
}

/// A call at the other end of a passage, made twice if the passage repeats calls.
async fn called_through(passage: Arc<dyn Passage>, call: runtime::Call) -> Result<Bytes, Error> {
    let call = passage.prepare(call);
    let ask = |kernel: Kernel| {
        let call = call.clone();
        async move { kernel.call(call).await }
    };
    let answer = carried(&*passage, ask).await;
    if answer.is_ok() && passage.repeats() { carried(&*passage, ask).await } else { answer }
}

/// What comes of asking the kernel at the other end of a passage; asked again if it died of something else than the caller.
async fn carried<T: Send + 'static, F>(passage: &dyn Passage, ask: impl Fn(Kernel) -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    loop {
        let lives = passage.lives();
        let answer = carried_once(passage, ask(passage.kernel()?)).await;
        let was_lost = matches!(answer, Err(Error::Closing | Error::Unknown { .. } | Error::NotOwner { .. }));
        if !was_lost || lives == passage.lives() {
            return answer;
        }
    }
}

async fn carried_once<T: Send + 'static, F>(passage: &dyn Passage, asked: F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    let answer = Arc::new(Mutex::new(None));
    let into = answer.clone();
    let carrying = passage.carry(Box::pin(async move {
        let value = asked.await;
        *into.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }));
    carrying.await;
    let value = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
    value.unwrap_or(Err(Error::Closing))
}

impl fmt::Debug for Desk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.line {
            Line::Outside(_) => "Desk(outside)",
            Line::Through(_) => "Desk(of a test)",
            Line::Inside(_) => "Desk(in an entity's code)",
            Line::Body => "Desk(in the body of a workflow)",
        })
    }
}

/// One key of one definition, and where to call it.
#[derive(Clone)]
pub struct Address {
    desk: Desk,
    definition: Name,
    key: Bytes,
}

impl Address {
    /// The definition's name.
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The key with its space; an error if it is empty or too long (K3).
    pub fn full_key(&self) -> Result<Key, Error> {
        Key::new(space_of(&self.definition, self.desk.is_shared), self.key.clone())
    }

    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// A call of a verb that answers with `T` or refuses with `E`.
    pub fn call<T: Stored, E: Stored>(&self, verb: &'static str, args: Args) -> Call<T, E> {
        Call::new(self, verb, args, decode::<T>, decode::<E>)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}({})", self.definition, self.key.escape_ascii())
    }
}

/// How long whoever waits for a result waits, unless a deadline is said: longer than any program runs.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// A call: await it, or say first how long to wait and how to recognise a repeat.
///
/// ```no_run
/// # use drystone::{Call, CallError, Never, d};
/// # async fn show(call: Call<u32>) -> Result<(), CallError<Never>> {
/// let count = call.idempotency_key("order-9").deadline(d!("5s")).await?;
/// # Ok(()) }
/// ```
#[must_use = "a call does nothing until it is awaited"]
pub struct Call<T, E = Never> {
    address: Address,
    verb: &'static str,
    /// What is asked, or why it cannot be written.
    body: Result<Bytes, String>,
    once: Option<Bytes>,
    deadline: Option<Duration>,
    read: fn(&[u8]) -> Result<T, String>,
    thrown: fn(&[u8]) -> Result<E, String>,
}

impl<T, E> Call<T, E> {
    /// A call of `verb` at `address`, with the functions that read its answer and its error.
    pub fn new(
        address: &Address,
        verb: &'static str,
        args: Args,
        read: fn(&[u8]) -> Result<T, String>,
        thrown: fn(&[u8]) -> Result<E, String>,
    ) -> Self {
        let (address, body) = (address.clone(), args.finish());
        Self { address, verb, body, once: None, deadline: None, read, thrown }
    }

    /// Asked again with the same key, it is answered as it was the first time, and done once (E12). Not for a call that the body of a
    /// workflow makes: that is done once without it.
    pub fn idempotency_key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.once = Some(Bytes::copy_from_slice(key.as_ref()));
        self
    }

    /// Waits at most so long: 30 seconds unless said. Not for a call that the body of a workflow makes: there it is
    /// `flow.call(..).within("5s")`.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// A call whose parameters cannot be written: whoever makes it learns why.
    pub(crate) fn unwritable(address: &Address, verb: &'static str, reason: String) -> Self
    where
        T: Stored,
        E: Stored,
    {
        Self { body: Err(reason), ..address.call(verb, Args::new()) }
    }

    /// What is asked, and how its answer is read: for a body, which asks otherwise than by awaiting, and says so where it would not
    /// be heard.
    pub(crate) fn asked(self) -> Asked<T, E> {
        let Self { address: Address { definition, key, .. }, verb, body, once, deadline, read, thrown } = self;
        // For ever is how long a body waits anyway.
        let unheard = match (once, deadline.filter(|deadline| *deadline < FOR_EVER)) {
            (Some(_), _) => Some("`.idempotency_key(..)`: a body's call is made once without it; leave it out"),
            (_, Some(_)) => Some("`.deadline(..)`: write `.within(\"5s\")` behind what the flow gives"),
            (None, None) => None,
        };
        let body = unheard.map_or(body, |what| Err(format!("in the body of a workflow `{verb}` does not hear {what}")));
        Asked { definition, key, verb, body, read, thrown }
    }

    /// The same with another verb.
    pub(crate) fn asking(self, verb: &'static str) -> Self {
        Self { verb, ..self }
    }

    /// The call as a message, to be sent with a commit; or why it cannot be.
    pub(crate) fn into_message(self) -> Result<Message, Error> {
        let body = self.body.map_err(|reason| malformed(self.verb, reason))?;
        let to = self.address.full_key()?;
        Ok(Message { to, definition: self.address.definition, verb: Name::new(self.verb), body })
    }
}

/// A call taken apart.
pub(crate) struct Asked<T, E> {
    pub(crate) definition: Name,
    pub(crate) key: Bytes,
    pub(crate) verb: &'static str,
    pub(crate) body: Result<Bytes, String>,
    pub(crate) read: fn(&[u8]) -> Result<T, String>,
    pub(crate) thrown: fn(&[u8]) -> Result<E, String>,
}

impl<T, E> IntoFuture for Call<T, E> {
    type Output = Result<T, CallError<E>>;
    type IntoFuture = Calling<T, E>;

    fn into_future(self) -> Calling<T, E> {
        let Self { address, verb, body, once, deadline, read, thrown } = self;
        let Address { desk, definition, key } = address;
        let answer: Answer = match body {
            Err(reason) => Box::pin(async move { Err(malformed(verb, reason)) }),
            Ok(body) => {
                let call = runtime::Call::new(definition, key, verb, body);
                let call = match once {
                    Some(once) => call.once(once),
                    None => call,
                };
                desk.call(match deadline {
                    Some(deadline) => call.deadline(deadline),
                    None => call,
                })
            }
        };
        Calling { answer, verb, read, thrown }
    }
}

fn malformed(verb: &str, reason: String) -> Error {
    Error::Malformed { verb: verb.to_owned(), reason }
}

impl<T, E> fmt::Debug for Call<T, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Call({} of {:?})", self.verb, self.address)
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Bytes, Error>> + Send>>;

/// A call under way. Dropping it leaves; a call that has begun may still take effect.
#[must_use = "futures do nothing unless polled"]
pub struct Calling<T, E> {
    answer: Answer,
    verb: &'static str,
    read: fn(&[u8]) -> Result<T, String>,
    thrown: fn(&[u8]) -> Result<E, String>,
}

impl<T, E> Future for Calling<T, E> {
    type Output = Result<T, CallError<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.answer.as_mut().poll(context).map(|answer| {
            let unreadable = |reason| malformed(self.verb, format!("its answer cannot be read: {reason}"));
            match answer {
                Ok(bytes) => (self.read)(&bytes).map_err(|reason| CallError::Fault(unreadable(reason))),
                Err(Error::Failed(bytes) | Error::Declined(bytes)) => Err(match (self.thrown)(&bytes) {
                    Ok(error) => CallError::Failed(error),
                    Err(reason) => CallError::Fault(unreadable(reason)),
                }),
                Err(error) => Err(CallError::Fault(error)),
            }
        })
    }
}

impl<T, E> fmt::Debug for Calling<T, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Calling({})", self.verb)
    }
}

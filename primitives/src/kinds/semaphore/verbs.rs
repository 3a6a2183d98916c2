//! The verbs of a semaphore.

use std::{fmt, marker::PhantomData, pin::Pin, time::Duration};

use drystone_runtime as runtime;

use super::{
    Options, Permit, Stats,
    permit::{AcquireError, Granted, Refused},
};
use crate::{Address, Args, CallError, Error, Never, OfKind, decode};

crate::verbs! {
    /// The verbs of a semaphore, beside those of every entity.
    pub struct Verbs;
}

impl<T: OfKind<Kind = Options>, I> Verbs<T, I> {
    /// Waits in line for a permit. The first caller is served first, whatever the others ask for. Await it,
    /// or first set the weight and the timeout. Binds the key (E1).
    pub fn acquire(&self) -> Acquire {
        Acquire { asking: Asking::new(self.address(), "acquire") }
    }

    /// Takes a permit if one is free and no caller waits; otherwise returns `None` at once. Binds the key
    /// (E1).
    pub fn try_acquire(&self) -> TryAcquire {
        TryAcquire { asking: Asking::new(self.address(), "try_acquire") }
    }

    /// Returns the holders of permits and the waiting callers at this moment.
    pub async fn stats(&self) -> Result<Stats, Error> {
        let call = self.address().call::<Stats, Never>("stats", Args::new());
        match call.await {
            Err(CallError::Fault(Error::NotBound { .. })) => {
                Ok(Stats { permits: T::kind().permits, ..Stats::default() })
            }
            answer => Ok(answer?),
        }
    }
}

/// A request for a permit that waits in line: await it, or first set its weight and its timeout.
#[must_use = "nobody stands in line until it is awaited"]
#[derive(Debug)]
pub struct Acquire {
    asking: Asking,
}

/// A request for a permit that does not wait: await it, or first set its weight.
#[must_use = "nothing is asked for until it is awaited"]
#[derive(Debug)]
pub struct TryAcquire {
    asking: Asking,
}

impl Acquire {
    /// Sets the weight of the permit; the default is 1. More than the weight of all permits together is
    /// refused (S1).
    pub fn weight(mut self, weight: u64) -> Self {
        self.asking.weight = weight;
        self
    }

    /// Returns the semaphore and the weight, for a run, which does not await this request. A timeout is an
    /// error there.
    pub(crate) fn asked(self) -> (Address, Result<u64, String>) {
        let Asking { address, weight, timeout, .. } = self.asking;
        let weight = match timeout {
            None => Ok(weight),
            Some(_) => {
                Err("a run waits for its permit as long as it likes, and `.timeout(..)` would not be heard: write \
                 `flow.permit(..).within(\"5s\")`"
                    .to_owned())
            }
        };
        (address, weight)
    }

    /// Sets how long to wait at most before leaving the line; the default is 30 seconds. Not for
    /// [`Flow::permit`](crate::Flow::permit): write `flow.permit(..).within("5s")` there.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.asking.timeout = Some(timeout);
        self
    }
}

impl TryAcquire {
    /// Sets the weight of the permit; the default is 1. More than the weight of all permits together is
    /// refused (S1).
    pub fn weight(mut self, weight: u64) -> Self {
        self.asking.weight = weight;
        self
    }
}

impl IntoFuture for Acquire {
    type Output = Result<Permit, AcquireError>;
    type IntoFuture = Acquiring<Permit>;

    fn into_future(self) -> Acquiring<Permit> {
        Acquiring::new(async move {
            let permit = self.asking.ask().await?;
            permit.ok_or_else(|| AcquireError::Fault(unreadable("it waits, and says that there is none".to_owned())))
        })
    }
}

impl IntoFuture for TryAcquire {
    type Output = Result<Option<Permit>, AcquireError>;
    type IntoFuture = Acquiring<Option<Permit>>;

    fn into_future(self) -> Acquiring<Option<Permit>> {
        Acquiring::new(self.asking.ask())
    }
}

/// A request for a permit in flight. Dropping it leaves the line; a permit that was given meanwhile comes
/// back.
#[must_use = "futures do nothing unless polled"]
pub struct Acquiring<T> {
    asked: Pin<Box<dyn Future<Output = Result<T, AcquireError>> + Send>>,
    given: PhantomData<fn() -> T>,
}

impl<T> Acquiring<T> {
    fn new(asked: impl Future<Output = Result<T, AcquireError>> + Send + 'static) -> Self {
        Self { asked: Box::pin(asked), given: PhantomData }
    }
}

impl<T> Future for Acquiring<T> {
    type Output = Result<T, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        self.asked.as_mut().poll(context)
    }
}

impl<T> fmt::Debug for Acquiring<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Acquiring")
    }
}

/// The common part of both requests.
#[derive(Debug)]
struct Asking {
    address: Address,
    verb: &'static str,
    weight: u64,
    timeout: Option<Duration>,
}

impl Asking {
    fn new(address: &Address, verb: &'static str) -> Self {
        Self { address: address.clone(), verb, weight: 1, timeout: None }
    }

    async fn ask(self) -> Result<Option<Permit>, AcquireError> {
        let Self { address, verb, weight, timeout } = self;
        let body = Args::new().put(&weight).finish().map_err(unreadable)?;
        let call = runtime::Call::new(address.definition().to_owned(), address.key().to_vec(), verb, body);
        let call = match timeout {
            Some(timeout) => call.deadline(timeout),
            None => call,
        };
        let desk = address.desk().clone();
        let given = desk.call_then(call, move |answer, weak_kernel| {
            let granted: Option<Granted> = decode(&answer).map_err(unreadable)?;
            Ok(granted.map(|granted| Permit::new(address, granted, weak_kernel)))
        });
        given.await.map_err(refused)
    }
}

fn refused(error: Error) -> AcquireError {
    match error {
        Error::Deadline { .. } => AcquireError::TimedOut,
        Error::Failed(bytes) | Error::Declined(bytes) => match decode::<Refused>(&bytes) {
            Ok(refused) => refused.into(),
            Err(reason) => AcquireError::Fault(unreadable(reason)),
        },
        error => AcquireError::Fault(error),
    }
}

/// Returns why a run got no permit, as a text, and whether it may get one later.
pub(crate) fn refusal(error: &bytes::Bytes) -> (String, bool) {
    let refused = refused(Error::Failed(error.clone()));
    (refused.to_string(), matches!(refused, AcquireError::Crowded { .. }))
}

fn unreadable(reason: String) -> Error {
    Error::Malformed { verb: "acquire".to_owned(), reason }
}

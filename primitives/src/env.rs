//! The environment of an author's code.

use std::{any::type_name, fmt, marker::PhantomData, sync::Arc};

use crate::{Call, Context, Desk, PartOf, Primitive, Provide, Stored, context::Outbox, workflow::Heartbeat};

/// The environment of author code: services, context, and the clients of the app's other primitives.
pub struct Env<D, A> {
    services: Arc<D>,
    context: Context,
    app: PhantomData<fn() -> A>,
}

impl<D, A> Env<D, A> {
    pub(crate) fn new(services: Arc<D>, context: Context) -> Self {
        Self { services, context, app: PhantomData }
    }

    /// Returns the service of a type.
    pub fn service<T: ?Sized>(&self) -> &T
    where
        D: Provide<T>,
    {
        self.services.provide()
    }

    /// Returns the context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the heartbeat of a step.
    pub fn heartbeat<T: Stored>(&self) -> Heartbeat<T> {
        Heartbeat::of(&self.context)
    }

    /// Returns the client of another primitive of the app.
    pub fn client<T: PartOf<A> + Primitive>(&self) -> Client<T> {
        Client { outbox: self.context.outbox(), desk: self.context.desk(), name: T::NAME, primitive: PhantomData }
    }
}

impl<D, A> fmt::Debug for Env<D, A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Env").field("services", &type_name::<D>()).field("context", &self.context).finish()
    }
}

/// The client of another primitive, in an entity's code: take it as a parameter,
/// `contacts: &Client<ContactSync>`.
///
/// `contacts.get("org-456").add(contact).await` calls and waits. The call carries the chain of entities that
/// wait for this one, and a call cycle is refused (M3).
/// `contacts.send(contacts.get("org-456").add(contact))` does not wait: the message is part of this code's
/// commit, and is delivered exactly once if the code succeeds (M1).
///
/// The body of a workflow takes a client, too: `flow.call(contacts.get("org-456").add(contact)).await` is
/// executed once, whatever happens to the process meanwhile (M5).
pub struct Client<T> {
    outbox: Outbox,
    desk: Desk,
    name: &'static str,
    primitive: PhantomData<fn() -> T>,
}

impl<T: Primitive> Client<T> {
    /// The client in a workflow body. Its name is only a placeholder, because the engine knows the name that
    /// the primitive has in the app.
    pub(crate) fn in_body() -> Self {
        Self { outbox: Outbox::default(), desk: Desk::body(), name: type_name::<T>(), primitive: PhantomData }
    }

    /// The client in the code of a transaction. The messages that it sends are part of the transaction.
    pub(crate) fn in_transaction(outbox: Outbox, desk: Desk, name: &'static str) -> Self {
        Self { outbox, desk, name, primitive: PhantomData }
    }

    /// Returns the handle of one key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> T::Handle {
        T::handle(self.desk.address(self.name, key))
    }

    /// Sends the call as a message, with the commit of this code's success. The answer is dropped.
    ///
    /// # Panics
    /// In the body of a workflow, which has no commit of its own: write `flow.call(..)` there.
    pub fn send<V, E>(&self, call: Call<V, E>) {
        assert!(!self.desk.is_body(), "the body of a workflow sends by its flow: write `flow.call(..)`");
        self.outbox.send(call);
    }
}

impl<T> fmt::Debug for Client<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Client({})", self.name)
    }
}

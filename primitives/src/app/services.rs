//! Services: the values that an app provides to its primitives' code, by type.

use std::pin::Pin;

/// A boxed future: the return type of an async method in a trait that is taken as `&dyn Trait`.
///
/// ```
/// use drystone::{BoxFuture, Failure, Services};
///
/// trait Billing: Send + Sync {
///     fn charge<'a>(&'a self, customer: &'a str) -> BoxFuture<'a, Result<(), Failure>>;
/// }
///
/// /// The double of a test.
/// struct NoMoney;
///
/// impl Billing for NoMoney {
///     fn charge<'a>(&'a self, customer: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
///         Box::pin(async move { Err(format!("{customer} has no money").into()) })
///     }
/// }
///
/// #[derive(Services)]
/// struct Deps {
///     billing: Box<dyn Billing>,
/// }
/// ```
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A provider of a `T`: the struct with `#[derive(Services)]`.
#[diagnostic::on_unimplemented(
    message = "the services `{Self}` do not provide `{T}`",
    label = "`{T}` is not among the services",
    note = "hand in a struct with `#[derive(Services)]` that has a field of that type (of a trait: `Box<dyn Trait>` or `Arc<dyn Trait>`): `.services(..)`"
)]
pub trait Provide<T: ?Sized> {
    /// Returns the service.
    fn provide(&self) -> &T;
}

/// The type itself: `&Same<dyn Mail>` is `&(dyn Mail + 'static)`, while `&dyn Mail` would take the lifetime
/// of the reference.
#[doc(hidden)]
pub type Same<T> = T;

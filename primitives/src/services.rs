//! Services: what an app provides to its primitives' code, by type.

use std::pin::Pin;

/// A boxed future: what an async method of a trait gives that is taken as `&dyn Trait`.
///
/// ```
/// use drystone::{BoxFuture, Failure, Services};
///
/// trait Billing: Send + Sync {
///     fn charge<'a>(&'a self, customer: &'a str) -> BoxFuture<'a, Result<(), Failure>>;
/// }
///
/// /// What a test puts in its place.
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

/// Whoever provides a `T`: the struct with `#[derive(Services)]`.
#[diagnostic::on_unimplemented(
    message = "the services `{Self}` do not provide `{T}`",
    label = "`{T}` is not among the services",
    note = "hand in a struct with `#[derive(Services)]` that has a field of that type (of a trait: `Box<dyn Trait>` or `Arc<dyn Trait>`): `.services(..)`"
)]
pub trait Provide<T: ?Sized> {
    /// The service.
    fn provide(&self) -> &T;
}

/// The same type: `&Same<dyn Mail>` is `&(dyn Mail + 'static)`, where `&dyn Mail` would take the lifetime of the
/// reference.
#[doc(hidden)]
pub type Same<T> = T;

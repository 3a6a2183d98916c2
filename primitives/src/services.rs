//! Services: what an app provides to its primitives' code, by type.

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

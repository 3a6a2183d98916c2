//! The handle that callers of a kind hold, apart from the verbs themselves.

/// Makes the `Verbs` of a kind: a handle that is made from a [`Handle`](crate::Handle) and dereferences to
/// it. `T` is the author's struct, and `I` is the input of its hook. The kind adds its verbs in an `impl`
/// block.
///
/// ```
/// drystone::verbs! {
///     /// The verbs of a debounced entity.
///     pub struct Verbs;
/// }
///
/// impl<T: drystone::Primitive, I> Verbs<T, I> {
///     /// Puts off the hook by the quiet time.
///     pub fn touch(&self) -> drystone::Call<()> {
///         self.address().call("touch", drystone::author::Args::new())
///     }
/// }
/// ```
#[macro_export]
macro_rules! verbs {
    ($(#[$attribute:meta])* $visible:vis struct $name:ident;) => {
        $(#[$attribute])*
        $visible struct $name<T, I = ()>($crate::Handle<T>, ::core::marker::PhantomData<fn() -> I>);

        impl<T: $crate::Primitive, I> ::core::convert::From<$crate::Handle<T>> for $name<T, I> {
            fn from(handle: $crate::Handle<T>) -> Self {
                Self(handle, ::core::marker::PhantomData)
            }
        }

        impl<T, I> ::core::ops::Deref for $name<T, I> {
            type Target = $crate::Handle<T>;

            fn deref(&self) -> &$crate::Handle<T> {
                &self.0
            }
        }

        impl<T, I> ::core::fmt::Debug for $name<T, I> {
            fn fmt(&self, out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Debug::fmt(&self.0, out)
            }
        }
    };
}

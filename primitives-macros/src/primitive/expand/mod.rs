//! The code that is generated for a model.

pub(crate) mod calls;
pub(crate) mod definition;
pub(crate) mod handle;
pub(crate) mod runs;
pub(crate) mod wards;

use proc_macro2::TokenStream;
use quote::quote;

use super::model::Model;

/// Generates everything that stands beside the author's own block.
pub(crate) fn expand(model: &Model) -> TokenStream {
    let wards = wards::wards(model);
    let definition = definition::definition(model);
    let runs = runs::runs(model);
    let handle = handle::handle(model);
    quote!(#wards #definition #runs #handle)
}

/// Allows all lints in generated code. The author's lint settings are meant for the author's code.
pub(crate) fn lenient() -> TokenStream {
    quote! {
        #[allow(
            dead_code,
            deprecated,
            private_interfaces,
            unreachable_code,
            unreachable_pub,
            unused_imports,
            unused_qualifications,
            unused_variables,
            clippy::all,
            clippy::pedantic,
            clippy::nursery,
            clippy::restriction
        )]
    }
}

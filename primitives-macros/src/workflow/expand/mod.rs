//! The code that a model stands for.

mod flows;
mod handle;
mod restart;
mod script;
mod steps;
mod transactions;
mod wards;

use proc_macro2::TokenStream;
use quote::quote;

use super::model::Model;

/// Everything that is made beside the author's own block.
pub(super) fn expand(model: &Model) -> TokenStream {
    let (wards, steps, script) = (wards::wards(model), steps::steps(model), script::script(model));
    let (flows, handle, places) = (flows::flows(model), handle::handle(model), restart::places(model));
    quote!(#wards #steps #script #flows #handle #places)
}

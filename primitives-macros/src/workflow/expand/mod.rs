//! The code that is generated for a model.

mod flows;
mod handle;
mod restart;
mod script;
mod steps;
mod transactions;
mod undos;
mod updates;
mod wards;

use proc_macro2::TokenStream;
use quote::quote;

use super::model::Model;

/// Generates everything that stands beside the author's own block.
pub(super) fn expand(model: &Model) -> TokenStream {
    let (wards, steps, script) = (wards::wards(model), steps::steps(model), script::script(model));
    let (flows, handle) = (flows::flows(model), handle::handle(model));
    let (places, undos) = (restart::places(model), undos::undos(model));
    quote!(#wards #steps #script #flows #handle #places #undos)
}

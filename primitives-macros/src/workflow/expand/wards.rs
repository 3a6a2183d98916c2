//! Constants that assert at compile time what the macro cannot see: types behind an alias, and reserved
//! names that its own lists lack.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::{
    primitive::{expand::wards::plain_value, lenient},
    syntax::{function::Function, returns::Returns, types},
    workflow::model::Model,
};

pub(super) fn wards(model: &Model) -> TokenStream {
    let flow_methods = quote!(::drystone::workflow::FLOW_METHODS);
    let run_verbs = quote!(::drystone::workflow::RUN_VERBS);
    let runs = model.run.iter().map(|run| ward(&run.function, &run.returns, None));
    let steps = model.steps.iter().map(|step| ward(&step.function, &step.returns, Some(&flow_methods)));
    let queries = model.queries.iter().map(|query| ward(&query.function, &query.returns, Some(&run_verbs)));
    let updates = model.updates.iter().map(|update| ward(&update.function, &update.returns, Some(&run_verbs)));
    quote!(#(#runs)* #(#steps)* #(#queries)* #(#updates)*)
}

fn ward(function: &Function, returns: &Returns, reserved: Option<&TokenStream>) -> TokenStream {
    let (cfgs, lenient, at) = (&function.cfgs, lenient(), function.name.span());
    let text = types::plain(&function.name);
    let is_free = reserved.map(|names| {
        let names = types::located(names.clone(), at);
        quote_spanned!(at=> ::drystone::author::not_a_verb(#names, #text);)
    });
    let is_plain = match returns {
        Returns::Plain(ty) if !types::is_unit(ty) => Some(plain_value(ty)),
        _ => None,
    };
    quote! {
        #(#cfgs)* #lenient const _: () = { #is_free #is_plain };
    }
}

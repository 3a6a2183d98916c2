//! Constants that assert at compile time what the macro cannot see: types behind an alias, and kinds from
//! other crates.
//!
//! They are items, because a constant inside a function that is never called is not evaluated.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use super::lenient;
use crate::{
    primitive::model::{Action, Apply, Create, Hook, Model, Reduce},
    syntax::{function::Function, returns::Returns, types},
};

pub(super) fn wards(model: &Model) -> TokenStream {
    let actions = model.actions.iter().map(|action| of_action(model, action));
    let creates = model.creates.iter().map(|create| of_create(model, create));
    let meetings = meetings(model);
    quote!(#(#actions)* #(#creates)* #(#meetings)*)
}

fn of_action(model: &Model, action: &Action) -> TokenStream {
    let (cfgs, lenient, is_no_verb) = (&action.function.cfgs, lenient(), is_no_verb(model, &action.function));
    let is_plain = match &action.returns {
        Returns::Plain(ty) if !types::is_unit(ty) => Some(plain_value(ty)),
        _ => None,
    };
    quote! {
        #(#cfgs)* #lenient const _: () = { #is_no_verb #is_plain };
    }
}

fn of_create(model: &Model, create: &Create) -> TokenStream {
    let (cfgs, lenient, is_no_verb) = (&create.function.cfgs, lenient(), is_no_verb(model, &create.function));
    quote! {
        #(#cfgs)* #lenient const _: () = { #is_no_verb };
    }
}

/// Asserts that a function does not have the name of a verb, because it would hide the verb.
fn is_no_verb(model: &Model, function: &Function) -> TokenStream {
    let (at, text) = (function.name.span(), types::plain(&function.name));
    let module = types::located(model.kind.module(at), at);
    quote_spanned! {at=>
        ::drystone::author::not_a_verb(::drystone::author::COMMON_VERBS, #text);
        ::drystone::author::not_a_verb(<#module::Options as ::drystone::kind::Kind>::VERBS, #text);
    }
}

/// Asserts that a type is not a `Result` behind another name, because an error would be stored as a success.
pub(crate) fn plain_value(ty: &syn::Type) -> TokenStream {
    quote_spanned! {types::end_of(ty)=>
        {
            use ::drystone::author::Fallback as _;
            ::core::assert!(
                !::drystone::author::Probe::<#ty>::IS_RESULT,
                "this alias is a `Result`: give it a name that ends in `Result`, or write `Result<T, E>`"
            );
        }
    }
}

/// Asserts that `#[reduce]` and `#[flush]` agree on the total, and a hook and `#[apply]` on the value.
fn meetings(model: &Model) -> Vec<TokenStream> {
    let mut meetings = Vec::new();
    let lenient = lenient();
    if let (Some(Reduce { total, .. }), Some(Hook { input: Some(input), .. })) =
        (model.reduce.first(), model.hooks.first())
    {
        meetings.push(quote_spanned!(types::end_of(input)=> ::drystone::author::folded::<#input, #total>()));
    }
    if let Some(Apply { value: taken, .. }) = model.apply.first() {
        let values = model.hooks.iter().filter_map(|hook| hook.value.as_ref());
        let meet = |value| quote_spanned!(types::end_of(value)=> ::drystone::author::applied::<#value, #taken>());
        meetings.extend(values.map(meet));
    }
    meetings.into_iter().map(|meeting| quote!(#lenient const _: fn() = || #meeting;)).collect()
}

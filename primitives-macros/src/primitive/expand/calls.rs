//! Generated code that names a type of the author's. It names each type in the same way everywhere: then the
//! compiler finds equal errors for a wrong type, and shows them once.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Type;

use crate::{
    primitive::model::{Hook, Model},
    syntax::{function::Function, parameter::Parameter, returns::Returns, types},
};

/// The codec of a value.
pub(crate) fn stored(ty: &impl ToTokens) -> TokenStream {
    quote_spanned!(types::end_of(ty)=> ::drystone::author::stored::<#ty>())
}

/// The codec of an error.
pub(crate) fn stored_error(ty: &impl ToTokens) -> TokenStream {
    quote_spanned!(types::end_of(ty)=> ::drystone::author::stored_error::<#ty>())
}

/// The conversion of a hook's input.
pub(super) fn taken(model: &Model, hook: &Hook) -> TokenStream {
    let (word, input) = (&hook.word, &hook.input);
    let at = input.as_ref().map_or_else(|| hook.function.name.span(), types::end_of);
    let module = model.kind.module(word.span());
    let input = input.as_ref().map_or_else(|| quote_spanned!(at=> ()), ToTokens::to_token_stream);
    quote_spanned!(at=> ::drystone::author::taken::<#input, #module::#word>())
}

/// Calls the author's function with `inputs` and what the app lends it, and awaits it.
pub(super) fn call(struct_: &Type, function: &Function, has_self: bool, inputs: &[TokenStream]) -> TokenStream {
    let (name, env) = (&function.name, types::local("env"));
    let mut inputs = inputs.iter();
    let lent = function.parameters.iter().map(|parameter| match parameter {
        Parameter::Input { .. } => inputs.next().cloned().unwrap_or_default(),
        Parameter::Service(service) => quote!(#env.service::<::drystone::author::Same<#service>>()),
        Parameter::Context => quote!(#env.context()),
        Parameter::Client(primitive) => quote!(&#env.client::<#primitive>()),
        Parameter::Heartbeat(progress) => {
            let beat = quote_spanned!(types::end_of(progress)=> heartbeat::<#progress>);
            quote!(&#env.#beat())
        }
    });
    let state = has_self.then(|| quote!(self,));
    let arguments = quote!(#state #(#lent),*);
    let at = name.span();
    let struct_ = types::located(struct_.to_token_stream(), at);
    quote_spanned!(at=> ::drystone::author::sendable(<#struct_>::#name(#arguments)).await)
}

/// Calls the author's function with `inputs`, the clients that it takes, and its transaction at index
/// `place`.
pub(crate) fn transacted(
    struct_: &Type,
    function: &Function,
    place: usize,
    has_self: bool,
    inputs: &[TokenStream],
) -> TokenStream {
    let (name, app, mut inputs) = (&function.name, types::local("A"), inputs.iter());
    let mut clients = Vec::new();
    let lent = function.parameters.iter().map(|parameter| match parameter {
        Parameter::Client(primitive) => {
            let client = types::local(&format!("client_{}", clients.len()));
            clients.push(quote!(let #client = __sql.client::<#primitive, #app>();));
            quote!(&#client)
        }
        _ => inputs.next().cloned().unwrap_or_default(),
    });
    let mut given: Vec<TokenStream> = lent.collect();
    given.insert(place, quote!(__sql));
    let (state, at) = (has_self.then(|| quote!(self,)), name.span());
    let struct_ = types::located(struct_.to_token_stream(), at);
    let called = quote_spanned!(at=> <#struct_>::#name(#state #(#given),*));
    quote!({ #(#clients)* #called })
}

/// The success and error types of an action, for the type of a call.
pub(crate) fn outcome(returns: &Returns) -> (TokenStream, TokenStream) {
    match returns {
        Returns::Plain(ty) => (ty.to_token_stream(), quote!(::drystone::Never)),
        Returns::Fallible(fallible) => (fallible.ok.clone(), fallible.error.clone()),
    }
}

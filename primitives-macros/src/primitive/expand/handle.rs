//! The handle that callers hold: the verbs of the kind, and the author's actions as methods.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

use super::{calls, lenient};
use crate::{
    primitive::model::{Action, Create, Model},
    syntax::{function::Function, types},
};

/// The name of the handle: `CartHandle`.
pub(super) fn name(model: &Model) -> Ident {
    format_ident!("{}Handle", model.name)
}

/// Generates the handle. It is `pub` and generic whatever the visibility of the struct, which an attribute
/// on an `impl` block cannot see. A private type may be an argument of a public generic type.
pub(super) fn handle(model: &Model) -> TokenStream {
    let (struct_, name, lenient) = (&model.struct_, self::name(model), lenient());
    let module = model.kind.module(Span::call_site());
    let item = model.item().unwrap_or_else(|| quote!(()));
    let methods = model.actions.iter().map(of_action).chain(model.creates.iter().map(of_create));
    let doc = format!("A key of [`{}`]: the verbs of its kind, and its own actions.", model.name);
    let text = name.to_string();
    quote! {
        #[doc = #doc]
        #lenient
        pub struct #name<__T = #struct_, __I = #item>(#module::Verbs<__T, __I>);

        #[automatically_derived]
        #lenient
        impl<__T, __I> ::core::ops::Deref for #name<__T, __I> {
            type Target = #module::Verbs<__T, __I>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        #[automatically_derived]
        #lenient
        impl<__T, __I> ::core::fmt::Debug for #name<__T, __I> {
            fn fmt(&self, __out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                __out.debug_struct(#text).finish_non_exhaustive()
            }
        }

        #lenient
        impl #name<#struct_, #item> {
            #(#methods)*
        }
    }
}

fn of_action(action: &Action) -> TokenStream {
    method(&action.function, calls::outcome(&action.returns))
}

/// The state that a constructor makes stays in the entity. The caller gets `Started`, the outcome of the
/// call.
fn of_create(create: &Create) -> TokenStream {
    let (_, error) = calls::outcome(&create.returns);
    method(&create.function, (quote!(::drystone::Started), error))
}

pub(crate) fn method(function: &Function, (ok, error): (TokenStream, TokenStream)) -> TokenStream {
    let (name, cfgs, deprecated) = (&function.name, &function.cfgs, &function.deprecated);
    let text = types::plain(name);
    let docs = docs(function, &format!("Calls `{text}`."));
    let (names, types): (Vec<_>, Vec<_>) = function.inputs().unzip();
    let codecs = types.iter().map(|ty| calls::stored(*ty));
    let (read, thrown) = (calls::stored(&ok), calls::stored_error(&error));
    quote! {
        #docs #(#cfgs)* #(#deprecated)*
        pub fn #name(&self, #(#names: #types),*) -> ::drystone::Call<#ok, #error> {
            ::drystone::Call::new(
                self.address(),
                #text,
                ::drystone::author::Args::new()#(.with(#codecs, &#names))*,
                #read.reader(),
                #thrown.reader(),
            )
        }
    }
}

/// The author's docs of a function, or `else_` if there are none.
pub(crate) fn docs(function: &Function, else_: &str) -> TokenStream {
    let docs = &function.docs;
    if docs.is_empty() { quote!(#[doc = #else_]) } else { quote!(#(#docs)*) }
}

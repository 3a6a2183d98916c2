//! Generates the undo of each step, and the check that the undo takes what the engine gives it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};

use super::steps;
use crate::{
    primitive::{expand::calls, lenient},
    syntax::types,
    workflow::{
        model::{Model, Step},
        undo::{Takes, undo_of},
    },
};

/// The undo of a step, as the engine gets it.
pub(super) fn code(model: &Model, step: &Step) -> TokenStream {
    let Some((undo, takes)) = undo_of(model, step) else { return quote!(::core::option::Option::None) };
    let (name, of) = (types::plain(&undo.function.name), quote!(::drystone::workflow::UndoTakes));
    let takes = match takes {
        Takes::Output => quote!(#of::Output),
        Takes::Input => quote!(#of::Input),
    };
    quote!(::core::option::Option::Some(::drystone::workflow::UndoCode { step: #name, takes: #takes }))
}

/// Generates one function per undo that is never called. If the types do not fit, the error is shown at the
/// name of the undo in the attribute.
pub(super) fn undos(model: &Model) -> TokenStream {
    let checks = model.steps.iter().filter_map(|step| check(model, step));
    quote!(#(#checks)*)
}

fn check(model: &Model, step: &Step) -> Option<TokenStream> {
    let (undo, takes) = undo_of(model, step)?;
    let (written, cfgs, lenient) = (step.undo.as_ref()?, &step.function.cfgs, lenient());
    let (at, steps, name) = (written.span(), steps::name(model), &undo.function.name);
    let name = types::located(quote!(#name), at);
    let (output, _) = calls::outcome(&step.returns);
    let inputs: Vec<_> = step.function.inputs().map(|(_, ty)| ty).collect();
    let names: Vec<_> = (0..inputs.len()).map(|index| format_ident!("__input_{index}")).collect();
    let given = match takes {
        Takes::Output => quote_spanned!(at=> __output()),
        Takes::Input => {
            let inputs = names.iter().map(|name| types::located(quote!(#name()), at));
            quote_spanned!(at=> #(#inputs,)* ::core::option::Option::Some(__output()))
        }
    };
    let called = quote_spanned!(at=> __steps.#name(#given));
    Some(quote! {
        #(#cfgs)*
        #lenient
        const _: () = {
            #[allow(dead_code, unused_variables)]
            fn __undo(__steps: &#steps, __output: fn() -> #output #(, #names: fn() -> #inputs)*) {
                ::core::mem::drop(#called);
            }
        };
    })
}

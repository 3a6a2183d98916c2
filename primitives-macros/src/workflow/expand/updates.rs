//! Generates `Workflow::update`, which runs the author's updates by name.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};

use crate::{
    primitive::expand::{calls, runs},
    syntax::types,
    workflow::model::{Model, Update},
};

/// The names of the updates, as elements of a list.
pub(super) fn names(model: &Model) -> impl Iterator<Item = TokenStream> {
    model.updates.iter().map(|update| {
        let (cfgs, name) = (&update.function.cfgs, types::plain(&update.function.name));
        quote!(#(#cfgs)* #name)
    })
}

/// Generates `Workflow::update`. `None` without updates.
pub(super) fn updates(model: &Model) -> Option<TokenStream> {
    if model.updates.is_empty() {
        return None;
    }
    let arms = model.updates.iter().map(|update| arm(model, update));
    Some(quote! {
        fn update(
            &mut self,
            __name: &str,
            __input: &[u8],
        ) -> ::core::result::Result<::drystone::author::Bytes, ::drystone::author::Thrown> {
            match __name {
                #(#arms)*
                _ => ::core::result::Result::Err(::drystone::author::Thrown::Unknown),
            }
        }
    })
}

fn arm(model: &Model, update: &Update) -> TokenStream {
    let function = &update.function;
    let (cfgs, text) = (&function.cfgs, types::plain(&function.name));
    let inputs: Vec<_> = function.inputs().map(|(_, ty)| calls::stored(ty)).collect();
    let names: Vec<_> = (0..inputs.len()).map(|index| types::local(&format!("input_{index}"))).collect();
    let (count, name, at) = (inputs.len(), &function.name, function.name.span());
    let struct_ = types::located(model.struct_.to_token_stream(), at);
    let called = quote_spanned!(at=> <#struct_>::#name(self #(, #names)*));
    let called = if update.is_async { quote!(::drystone::workflow::at_once(#called)?) } else { called };
    let (ended, answer) = (types::local("ended"), runs::answer(&update.returns));
    quote! {
        #(#cfgs)*
        #text => {
            #[allow(unused_mut)]
            let mut __params = ::drystone::author::Params::read(__input, #count)?;
            #(let #names = __params.take_with(#inputs)?;)*
            let #ended = #called;
            #answer
        }
    }
}

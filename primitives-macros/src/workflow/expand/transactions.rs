//! Generates `fn transact`, which runs the transactional steps by name.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::{
    primitive::expand::{calls, runs::recorded},
    syntax::types,
    workflow::model::{Model, Step},
};

/// Returns `None` without transactional steps.
pub(super) fn transact(model: &Model) -> Option<TokenStream> {
    let arms: Vec<TokenStream> = model.steps.iter().filter_map(|step| arm(model, step)).collect();
    if arms.is_empty() {
        return None;
    }
    Some(quote! {
        fn transact(
            __name: &str,
            __input: ::drystone::author::Bytes,
            __sql: &mut ::drystone::Transaction<'_>,
        ) -> ::core::result::Result<::drystone::author::Bytes, ::drystone::author::Thrown> {
            match __name {
                #(#arms)*
                _ => ::core::result::Result::Err(::drystone::author::Thrown::Unknown),
            }
        }
    })
}

fn arm(model: &Model, step: &Step) -> Option<TokenStream> {
    let (place, function) = (step.transaction?, &step.function);
    let (cfgs, name) = (&function.cfgs, &function.name);
    let inputs: Vec<_> = function.inputs().map(|(_, ty)| calls::stored(ty)).collect();
    let names: Vec<_> = (0..inputs.len()).map(|index| types::local(&format!("input_{index}"))).collect();
    let given: Vec<_> = names.iter().map(ToTokens::to_token_stream).collect();
    let (count, text) = (inputs.len(), types::plain(name));
    let (ended, answer) = (types::local("ended"), recorded(&step.returns));
    let called = calls::transacted(&model.struct_, function, place, false, &given);
    Some(quote! {
        #(#cfgs)*
        #text => {
            #[allow(unused_mut)]
            let mut __params = ::drystone::author::Params::read(&__input, #count)?;
            #(let #names = __params.take_with(#inputs)?;)*
            let #ended = #called;
            #answer
        }
    })
}

//! Updates, such as `fn set_address(&mut self, address: Address) -> Result<Old, AddressError>`: they change
//! the state that the body sees.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{ImplItemFn, Type};

use super::{
    model::Update,
    signature::{refuse_flow, typed},
};
use crate::syntax::{
    diagnostics::Mistakes,
    function::{Function, is_plain},
    parameter::{self, Parameter},
    returns::Returns,
};

const HELPER: &str = "a helper of your own goes into an `impl` block without `#[workflow]`";

pub(super) fn read(function: &ImplItemFn, struct_: &Type, mistakes: &mut Mistakes) -> Option<Update> {
    let (noun, signature) = ("an update", &function.sig);
    let is_plain = is_plain(noun, signature, mistakes);
    let waits = awaited(function.block.to_token_stream());
    if let Some(word) = &waits {
        let message = "an update is a part of a commit and cannot wait: let it change the state alone, and what is to follow \
                       from that be the body's, which sees it by `flow.wait_until(|state| ..)`";
        mistakes.at(word, message);
    }
    let has_flow = refuse_flow(noun, signature, mistakes);
    let parameters = if has_flow { None } else { inputs(function, struct_, mistakes) };
    let returns = Returns::read(signature, struct_);
    let travels = returns.check_travels(noun, signature, mistakes);
    if !is_plain || !travels || waits.is_some() {
        return None;
    }
    let is_async = signature.asyncness.is_some();
    Some(Update { function: Function::new(function, true, parameters?), returns, is_async })
}

/// Reads the parameters of an update. No parameter may be a reference.
fn inputs(function: &ImplItemFn, struct_: &Type, mistakes: &mut Mistakes) -> Option<Vec<Parameter>> {
    let read: Vec<Option<Parameter>> = typed(&function.sig)
        .enumerate()
        .map(|(index, typed)| match parameter::parameter(index, typed, struct_, mistakes)? {
            input @ Parameter::Input { .. } => Some(input),
            _ => {
                let message = format!(
                    "an update is applied again in every replay, so it has no services: take what it needs as its input, and \
                     let a step of the body act; {HELPER}"
                );
                mistakes.at(&typed.ty, message);
                None
            }
        })
        .collect();
    read.into_iter().collect()
}

/// Returns the first `.await` in the code.
fn awaited(tokens: TokenStream) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(word) if word == "await" => Some(word),
        TokenTree::Group(group) => awaited(group.stream()),
        _ => None,
    })
}

//! The parts of a workflow with mistakes that are still expanded, so that the rest of the app compiles and
//! one mistake gives one error.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{ImplItem, ItemImpl};

use super::{check, model::Model};
use crate::syntax::types;

/// The same workflow without its options, and without parts that cannot compile.
pub(super) fn healthy(mut model: Model) -> Model {
    model.options.clear();
    for step in &mut model.steps {
        step.options.clear();
        step.retry_if = None;
        step.undo = None;
    }
    model.steps.retain(|step| check::hides_step(&types::plain(&step.function.name)).is_none());
    model.queries.retain(|query| !check::is_verb(&types::plain(&query.function.name)));
    model.updates.retain(|update| !check::is_verb(&types::plain(&update.function.name)));
    model.cancelled.truncate(1);
    model
}

/// Removes the functions that take a `Flow`, because only a workflow's block can have such functions.
pub(super) fn without_flows(block: &mut ItemImpl) {
    let takes_flow =
        |item: &ImplItem| matches!(item, ImplItem::Fn(function) if names_flow(function.sig.to_token_stream()));
    block.items.retain(|item| !takes_flow(item));
}

fn names_flow(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == "Flow",
        TokenTree::Group(group) => names_flow(group.stream()),
        _ => false,
    })
}

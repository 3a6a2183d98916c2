//! `#[workflow]`, in stages: the attribute and the block are parsed into a model, the model is checked, the
//! bodies are made durable, and the valid parts are expanded. This module also has the macros that bodies
//! use.

mod attribute;
mod body;
mod check;
mod event;
mod expand;
mod fallback;
mod model;
mod role;
mod signature;
mod step;
mod undo;
mod update;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{ImplItem, Item, ItemImpl, Type};

use self::{attribute::Attribute, body::helper::Bodies, model::Model};
pub(crate) use self::{
    body::{helper::durable, join::join, select::select},
    event::event,
};
use crate::syntax::diagnostics::Mistakes;

/// Returns the author's item together with the generated code.
pub(crate) fn workflow(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let attribute = Attribute::parse(attribute, &mut mistakes);
    match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Impl(block)) => of_block(attribute, block, body::hash::of(item), mistakes),
        Ok(Item::Struct(item)) => {
            let (name, is_generic) = (&item.ident, !item.generics.params.is_empty());
            mistakes.at(item.struct_token, on_functions(name));
            without_code(attribute, &item, (!is_generic).then(|| syn::parse_quote!(#name)), &mistakes)
        }
        Ok(Item::Enum(item)) => {
            let (name, is_generic) = (&item.ident, !item.generics.params.is_empty());
            mistakes.at(item.enum_token, on_functions(name));
            without_code(attribute, &item, (!is_generic).then(|| syn::parse_quote!(#name)), &mistakes)
        }
        Ok(other) => {
            let first = item.into_iter().next();
            mistakes.at(first, "`#[workflow]` goes on an `impl` block: `#[workflow] impl Checkout { .. }`");
            without_code(attribute, &other, None, &mistakes)
        }
        Err(error) => {
            mistakes.add(error);
            quote!(#item #mistakes)
        }
    }
}

fn on_functions(name: &syn::Ident) -> String {
    format!("`#[workflow]` goes on the functions: write it on `impl {name}`")
}

fn of_block(attribute: Attribute, mut block: ItemImpl, hash: u64, mut mistakes: Mistakes) -> TokenStream {
    let Some((mut model, roles)) = Model::read(attribute, &mut block, &mut mistakes) else {
        fallback::without_flows(&mut block);
        return quote!(#block #mistakes);
    };
    model.hash = hash;
    check::check(&model, &mut mistakes);
    let is_healthy = mistakes.is_empty();
    let model = if is_healthy { model } else { fallback::healthy(model) };
    // A body that calls a step with a mistake would give a second error, so no body is kept after a mistake.
    let mut bodies = Bodies { are_kept: is_healthy, mistakes };
    let functions = block.items.iter_mut().filter_map(|item| match item {
        ImplItem::Fn(function) => Some(function),
        _ => None,
    });
    for (role, function) in roles.iter().zip(functions) {
        bodies.make_durable(role, function);
    }
    let (made, mistakes) = (expand::expand(&model), bodies.mistakes);
    quote!(#block #made #mistakes)
}

/// Expands an item that cannot have the attribute. The type still becomes a workflow, so that naming it in
/// an app is no further error.
fn without_code(attribute: Attribute, item: &impl ToTokens, struct_: Option<Type>, mistakes: &Mistakes) -> TokenStream {
    let model = struct_.and_then(|struct_| Model::empty(attribute, struct_));
    let made = model.map(|model| expand::expand(&fallback::healthy(model)));
    quote!(#item #made #mistakes)
}

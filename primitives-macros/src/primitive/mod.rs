//! `#[primitive]`, in stages: the attribute and the block are parsed into a model, the model is checked, and
//! its valid parts are expanded.

mod check;
pub(crate) mod expand;
mod fallback;
mod functions;
mod model;
mod role;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Item, ItemImpl, ItemStruct, Type};

use self::model::Model;
pub(crate) use self::{expand::lenient, model::check_header};
use crate::syntax::{attribute::Attribute, diagnostics::Mistakes, kinds::Known};

/// Returns the author's item together with the generated code.
pub(crate) fn primitive(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let item = crate::syntax::literals::checked(item, &mut mistakes);
    let attribute = Attribute::parse(attribute, &mut mistakes);
    match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Impl(block)) => of_block(attribute, block, mistakes),
        Ok(Item::Struct(item)) if attribute.kind.ours().is_some_and(Known::goes_on_struct) => {
            of_struct(attribute, &item, mistakes)
        }
        Ok(Item::Struct(item)) => {
            mistakes.at(
                item.struct_token,
                format!("`#[primitive]` goes on the functions: write it on `impl {}`", item.ident),
            );
            let ident = &item.ident;
            let of_struct = item.generics.params.is_empty().then(|| syn::parse_quote!(#ident));
            without_code(attribute, &item, of_struct, &mistakes)
        }
        Ok(Item::Enum(item)) => {
            mistakes.at(
                item.enum_token,
                format!("`#[primitive]` goes on the functions: write it on `impl {}`", item.ident),
            );
            let ident = &item.ident;
            let of_enum = item.generics.params.is_empty().then(|| syn::parse_quote!(#ident));
            without_code(attribute, &item, of_enum, &mistakes)
        }
        Ok(other) => {
            mistakes.at(
                first_token(&item),
                "`#[primitive]` goes on an `impl` block: `#[primitive(object)] impl Cart { .. }`",
            );
            without_code(attribute, &other, None, &mistakes)
        }
        Err(error) => {
            mistakes.add(error);
            quote!(#item #mistakes)
        }
    }
}

fn of_block(attribute: Attribute, mut block: ItemImpl, mut mistakes: Mistakes) -> TokenStream {
    let sets_alarm = crate::syntax::literals::sets_alarm(quote!(#block));
    let Some(model) = Model::read(attribute, &mut block, &mut mistakes) else { return quote!(#block #mistakes) };
    check::check(&model, sets_alarm.as_ref(), &mut mistakes);
    let model = if mistakes.is_empty() { model } else { fallback::healthy(model) };
    let made = expand::expand(&model);
    quote!(#block #made #mistakes)
}

/// Expands a primitive on a struct without fields. Its kind needs no functions.
fn of_struct(attribute: Attribute, item: &ItemStruct, mut mistakes: Mistakes) -> TokenStream {
    let kind = attribute.kind.ours().map_or("", |known| known.name);
    let ident = &item.ident;
    if !item.fields.is_empty() {
        mistakes.at(
            &item.fields,
            format!(
                "`#[primitive({kind})]` on a struct keeps nothing in it: write `struct {ident};`, \
                 or write it on `impl {ident}`"
            ),
        );
    }
    let generics = &item.generics;
    if !generics.params.is_empty() {
        mistakes.at(
            &generics.params,
            "a primitive is one type, for it is stored under one name: write a struct without generics",
        );
        return quote!(#item #mistakes);
    }
    let Some(mut model) = Model::empty(attribute, syn::parse_quote!(#ident)) else { return quote!(#item #mistakes) };
    // A struct with fields has been refused above, and is never made.
    model.made = Some(if item.fields.is_empty() { quote!(#ident {}) } else { quote!(::core::unreachable!()) });
    check::check(&model, None, &mut mistakes);
    let model = if mistakes.is_empty() { model } else { fallback::healthy(model) };
    let made = expand::expand(&model);
    quote!(#item #made #mistakes)
}

/// Expands an item that cannot have the attribute. The type still becomes a primitive, so that naming it in
/// an app is no further error.
fn without_code(
    attribute: Attribute,
    item: &impl quote::ToTokens,
    struct_: Option<Type>,
    mistakes: &Mistakes,
) -> TokenStream {
    let made = struct_.and_then(|struct_| Model::empty(attribute, struct_)).map(|model| {
        let model = fallback::healthy(model);
        expand::expand(&model)
    });
    quote!(#item #made #mistakes)
}

fn first_token(item: &TokenStream) -> Option<proc_macro2::TokenTree> {
    item.clone().into_iter().next()
}

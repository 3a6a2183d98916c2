//! Types as tokens: facts about a type that need no type resolution.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{AngleBracketedGenericArguments, GenericArgument, PathArguments, PathSegment, Type};

/// Strips parentheses and invisible groups.
pub(crate) fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => bare(&inner.elem),
        Type::Group(inner) => bare(&inner.elem),
        other => other,
    }
}

/// Returns the last segment of a path: `Result` of `anyhow::Result<T>`.
pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match bare(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// Returns the type arguments of a segment.
pub(crate) fn arguments(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(AngleBracketedGenericArguments { args, .. }) = &segment.arguments else {
        return Vec::new();
    };
    let types = args.iter().map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.flatten().collect()
}

pub(crate) fn is_unit(ty: &Type) -> bool {
    matches!(bare(ty), Type::Tuple(tuple) if tuple.elems.is_empty())
}

/// The text of a type. Two types count as the same if they are written alike.
pub(crate) fn text(tokens: &impl ToTokens) -> String {
    let spaced = tokens.to_token_stream().to_string();
    // A space matters only between two words, as in `dyn Mail`.
    let is_word = |letter: Option<&char>| letter.is_some_and(|letter| letter.is_alphanumeric() || *letter == '_');
    let letters: Vec<char> = spaced.chars().collect();
    let keeps = |index: usize| is_word(letters.get(index.wrapping_sub(1))) && is_word(letters.get(index + 1));
    letters
        .iter()
        .enumerate()
        .filter(|(index, letter)| **letter != ' ' || keeps(*index))
        .map(|(_, letter)| letter)
        .collect()
}

/// The span of the last token. On stable, the span of a whole type is only that of its first token.
pub(crate) fn end_of(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().into_iter().last().map_or_else(Span::call_site, |token| token.span())
}

/// The same tokens, located at another span.
pub(crate) fn located(tokens: TokenStream, at: Span) -> TokenStream {
    let place = |mut token: TokenTree| {
        if let TokenTree::Group(group) = &token {
            token = Group::new(group.delimiter(), located(group.stream(), at)).into();
        }
        token.set_span(token.span().located_at(at));
        token
    };
    tokens.into_iter().map(place).collect()
}

/// Whether a type contains a reference, a lifetime other than `'static`, or an `impl`, at any depth.
pub(crate) fn borrows(tokens: TokenStream) -> bool {
    let mut before_is_quote = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Punct(punct) => {
            before_is_quote = punct.as_char() == '\'';
            punct.as_char() == '&'
        }
        TokenTree::Ident(ident) => {
            let is_lifetime = std::mem::take(&mut before_is_quote);
            if is_lifetime { ident != "static" } else { ident == "impl" }
        }
        TokenTree::Group(group) => borrows(group.stream()),
        TokenTree::Literal(_) => false,
    })
}

/// Replaces `Self` by the author's struct, for a type that is copied out of the `impl` block.
pub(crate) fn without_self(ty: &Type, struct_: &Type) -> Type {
    let tokens = replace_self(ty.to_token_stream(), struct_);
    syn::parse2(tokens).unwrap_or_else(|_| ty.clone())
}

/// The same tokens with the author's struct instead of `Self`.
pub(crate) fn replace_self(tokens: TokenStream, struct_: &Type) -> TokenStream {
    let replace = |token: TokenTree| match token {
        TokenTree::Ident(ident) if ident == "Self" => located(struct_.to_token_stream(), ident.span()),
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), replace_self(group.stream(), struct_));
            inner.set_span(group.span());
            TokenTree::from(inner).into()
        }
        other => other.into(),
    };
    tokens.into_iter().flat_map(replace).collect()
}

/// An identifier for generated code that cannot collide with the author's names.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(&format!("__{name}"), Span::mixed_site())
}

/// The text of an identifier, without `r#`.
pub(crate) fn plain(name: &Ident) -> String {
    let text = name.to_string();
    text.strip_prefix("r#").unwrap_or(&text).to_owned()
}

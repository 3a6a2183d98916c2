//! Durations in the author's code: the literal in `cx.alarm_in("5m")` is checked and replaced by a constant.
//!
//! This is a pass over tokens, because syn does not parse the arguments of macros.

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use quote::quote_spanned;

use super::{diagnostics::Mistakes, options::millis};

/// The methods whose string literal is a duration.
const TAKERS: &[&str] = &["alarm_in"];

/// Returns the tokens with each literal duration replaced.
pub(crate) fn checked(tokens: TokenStream, mistakes: &mut Mistakes) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut made = Vec::with_capacity(tokens.len());
    for (index, token) in tokens.iter().enumerate() {
        made.push(match token {
            TokenTree::Group(group) => TokenTree::Group(match literal(&tokens[..index], group) {
                Some(literal) => regrouped(group, constant(&literal, mistakes)),
                None => within(group, mistakes),
            }),
            other => other.clone(),
        });
    }
    made.into_iter().collect()
}

fn within(group: &Group, mistakes: &mut Mistakes) -> Group {
    // A rebuilt group has one span and loses those of its two brackets, so keep a group that need not
    // change.
    if !mentions(group.stream()) {
        return group.clone();
    }
    regrouped(group, checked(group.stream(), mistakes))
}

fn mentions(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => TAKERS.iter().any(|taker| ident == taker),
        TokenTree::Group(group) => mentions(group.stream()),
        _ => false,
    })
}

/// Returns the only argument of `.alarm_in(..)`, if it is a string literal.
fn literal(before: &[TokenTree], group: &Group) -> Option<Literal> {
    let [.., TokenTree::Punct(dot), TokenTree::Ident(name)] = before else { return None };
    let takes = dot.as_char() == '.' && TAKERS.iter().any(|taker| name == taker);
    if !takes || group.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    let arguments: Vec<TokenTree> = group.stream().into_iter().collect();
    match arguments.as_slice() {
        [TokenTree::Literal(literal)] if literal.to_string().starts_with('"') => Some(literal.clone()),
        _ => None,
    }
}

/// Returns the first method call in the author's code that sets the alarm.
pub(crate) fn sets_alarm(tokens: TokenStream) -> Option<Ident> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.iter().enumerate().find_map(|(index, token)| match token {
        TokenTree::Group(group) => sets_alarm(group.stream()),
        TokenTree::Ident(name) if name == "alarm_in" || name == "alarm_at" => {
            let is_method = matches!(tokens[..index].last(), Some(TokenTree::Punct(dot)) if dot.as_char() == '.');
            is_method.then(|| name.clone())
        }
        _ => None,
    })
}

/// Turns a literal into a `Duration`. Reports a mistake and uses zero if the literal is no duration.
pub(crate) fn constant(literal: &Literal, mistakes: &mut Mistakes) -> TokenStream {
    let source = literal.to_string();
    let millis = millis(source.trim_matches('"')).unwrap_or_else(|wrong| {
        mistakes.at(literal, wrong);
        0
    });
    quote_spanned!(literal.span()=> ::core::time::Duration::from_millis(#millis))
}

/// Returns the same group with other tokens in it.
pub(crate) fn regrouped(group: &Group, tokens: TokenStream) -> Group {
    let mut made = Group::new(group.delimiter(), tokens);
    made.set_span(group.span());
    made
}

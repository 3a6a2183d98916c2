//! The return type of a function. A `Result` is recognized by its name: no trait can tell, because serde
//! implements its traits for `Result` too.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{ReturnType, Signature, Type};

use super::{diagnostics::Mistakes, types};

/// The return type of a function.
pub(crate) enum Returns {
    Plain(Type),
    Fallible(Fallible),
}

/// A `Result`, or an alias of one.
pub(crate) struct Fallible {
    pub(crate) ok: TokenStream,
    pub(crate) error: TokenStream,
    /// The success type, if it is written out.
    pub(crate) value: Option<Type>,
}

impl Returns {
    pub(crate) fn read(signature: &Signature, struct_: &Type) -> Self {
        let ty = match &signature.output {
            ReturnType::Default => return Self::Plain(syn::parse_quote!(())),
            ReturnType::Type(_, ty) => types::without_self(ty, struct_),
        };
        let Some(segment) = types::last_segment(&ty).filter(|segment| segment.ident.to_string().ends_with("Result"))
        else {
            return Self::Plain(ty);
        };
        let arguments = types::arguments(segment);
        let value = arguments.first().map(|value| (*value).clone());
        if let ("Result", [ok, error]) = (segment.ident.to_string().as_str(), arguments.as_slice()) {
            return Self::Fallible(Fallible { ok: quote!(#ok), error: quote!(#error), value });
        }
        let at = types::end_of(&ty);
        let part = |part: TokenStream| quote_spanned!(at=> <#ty as ::drystone::author::Outcome>::#part);
        let (ok, error) = (part(quote_spanned!(at=> Ok)), part(quote_spanned!(at=> Err)));
        Self::Fallible(Fallible { ok, error, value })
    }

    /// Checks that a return type is owned, because the value travels to the caller.
    pub(crate) fn check_travels(&self, noun: &str, signature: &Signature, mistakes: &mut Mistakes) -> bool {
        let tokens = match self {
            Self::Plain(ty) => ty.to_token_stream(),
            Self::Fallible(fallible) => [fallible.ok.clone(), fallible.error.clone()].into_iter().collect(),
        };
        let travels = !types::borrows(tokens);
        if let (false, ReturnType::Type(_, written)) = (travels, &signature.output) {
            let message = format!("what {noun} returns travels to its caller: return an owned type, such as `String`");
            mistakes.at(written, message);
        }
        travels
    }
}

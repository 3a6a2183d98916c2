//! `join!(a, b, c)`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Expr, Token, parse::Parser, punctuated::Punctuated};

use crate::syntax::types;

/// Expands to code that awaits all futures, and returns their outputs as one tuple.
pub(crate) fn join(input: TokenStream) -> TokenStream {
    let futures = match Punctuated::<Expr, Token![,]>::parse_terminated.parse2(input) {
        Ok(futures) => futures,
        Err(error) => return error.to_compile_error(),
    };
    let mut rest = futures.iter().rev();
    let Some(last) = rest.next() else {
        let message = "there is nothing to wait for: write `join!(one, other)`";
        return syn::Error::new(Span::call_site(), message).to_compile_error();
    };
    let Some(first) = rest.next() else {
        return quote!((::drystone::workflow::AwaitDurable::__durable(#last).await,));
    };
    let names: Vec<_> = (0..futures.len()).map(|index| types::local(&format!("joined_{index}"))).collect();
    let joined = quote!(::drystone::workflow::join(#first, #last));
    let joined = rest.fold(joined, |others, future| quote!(::drystone::workflow::join(#future, #others)));
    let nested = nested(&names);
    quote! {
        {
            let #nested = #joined.await;
            (#(#names),*)
        }
    }
}

/// The pattern of nested pairs: `(a, (b, c))`.
fn nested(names: &[proc_macro2::Ident]) -> TokenStream {
    match names {
        [] => quote!(()),
        [only] => quote!(#only),
        [first, rest @ ..] => {
            let rest = nested(rest);
            quote!((#first, #rest))
        }
    }
}

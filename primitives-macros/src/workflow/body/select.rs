//! `select! { pattern = future => expression, .. }`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{
    Expr, Ident, Pat, Token,
    parse::{Parse, ParseStream},
};

use crate::syntax::types;

const FORM: &str = "write `select! { name = future => expression, .. }`";

/// Expands `select!`. The losing futures are dropped before the winner's expression runs. The expression
/// stands outside any closure, so `return`, `break`, `?` and `.await` act on the code around it.
pub(crate) fn select(input: TokenStream) -> TokenStream {
    let arms = match syn::parse2::<Arms>(input) {
        Ok(Arms(arms)) => arms,
        // `compile_error!` fits where a value of any type is expected, so this is the only error.
        Err(error) => return error.to_compile_error(),
    };
    let (won, value) = (types::local("won"), types::local("value"));
    let raced = raced(&arms);
    let count = arms.len();
    let arms = arms.iter().enumerate().map(|(index, Arm { pattern, expression, .. })| {
        let (place, done) = (place(index, count, quote!(#value)), done(expression));
        quote!(#place => { let #pattern = #value; #done })
    });
    quote! {
        {
            let #won = #raced;
            match #won { #(#arms)* }
        }
    }
}

/// The code of an arm. A block loses its own braces, because the compiler would warn about two pairs.
fn done(expression: &Expr) -> TokenStream {
    match expression {
        Expr::Block(block) if block.label.is_none() && block.attrs.is_empty() => {
            let statements = &block.block.stmts;
            quote!(#(#statements)*)
        }
        other => quote!(#other),
    }
}

/// Races all futures: the first one against the race of the others.
fn raced(arms: &[Arm]) -> TokenStream {
    let mut futures = arms.iter().rev().map(|arm| &arm.future);
    let last = futures.next();
    let Some(first) = futures.next() else {
        return quote!(::drystone::workflow::AwaitDurable::__durable(#last).await);
    };
    let race = quote!(::drystone::workflow::race(#first, #last));
    let race = futures.fold(race, |others, future| quote!(::drystone::workflow::race(#future, #others)));
    quote!(#race.await)
}

/// The pattern of the arm at `index`: `Right(Right(Left(value)))`.
fn place(index: usize, count: usize, value: TokenStream) -> TokenStream {
    let either = quote!(::drystone::workflow::Either);
    let innermost = if index + 1 == count { value } else { quote!(#either::Left(#value)) };
    (0..index).fold(innermost, |inner, _| quote!(#either::Right(#inner)))
}

struct Arms(Vec<Arm>);

struct Arm {
    pattern: Pat,
    future: Expr,
    expression: Expr,
}

impl Parse for Arms {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Err(syn::Error::new(Span::call_site(), format!("there is nothing to choose from: {FORM}")));
        }
        let mut arms = Vec::new();
        while !input.is_empty() {
            arms.push(input.parse()?);
        }
        Ok(Self(arms))
    }
}

impl Parse for Arm {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        refuse_foreign(input)?;
        let pattern = Pat::parse_single(input)?;
        if !input.peek(Token![=]) || input.peek(Token![=>]) {
            return Err(wanted(input, &pattern, format!("a future is missing after the name: {FORM}")));
        }
        refuse_refutable(&pattern)?;
        input.parse::<Token![=]>()?;
        let future: Expr = input.parse()?;
        if input.peek(Token![,]) && input.peek2(Token![if]) {
            input.parse::<Token![,]>()?;
            return Err(
                input.error("an arm has no condition: write `if` around the `select!`, or in what the arm does")
            );
        }
        if !input.peek(Token![=>]) {
            return Err(wanted(input, &future, "what to do then is missing: write `=> expression` after the future"));
        }
        input.parse::<Token![=>]>()?;
        let expression = Expr::parse_with_earlier_boundary_rule(input)?;
        if !input.is_empty() && !input.peek(Token![,]) && !ends_with_brace(&expression) {
            return Err(wanted(input, &expression, "a comma is missing between two arms"));
        }
        input.parse::<Option<Token![,]>>()?;
        Ok(Self { pattern, future, expression })
    }
}

/// Whether no comma is needed after an expression, as in a `match`.
fn ends_with_brace(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::Block(_) | Expr::If(_) | Expr::Match(_) | Expr::Loop(_) | Expr::While(_) | Expr::ForLoop(_)
    )
}

/// Refuses syntax that other `select!` macros have and ours does not.
fn refuse_foreign(input: ParseStream<'_>) -> syn::Result<()> {
    if input.peek(Token![else]) {
        return Err(input.error("a `select!` in a body waits for one of its arms: there is no `else`"));
    }
    if input.peek(Ident) && input.peek2(Token![;]) {
        return Err(input.error("the first arm to end wins, in every replay: leave this out"));
    }
    Ok(())
}

/// Refuses a pattern that fits only some values, as far as its name shows. Other values would have no arm.
fn refuse_refutable(pattern: &Pat) -> syn::Result<()> {
    const SOME: [&str; 4] = ["Ok", "Err", "Some", "None"];
    let is_some = match pattern {
        Pat::TupleStruct(pattern) => {
            pattern.path.segments.last().is_some_and(|last| SOME.iter().any(|name| last.ident == name))
        }
        Pat::Ident(pattern) => pattern.ident == "None",
        Pat::Lit(_) | Pat::Range(_) => true,
        _ => false,
    };
    if !is_some {
        return Ok(());
    }
    let message = "an arm takes whatever its future gives: write a name here, and `match` in the expression";
    Err(syn::Error::new_spanned(pattern, message))
}

/// An error at the next token or, at the end of the input, at `last`.
fn wanted(input: ParseStream<'_>, last: &impl quote::ToTokens, message: impl std::fmt::Display) -> syn::Error {
    if input.is_empty() { syn::Error::new_spanned(last, message) } else { input.error(message) }
}

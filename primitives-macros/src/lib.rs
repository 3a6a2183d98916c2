//! The macros of Drystone. Use them through the `drystone` crate.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

mod duration;

/// A [`Duration`](std::time::Duration) from a literal that is checked where it stands: `d!("1h 30m")`.
///
/// A number and a unit, once or several times: `ms`, `s`, `m`, `h`, `d`, or their full names.
#[proc_macro]
pub fn d(input: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Literal(literal)] => match parse(literal) {
            Ok(millis) => from_millis(millis),
            Err(message) => error(&message, literal.span()),
        },
        [] => error("a duration is missing; write for example d!(\"5s\")", Span::call_site()),
        [first, ..] => error("only a text literal can be checked here; write for example d!(\"5s\")", first.span()),
    }
}

fn parse(literal: &Literal) -> Result<u64, String> {
    let source = literal.to_string();
    let text = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let text = text.ok_or_else(|| format!("`{source}` has no unit; write for example \"5s\""))?;
    duration::parse(text)
}

/// `::core::time::Duration::from_millis(millis)`.
fn from_millis(millis: u64) -> TokenStream {
    let mut path = Vec::new();
    for name in ["core", "time", "Duration", "from_millis"] {
        path.extend([Spacing::Joint, Spacing::Alone].map(|spacing| TokenTree::from(Punct::new(':', spacing))));
        path.push(Ident::new(name, Span::call_site()).into());
    }
    let number = TokenTree::from(Literal::u64_suffixed(millis));
    path.push(Group::new(Delimiter::Parenthesis, number.into()).into());
    path.into_iter().collect()
}

/// `::core::compile_error!("message")`, at `span`.
fn error(message: &str, span: Span) -> TokenStream {
    let mut tokens = Vec::new();
    for name in ["core", "compile_error"] {
        tokens.extend([Spacing::Joint, Spacing::Alone].map(|spacing| TokenTree::from(Punct::new(':', spacing))));
        tokens.push(Ident::new(name, span).into());
    }
    tokens.push(Punct::new('!', Spacing::Alone).into());
    let text = TokenTree::from(Literal::string(message));
    tokens.push(Group::new(Delimiter::Brace, text.into()).into());
    for token in &mut tokens {
        token.set_span(span);
    }
    tokens.into_iter().collect()
}

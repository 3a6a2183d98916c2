//! Whether code may await anything, as far as its tokens show.

use proc_macro2::{TokenStream, TokenTree};

/// Macros of the standard library that await nothing except what is written between their brackets.
const MACROS: [&str; 19] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "concat",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprintln",
    "format",
    "matches",
    "panic",
    "println",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// Whether code contains an `.await`, or anything that may expand to one: a macro that is not in [`MACROS`],
/// or an attribute.
pub(crate) fn may_wait(code: TokenStream) -> bool {
    let tokens: Vec<_> = code.into_iter().collect();
    tokens.iter().enumerate().any(|(index, token)| match token {
        TokenTree::Ident(ident) => {
            ident == "await" || is_call_of_another_macro(&ident.to_string(), &tokens[index + 1..])
        }
        TokenTree::Group(group) => may_wait(group.stream()),
        TokenTree::Punct(punct) => punct.as_char() == '#',
        TokenTree::Literal(_) => false,
    })
}

fn is_call_of_another_macro(name: &str, next: &[TokenTree]) -> bool {
    let [TokenTree::Punct(mark), TokenTree::Group(_), ..] = next else { return false };
    // A keyword before `!(..)` makes no macro call: `if !(a || b)`, `return !(..)`, `match !(..)`,
    // `in !(..)`.
    let is_keyword = matches!(name, "if" | "return" | "match" | "while" | "in" | "break" | "move");
    mark.as_char() == '!' && !is_keyword && !MACROS.contains(&name)
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::may_wait;

    #[test]
    fn code_without_an_await_waits_for_nothing() {
        let plain = [
            quote! { self.count += by; self.count },
            quote! { if !(a || b) { return !(c) } let text = format!("{await_}"); vec![1, 2].len() },
            quote! { assert!(a != b, "{}", matches!(a, Some(_))) },
        ];
        for code in plain {
            assert!(!may_wait(code.clone()), "{code}");
        }
    }

    #[test]
    fn code_that_may_expand_to_an_await_may_wait() {
        let waiting = [
            quote! { latch.wait().await },
            quote! { if a { for b in c { vec![d(b).await] } } },
            quote! { tokio::join!(a, b) },
            quote! { select! { _ = a => 1 } },
            quote! { println!("{}", ask(a)?); ask!(b) },
            quote! { #[instrument] fn wait() {} },
        ];
        for code in waiting {
            assert!(may_wait(code.clone()), "{code}");
        }
    }
}

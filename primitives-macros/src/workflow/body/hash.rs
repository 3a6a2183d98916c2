//! A hash that changes when code changes, and not when only its docs or its position change.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Returns FNV-1a over the text of the tokens, without docs.
pub(crate) fn of(tokens: TokenStream) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    hash.tokens(tokens);
    hash.0
}

struct Fnv(u64);

impl Fnv {
    fn tokens(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let is_hash = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
            if is_hash && tokens.next_if(is_doc).is_some() {
                continue;
            }
            self.token(token);
        }
    }

    fn token(&mut self, token: TokenTree) {
        match token {
            TokenTree::Group(group) => {
                self.text(match group.delimiter() {
                    Delimiter::Parenthesis => "(",
                    Delimiter::Brace => "{",
                    Delimiter::Bracket => "[",
                    Delimiter::None => "",
                });
                self.tokens(group.stream());
                self.text(")");
            }
            other => self.text(&other.to_string()),
        }
    }

    fn text(&mut self, text: &str) {
        // A byte that no UTF-8 text contains ends each token, so that `a b` differs from `ab`.
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Whether a token is `[doc = ".."]`.
fn is_doc(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::of;

    #[test]
    fn documentation_does_not_change_it_and_code_does() {
        let plain = of(quote!(impl Checkout { fn run() -> u32 { 1 } }));
        assert_eq!(plain, of(quote!(impl Checkout { /** Runs. */ fn run() -> u32 { 1 } })));
        assert_ne!(plain, of(quote!(impl Checkout { fn run() -> u32 { 2 } })));
        assert_ne!(of(quote!(a b)), of(quote!(ab)));
        assert_eq!(of(quote!()), 0xcbf2_9ce4_8422_2325);
    }
}

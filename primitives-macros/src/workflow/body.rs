//! Makes the body of a workflow durable. This is a pass over tokens, because syn does not parse the
//! arguments of macros.
//!
//! - Each `.await` goes through a check that its future is durable.
//! - `async` blocks become durable blocks.
//! - A bare `select!` or `join!` becomes ours.
//! - Literal durations become constants.
//! - Calls that a replay could not repeat are refused by name.
//!
//! The `async` blocks among the arguments of `.run(..)` and `.try_run(..)` stay as they are, because that
//! code runs outside the body. The value of `.run(..)` is checked not to be a `Result`.

pub(crate) mod forbidden;
pub(crate) mod hash;
pub(crate) mod helper;
pub(crate) mod join;
pub(crate) mod select;

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};

use crate::syntax::{
    diagnostics::Mistakes,
    literals::{self, regrouped},
    options, types,
};

/// The methods whose string literal is a duration.
const TAKE_DURATION: &[&str] = &["sleep", "timeout", "within"];

/// The method whose string literal is a pause.
const TAKES_PAUSES: &str = "backoff";

/// Returns the statements of a body, made durable.
pub(super) fn durable(statements: TokenStream, mistakes: &mut Mistakes) -> TokenStream {
    let statements = Pass { mistakes, runs: false, has_changed: false }.tokens(statements);
    quote! {
        #[allow(unused_imports)]
        use ::drystone::workflow::AwaitDurable as _;
        #statements
    }
}

struct Pass<'a> {
    mistakes: &'a mut Mistakes,
    /// Whether the tokens are arguments of `.run(..)`. Blocks in them do not belong to the body.
    runs: bool,
    /// Whether any token differs from the author's.
    has_changed: bool,
}

impl Pass<'_> {
    fn tokens(&mut self, tokens: TokenStream) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut made = TokenStream::new();
        let mut index = 0;
        while index < tokens.len() {
            let (before, rest) = tokens.split_at(index);
            index += match &rest[0] {
                TokenTree::Group(group) => self.group(before, group, &mut made),
                TokenTree::Ident(ident) if ident == "await" && is_method(before) => self.awaited(ident, &mut made),
                TokenTree::Ident(ident) if ident == "async" => self.block(rest, &mut made),
                TokenTree::Ident(_) if !is_method(before) => self.path(rest, &mut made),
                other => {
                    made.extend([other.clone()]);
                    1
                }
            };
        }
        made
    }

    /// Replaces `await`. The dot before it has been written.
    fn awaited(&mut self, word: &Ident, made: &mut TokenStream) -> usize {
        self.has_changed = true;
        made.extend(quote_spanned!(word.span()=> __durable().await));
        1
    }

    /// Replaces `async { .. }` and `async move { .. }`.
    fn block(&mut self, rest: &[TokenTree], made: &mut TokenStream) -> usize {
        let count = match rest {
            [_, TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Brace => 2,
            [_, TokenTree::Ident(word), TokenTree::Group(group), ..]
                if word == "move" && group.delimiter() == Delimiter::Brace =>
            {
                3
            }
            _ => {
                made.extend([rest[0].clone()]);
                return 1;
            }
        };
        if self.runs {
            made.extend(rest[..count].iter().cloned());
            return count;
        }
        let (words, last) = rest[..count].split_at(count - 1);
        let mut block = TokenStream::new();
        if let TokenTree::Group(group) = &last[0] {
            self.group(&[], group, &mut block);
        }
        self.has_changed = true;
        let at = Span::mixed_site().located_at(rest[0].span());
        made.extend(quote_spanned!(at=> ::drystone::workflow::block(#(#words)* #block)));
        count
    }

    /// Rewrites a group: the arguments of a call, or another part of the code.
    fn group(&mut self, before: &[TokenTree], group: &Group, made: &mut TokenStream) -> usize {
        let method = method(before).filter(|_| group.delimiter() == Delimiter::Parenthesis);
        let name = method.map(Ident::to_string);
        // A method that takes code is refused by the same rules as a function of that name. A step of that
        // name takes values.
        if let Some((method, name)) = method.zip(name.clone()).filter(|_| is_code(group)) {
            self.refuse(method, forbidden::function(&[name], true));
        }
        let made_anew = match (name.as_deref(), text(group)) {
            (Some("run" | "try_run"), _) => self.within(group, true),
            (Some(name), Some(text)) if TAKE_DURATION.contains(&name) => Some(literals::constant(&text, self.mistakes)),
            (Some(TAKES_PAUSES), Some(text)) => Some(self.pauses(&text)),
            _ => self.within(group, self.runs),
        };
        let group = match made_anew {
            Some(tokens) => {
                self.has_changed = true;
                regrouped(group, tokens)
            }
            None => group.clone(),
        };
        made.extend([TokenTree::from(group)]);
        if let Some(run) = method.filter(|method| *method == "run") {
            self.has_changed = true;
            made.extend(quote_spanned!(run.span()=> .__plain()));
        }
        1
    }

    /// Rewrites the tokens of a group. Returns `None` if nothing changes: a rebuilt group has one span and
    /// loses those of its two brackets, so an unchanged group is kept.
    fn within(&mut self, group: &Group, runs: bool) -> Option<TokenStream> {
        let mut pass = Pass { mistakes: self.mistakes, runs, has_changed: false };
        let tokens = pass.tokens(group.stream());
        pass.has_changed.then_some(tokens)
    }

    /// Checks the literal in `.backoff("1s..1m")`.
    fn pauses(&mut self, literal: &Literal) -> TokenStream {
        let source = literal.to_string();
        if let Err(wrong) = options::pause(source.trim_matches('"')) {
            self.mistakes.at(literal, wrong);
            return quote_spanned!(literal.span()=> ::drystone::Retry::parse("1s"));
        }
        quote_spanned!(literal.span()=> const { ::drystone::Retry::parse(#literal) })
    }

    fn refuse(&mut self, at: &impl ToTokens, wrong: Option<String>) {
        if let Some(wrong) = wrong {
            self.mistakes.at(at, wrong);
        }
    }

    /// Checks the path of a function or a macro, and makes a bare `select!` or `join!` ours.
    fn path(&mut self, rest: &[TokenTree], made: &mut TokenStream) -> usize {
        let names = names(rest);
        let count = names.len() + 2 * (names.len() - 1);
        let path: TokenStream = rest[..count].iter().cloned().collect();
        let is_macro = matches!(
            &rest[count..],
            [TokenTree::Punct(mark), TokenTree::Group(_), ..] if mark.as_char() == '!'
        );
        let is_called = matches!(rest.get(count), Some(TokenTree::Group(_)));
        let wrong = if is_macro { forbidden::macro_(&names) } else { forbidden::function(&names, is_called) };
        // A single word that is not called may be the author's own variable.
        let is_used = names.len() > 1 || is_macro || is_called;
        self.refuse(&path, wrong.filter(|_| is_used));
        if is_macro && forbidden::is_made_ours(&names) {
            self.has_changed = true;
            let at = types::end_of(&path);
            made.extend(quote_spanned!(at=> ::drystone::));
        }
        made.extend(path);
        count
    }
}

/// The segments of the path that begins here, such as `tokio`, `spawn`.
fn names(tokens: &[TokenTree]) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = tokens;
    while let [TokenTree::Ident(name), after @ ..] = rest {
        names.push(types::plain(name));
        rest = match after {
            [TokenTree::Punct(one), TokenTree::Punct(other), next @ ..]
                if one.as_char() == ':'
                    && other.as_char() == ':'
                    && matches!(next.first(), Some(TokenTree::Ident(_))) =>
            {
                next
            }
            _ => break,
        };
    }
    names
}

/// Whether the next word is the name of a method or a field.
fn is_method(before: &[TokenTree]) -> bool {
    let is_dot = |token: &TokenTree| matches!(token, TokenTree::Punct(dot) if dot.as_char() == '.');
    match before {
        // Two dots are a range: `0..count`.
        [.., first, second] if is_dot(second) => !is_dot(first),
        [only] => is_dot(only),
        _ => false,
    }
}

/// Returns the method whose arguments come next, with or without `::<..>`.
fn method(before: &[TokenTree]) -> Option<&Ident> {
    let before = without_turbofish(before);
    match before {
        [.., TokenTree::Ident(name)] if is_method(&before[..before.len() - 1]) => Some(name),
        _ => None,
    }
}

fn without_turbofish(before: &[TokenTree]) -> &[TokenTree] {
    let mut depth = 0_usize;
    for (index, token) in before.iter().enumerate().rev() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '>' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let is_whole = index == before.len() - 1;
            return if is_whole { before } else { &before[..index.saturating_sub(2)] };
        }
    }
    before
}

/// Whether the first argument is code: a block or a closure.
fn is_code(group: &Group) -> bool {
    match group.stream().into_iter().next() {
        Some(TokenTree::Ident(word)) => word == "async" || word == "move",
        Some(TokenTree::Punct(mark)) => mark.as_char() == '|',
        _ => false,
    }
}

/// Returns the only argument, if it is a string literal.
fn text(group: &Group) -> Option<Literal> {
    let mut arguments = group.stream().into_iter();
    match (arguments.next(), arguments.next()) {
        (Some(TokenTree::Literal(literal)), None) if literal.to_string().starts_with('"') => Some(literal),
        // `macro_rules!` puts a captured literal into an invisible group.
        (Some(TokenTree::Group(inner)), None) if inner.delimiter() == Delimiter::None => text(&inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// Returns the rewritten tokens of a body, and the number of mistakes in it.
    fn made(tokens: TokenStream) -> (String, usize) {
        let mut mistakes = Mistakes::default();
        let made = Pass { mistakes: &mut mistakes, runs: false, has_changed: false }.tokens(tokens);
        (made.to_string(), quote!(#mistakes).into_iter().filter(|token| token.to_string() == "compile_error").count())
    }

    #[test]
    fn awaits_are_checked_also_within_macros_and_ranges() {
        let expected = quote!(for n in 0..a.__durable().await {
            print!("{}", vec![b(n).__durable().await]?)
        });
        assert_eq!(
            made(quote!(for n in 0..a.await {
                print!("{}", vec![b(n).await]?)
            })),
            (expected.to_string(), 0)
        );
    }

    #[test]
    fn methods_that_are_given_code_are_refused_as_functions_are_and_steps_of_their_names_are_not() {
        assert_eq!(made(quote!(handle.spawn_blocking(|| ()))).1, 1);
        assert_eq!(made(quote!(handle.block_on(async {}))).1, 1);
        assert_eq!(made(quote!(flow.spawn(7).await)).1, 0);
    }

    #[test]
    fn blocks_are_durable_and_what_is_run_elsewhere_is_left_alone() {
        let kept = quote!(flow.try_run::<Vec<u8>>("x", async move {
            a.await;
            tokio::spawn(async {})
        }));
        assert_eq!(made(kept.clone()), (kept.to_string(), 0));
        let expected = quote!(flow.run::<Vec<u8>>("x", async { a.await }).__plain().max_attempts(3));
        assert_eq!(
            made(quote!(flow.run::<Vec<u8>>("x", async { a.await }).max_attempts(3))),
            (expected.to_string(), 0)
        );
        let expected = quote!(flow.try_run(&name.__durable().await, wrapped(async { a.await })));
        assert_eq!(made(quote!(flow.try_run(&name.await, wrapped(async { a.await })))), (expected.to_string(), 0));
        let expected = quote!(|x| ::drystone::workflow::block(async move { x.__durable().await }));
        assert_eq!(made(quote!(|x| async move { x.await })), (expected.to_string(), 0));
        let kept = quote!(async fn f() {} let await_ = async |x| x;);
        assert_eq!(made(kept.clone()), (kept.to_string(), 0));
    }

    #[test]
    fn bare_macros_are_ours_and_others_are_refused() {
        let expected = quote!(::drystone::select! { a = b => ::drystone::join!(c), });
        assert_eq!(made(quote!(select! { a = b => join!(c), })), (expected.to_string(), 0));
        let kept = quote!(drystone::select! {} let select = join != (a););
        assert_eq!(made(kept.clone()), (kept.to_string(), 0));
        assert_eq!(made(quote!(::tokio::select! {} x(tokio::join!()) futures::try_join!() try_join!())).1, 4);
    }

    #[test]
    fn what_a_replay_cannot_repeat_is_refused_by_its_name() {
        assert_eq!(made(quote!(SystemTime::now() map(Utc::now) rand::random::<u8>() rand::thread_rng())).1, 4);
        assert_eq!(made(quote!(flow.now() now() state.thread_rng thread_rng.x Wall::now() my::random())).1, 0);
    }

    #[test]
    fn durations_are_constants() {
        let (made, mistakes) = made(quote!(flow.sleep("24h") x.timeout("1 parsec") sleep("24h") x.sleep(d)));
        assert_eq!(mistakes, 1);
        assert!(made.contains("from_millis (86400000u64)") && made.contains("sleep (\"24h\")"), "{made}");
    }
}

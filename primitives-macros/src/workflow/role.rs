//! The role of a function of a workflow, given by its attribute or else by its signature.

use proc_macro2::Ident;
use syn::{Attribute, ImplItemFn};

use crate::syntax::{diagnostics::Mistakes, function::borrowed};

/// The role of a function.
pub(super) enum Role {
    /// The body.
    Run,
    /// `#[step(..)]`.
    Step(Box<Attribute>),
    /// `#[cancelled]`: the body of a run that was cancelled.
    Cancelled(Ident),
    /// A function with `self` that reads the state.
    Query,
    /// A function with `&mut self` that changes the state.
    Update,
    /// A helper of the body.
    Helper,
    /// A function that stays plain Rust.
    Plain,
    /// A function whose mistake has been reported.
    Refused,
}

/// Finds the role of a function, and removes our attributes from it, which only this macro knows.
pub(super) fn take(function: &mut ImplItemFn, mistakes: &mut Mistakes) -> Role {
    let mut ours = Vec::new();
    function.attrs.retain(|attribute| {
        let word = attribute.path().get_ident().filter(|word| is_ours(word)).cloned();
        ours.extend(word.iter().map(|word| (word.clone(), attribute.clone())));
        // A helper of the body is durable without the attribute, so `#[durable]` is removed too.
        word.is_none() && !attribute.path().is_ident("durable")
    });
    let mut ours = ours.into_iter();
    let Some((word, attribute)) = ours.next() else { return without_attribute(function) };
    if let Some((second, _)) = ours.next() {
        mistakes.at(&second, format!("a function is one thing: it is already `#[{word}]`"));
        return Role::Refused;
    }
    match word.to_string().as_str() {
        "step" => Role::Step(Box::new(attribute)),
        "cancelled" => cancelled(word, &attribute, mistakes),
        "canceled" => {
            mistakes.at(&word, "the body of a run that was cancelled is `#[cancelled]`, with two `l`");
            Role::Refused
        }
        _ => {
            let message = format!("`#[{word}]` is for a primitive; a workflow has `#[step]` and `#[cancelled]`");
            mistakes.at(&word, message);
            Role::Refused
        }
    }
}

fn is_ours(word: &Ident) -> bool {
    const STRAY: &[&str] = &[
        "action", "canceled", "tick", "flush", "process", "alarm", "hook", "create", "init", "destroy", "reduce",
        "apply",
    ];
    word == "step" || word == "cancelled" || STRAY.iter().any(|stray| word == stray)
}

fn cancelled(word: Ident, attribute: &Attribute, mistakes: &mut Mistakes) -> Role {
    if attribute.meta.require_path_only().is_err() {
        mistakes.at(&attribute.meta, "`#[cancelled]` has no options");
    }
    Role::Cancelled(word)
}

fn without_attribute(function: &ImplItemFn) -> Role {
    let signature = &function.sig;
    match (signature.asyncness.is_some(), signature.receiver().is_some()) {
        _ if signature.ident == "run" => Role::Run,
        _ if signature.receiver().and_then(borrowed) == Some(true) => Role::Update,
        (true, true) => Role::Query,
        (true, false) => Role::Helper,
        (false, _) => Role::Plain,
    }
}

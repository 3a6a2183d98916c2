//! What a function is for: its attribute says so, or else its signature.

use proc_macro2::Ident;
use syn::{Attribute, ImplItemFn};

use super::{
    attribute::{Kind, Setting},
    hook_options,
};
use crate::{known::Known, mistakes::Mistakes, suggest, transaction, types};

/// What a function is for. The word of its attribute comes with it, for what is to be said of it.
pub(crate) enum Role {
    Action,
    /// `#[action(transaction)]`, with the options beside that word.
    Transactional(Ident, Vec<Setting>),
    /// A hook of the kind's, with the options that stand on it.
    Hook(Ident, Vec<Setting>),
    Create,
    Init(Ident),
    /// Whether it is transactional, too.
    Destroy(Ident, bool),
    Reduce(Ident),
    Apply(Ident),
    /// Plain Rust.
    Helper,
    /// Nothing can be made of it; its mistake is told.
    Refused,
}

/// The role of a function, whose own attributes are taken away: nobody but this macro knows them.
pub(crate) fn take(function: &mut ImplItemFn, kind: &Kind, mistakes: &mut Mistakes) -> Role {
    let mut roles = Vec::new();
    function.attrs.retain(|attribute| match word(attribute) {
        Some(word) => {
            roles.push((word, attribute.clone()));
            false
        }
        None => true,
    });
    let mut roles = roles.into_iter();
    let Some((word, attribute)) = roles.next() else { return without_attribute(function) };
    if let Some((second, _)) = roles.next() {
        mistakes.at(&second, format!("a function is one thing: it is already `#[{word}]`"));
        return Role::Refused;
    }
    match word.to_string().as_str() {
        "hook" => return named_hook(&attribute, kind, mistakes),
        "action" => return named_action(word, &attribute, mistakes),
        "destroy" => return Role::Destroy(word.clone(), hook_options::of_destroy(&word, &attribute, mistakes)),
        "create" | "init" | "reduce" | "apply" => hook_options::refuse(&word, &attribute, mistakes),
        _ => return sugar(word, &attribute, kind, mistakes),
    }
    match word.to_string().as_str() {
        "create" => Role::Create,
        "init" => Role::Init(word),
        "reduce" => Role::Reduce(word),
        _ => Role::Apply(word),
    }
}

/// The word of an attribute that is ours.
fn word(attribute: &Attribute) -> Option<Ident> {
    let word = attribute.path().get_ident()?;
    let name = word.to_string();
    let is_ours = matches!(name.as_str(), "action" | "create" | "init" | "destroy" | "reduce" | "apply" | "hook");
    (is_ours || Known::of_hook(&name).is_some()).then(|| word.clone())
}

fn without_attribute(function: &ImplItemFn) -> Role {
    let signature = &function.sig;
    if signature.asyncness.is_some() && signature.receiver().is_some() { Role::Action } else { Role::Helper }
}

/// `#[action(transaction)]`.
fn named_action(word: Ident, attribute: &Attribute, mistakes: &mut Mistakes) -> Role {
    let mut settings = hook_options::settings("an action", attribute, mistakes);
    if transaction::take_word(&mut settings) {
        return Role::Transactional(word, settings);
    }
    let message =
        "an action needs no attribute; one that writes tables of yours says so: write `#[action(transaction)]`";
    mistakes.at(&word, message);
    Role::Refused
}

/// `#[hook(name)]`.
fn named_hook(attribute: &Attribute, kind: &Kind, mistakes: &mut Mistakes) -> Role {
    let Some((name, settings)) = hook_options::named(attribute, mistakes) else { return Role::Refused };
    match kind {
        Kind::Ours(known, _) if name != known.hook => {
            let meant = known.own_hook().map(|hook| suggest::among(&name.to_string(), &[hook])).unwrap_or_default();
            mistakes.at(&name, format!("`{}` has no hook `{name}`{meant}", known.name));
            Role::Refused
        }
        Kind::Unknown => Role::Refused,
        _ => Role::Hook(name, settings),
    }
}

/// `#[tick]`, which stands for `#[hook(tick)]` in our own kinds.
fn sugar(word: Ident, attribute: &Attribute, kind: &Kind, mistakes: &mut Mistakes) -> Role {
    match kind {
        Kind::Ours(known, _) if word == known.hook => {
            let settings = hook_options::settings("a hook", attribute, mistakes);
            Role::Hook(word, settings)
        }
        Kind::Ours(known, _) => {
            let owner = Known::of_hook(&word.to_string()).map_or("another kind", |owner| owner.name);
            let own = match known.own_hook() {
                Some(hook) => format!("the hook of `{}` is `#[{hook}]`", known.name),
                None => format!("a `{}` has none", known.name),
            };
            mistakes.at(&word, format!("`#[{word}]` is a hook of `{owner}`; {own}"));
            Role::Refused
        }
        Kind::Outside(path) => {
            let path = types::text(path);
            mistakes
                .at(&word, format!("`#[{word}]` is for kinds of ours; write `#[hook({word})]` for a hook of `{path}`"));
            Role::Refused
        }
        Kind::Unknown => Role::Refused,
    }
}

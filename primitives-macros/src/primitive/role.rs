//! The role of a function, given by its attribute or else by its signature.

use proc_macro2::Ident;
use syn::{Attribute, ImplItemFn};

use crate::syntax::{
    attribute::{Kind, Setting},
    diagnostics::Mistakes,
    hook_options,
    kinds::Known,
    suggest, transaction, types,
};

/// The role of a function. The `Ident` is the word of its attribute, where messages about it point.
pub(crate) enum Role {
    Action,
    /// `#[action(transaction)]`, with the options beside `transaction`.
    Transactional(Ident, Vec<Setting>),
    /// A hook of the kind, with the options written on it.
    Hook(Ident, Vec<Setting>),
    Create,
    Init(Ident),
    /// `#[destroy]`, and whether it is transactional.
    Destroy(Ident, bool),
    Reduce(Ident),
    Apply(Ident),
    /// A function that stays plain Rust.
    Helper,
    /// A function whose mistake has been reported.
    Refused,
}

/// Finds the role of a function, and removes our attributes from it, which only this macro knows.
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

/// Returns the word of an attribute, if the attribute is ours.
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

/// Reads `#[action(transaction)]`.
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

/// Reads `#[hook(name)]`.
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

/// Reads the short form of a hook, such as `#[tick]` for `#[hook(tick)]`. Only built-in kinds have it.
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

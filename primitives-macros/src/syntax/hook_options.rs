//! Options on a hook, such as `#[process(max_attempts = 1, timeout = "5s")]`. They are the options of the
//! kind that configure its hook, and mean the same in `#[primitive(..)]`.

use proc_macro2::Ident;
use syn::{
    Attribute, Meta, Token,
    parse::{ParseStream, Parser},
};

use super::{
    attribute::{Kind, Setting, setting},
    diagnostics::Mistakes,
    kinds::{Known, Value},
    suggest, transaction, types,
};

/// Reads the settings in the parentheses of an attribute on a function.
pub(crate) fn settings(noun: &str, attribute: &Attribute, mistakes: &mut Mistakes) -> Vec<Setting> {
    let mut settings = Vec::new();
    let parse = |input: ParseStream<'_>| list(input, &mut settings, mistakes);
    read(noun, attribute, parse).unwrap_or_else(|error| mistakes.add(error));
    settings
}

/// Reads the name of a hook and its settings: `#[hook(settled, timeout = "5s")]`. Returns `None` without a
/// name.
pub(crate) fn named(attribute: &Attribute, mistakes: &mut Mistakes) -> Option<(Ident, Vec<Setting>)> {
    let (mut name, mut settings) = (None, Vec::new());
    let parse = |input: ParseStream<'_>| {
        name = Some(input.parse::<Ident>()?);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        list(input, &mut settings, mistakes)
    };
    let ended = read("a hook", attribute, parse);
    match (name, ended) {
        (None, _) => mistakes.at(attribute, "the hook's name is missing: write `#[hook(name)]`"),
        (Some(name), Ok(())) => return Some((name, settings)),
        (Some(_), Err(error)) => mistakes.add(error),
    }
    None
}

fn read(noun: &str, attribute: &Attribute, parse: impl FnOnce(ParseStream<'_>) -> syn::Result<()>) -> syn::Result<()> {
    match &attribute.meta {
        Meta::Path(_) => Ok(()),
        Meta::List(list) => parse.parse2(list.tokens.clone()),
        Meta::NameValue(pair) => {
            let word = types::text(attribute.path());
            let message = format!("the options of {noun} are listed: write `#[{word}(max_attempts = 5)]`");
            Err(syn::Error::new_spanned(pair, message))
        }
    }
}

fn list(input: ParseStream<'_>, settings: &mut Vec<Setting>, mistakes: &mut Mistakes) -> syn::Result<()> {
    while !input.is_empty() {
        settings.push(setting(input, settings, mistakes)?);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

/// Whether a `#[destroy]` is transactional. It has no other option.
pub(crate) fn of_destroy(word: &Ident, attribute: &Attribute, mistakes: &mut Mistakes) -> bool {
    let mut settings = settings("a hook", attribute, mistakes);
    let is_transaction = transaction::take_word(&mut settings);
    for setting in settings {
        let (name, meant) = (&setting.name, suggest::among(&setting.name.to_string(), &["transaction"]));
        mistakes.at(name, format!("`#[{word}]` has no option `{name}`{meant}"));
    }
    is_transaction
}

/// Adds the options of a hook to those of its primitive. A kind from another crate checks its own options.
pub(crate) fn join(
    (kind, options): (&Kind, &mut Vec<Setting>),
    word: &Ident,
    settings: Vec<Setting>,
    mistakes: &mut Mistakes,
) {
    for setting in settings {
        let is_known = match kind {
            Kind::Ours(known, _) => is_of_hook(known, word, &setting, mistakes),
            Kind::Outside(_) => true,
            Kind::Unknown => false,
        };
        if !is_known {
            continue;
        }
        if options.iter().any(|option| option.name == setting.name) {
            let name = &setting.name;
            mistakes.at(name, format!("`{name}` is set twice: `#[primitive(..)]` sets it, too"));
            continue;
        }
        options.push(setting);
    }
}

fn is_of_hook(known: &Known, word: &Ident, setting: &Setting, mistakes: &mut Mistakes) -> bool {
    let name = setting.name.to_string();
    let mut of_hook = known.options_of_hook();
    if of_hook.contains(&name.as_str()) {
        return true;
    }
    of_hook.push("transaction");
    let message = match known.option(&name) {
        Some(value) => {
            let kind = known.name;
            let written = match value {
                Value::Flag => name.clone(),
                _ => format!("{name} = {}", super::options::example(value)),
            };
            format!("`{name}` is an option of the kind, not of its hook: write `#[primitive({kind}, {written})]`")
        }
        None => format!("`#[{word}]` has no option `{name}`{}", suggest::among(&name, &of_hook)),
    };
    mistakes.at(&setting.name, message);
    false
}

/// Refuses options on an attribute without options.
pub(crate) fn refuse(word: &Ident, attribute: &Attribute, mistakes: &mut Mistakes) {
    let message = format!("`#[{word}]` has no options");
    match &attribute.meta {
        Meta::Path(_) => {}
        Meta::List(list) if list.tokens.is_empty() => {}
        Meta::List(list) => mistakes.at(&list.tokens, message),
        Meta::NameValue(pair) => mistakes.at(&pair.value, message),
    }
}

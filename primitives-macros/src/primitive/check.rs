//! Checks between the parts of a primitive. Each part was already checked alone when it was read.

use proc_macro2::Ident;
use quote::quote;

use super::model::{Apply, Model, Reduce};
use crate::syntax::{
    attribute::{Given, Kind},
    diagnostics::Mistakes,
    kinds::{Known, Value},
    options,
    transaction::{self, Noun},
    types,
};

pub(crate) fn check(model: &Model, sets_alarm: Option<&Ident>, mistakes: &mut Mistakes) {
    if let Kind::Ours(known, written) = &model.kind {
        check_alarm(model, known, sets_alarm, mistakes);
        check_options(model, known, written, mistakes);
        check_together(model, known, written, mistakes);
        check_hook(model, known, written, mistakes);
        check_names(model, known, mistakes);
        check_reduce(model, known, mistakes);
        check_concurrency(model, mistakes);
    }
    check_once(model, mistakes);
    check_apply(model, mistakes);
}

fn check_options(model: &Model, known: &Known, written: &Ident, mistakes: &mut Mistakes) {
    if let Some(hook) = model.hooks.iter().find(|hook| hook.transaction.is_some()) {
        transaction::check_timeout(&Noun::hook(&hook.word), &model.options, mistakes);
    }
    let set: Vec<_> = model.options.iter().collect();
    options::check_all(&format!("`{}`", known.name), &set, known.options, mistakes);
    let chosen = written_of(model, known.one_of);
    match chosen.as_slice() {
        [] if !known.one_of.is_empty() => {
            let example =
                |name: &&str| known.option(name).map(|value| format!("`{name} = {}`", options::example(value)));
            let either = known.one_of.iter().filter_map(example).collect::<Vec<_>>().join(" or ");
            mistakes.at(written, format!("`{}` needs to know when: write {either}", known.name));
        }
        [first, second, ..] if first != second => {
            mistakes.at(second, format!("`{first}` and `{second}` exclude each other: write one of them"));
        }
        _ => {}
    }
    check_beside_cron(model, known, mistakes);
}

/// Refuses options of `cron` on any other schedule.
fn check_beside_cron(model: &Model, known: &Known, mistakes: &mut Mistakes) {
    let has_cron = model.options.iter().any(|setting| setting.name == "cron");
    if has_cron || known.option("cron").is_none() {
        return;
    }
    for name in model.options.iter().map(|setting| &setting.name).filter(|name| *name == "zone" || *name == "missed") {
        let example = options::example(Value::Cron);
        mistakes.at(name, format!("`{name}` is an option of `cron`: write it beside `cron = {example}`"));
    }
}

/// Checks that required options are set, and that exclusive options are not set together.
fn check_together(model: &Model, known: &Known, written: &Ident, mistakes: &mut Mistakes) {
    if let Some((name, form, told)) = known.needs_option()
        && written_of(model, &[name]).is_empty()
    {
        mistakes.at(written, format!("`{}` needs to know {told}: write `{form}`", known.name));
    }
    if let Some(excluding) = known.excluding()
        && let [first, second, ..] = written_of(model, &excluding).as_slice()
        && first != second
    {
        mistakes.at(second, format!("`{first}` and `{second}` exclude each other: write one of them"));
    }
}

/// Returns the options from `names` that are set.
fn written_of<'a>(model: &'a Model, names: &[&str]) -> Vec<&'a Ident> {
    let options = model.options.iter().map(|setting| &setting.name);
    options.filter(|name| names.iter().any(|option| name == option)).collect()
}

fn check_hook(model: &Model, known: &Known, written: &Ident, mistakes: &mut Mistakes) {
    if let (Some(form), [], false) = (known.needs_hook, model.hooks.as_slice(), model.refused) {
        mistakes.at(written, format!("`{}` needs a hook: write `{form}`", known.name));
    }
}

/// Refuses an alarm that no hook would receive.
fn check_alarm(model: &Model, known: &Known, sets_alarm: Option<&Ident>, mistakes: &mut Mistakes) {
    let Some(setter) = sets_alarm.filter(|_| !model.refused) else { return };
    if known.name != "object" {
        mistakes.at(setter, format!("the alarm of a `{}` is its own; that of an `object` can be set", known.name));
    } else if model.hooks.is_empty() {
        let form = "#[alarm] async fn rang(&mut self) -> Result<(), E>";
        mistakes.at(setter, format!("`{setter}` rings `#[alarm]`, and there is none: write `{form}`"));
    }
}

fn check_names(model: &Model, known: &Known, mistakes: &mut Mistakes) {
    let actions = model.actions.iter().map(|action| (&action.function.name, "action"));
    let creates = model.creates.iter().map(|create| (&create.function.name, "constructor"));
    for (name, noun) in actions.chain(creates) {
        if let Some(owner) = known.owner_of_verb(&name.to_string()) {
            mistakes.at(name, format!("`{name}` is a verb of {owner}: give the {noun} another name"));
        }
    }
}

fn check_reduce(model: &Model, known: &Known, mistakes: &mut Mistakes) {
    let input = model.hooks.first().and_then(|hook| hook.input.as_ref());
    let input_name = input.and_then(types::last_segment).map(|segment| segment.ident.to_string());
    match (model.reduce.first(), input_name.as_deref()) {
        (Some(Reduce { word, .. }), _) if known.name != "buffer" => {
            mistakes.at(word, format!("`#[reduce]` folds the items of a `buffer`; the kind here is `{}`", known.name));
        }
        (Some(Reduce { total, .. }), Some("Batch")) => {
            let total = types::text(total);
            mistakes.at(input, format!("with `#[reduce]` the items are folded: `#[flush]` takes `Folded<{total}>`"));
        }
        (None, Some("Folded")) if !model.refused => {
            mistakes.at(input, "only `#[reduce]` folds items: write `Batch<Item>`, or add `#[reduce]`");
        }
        _ => {}
    }
}

/// Refuses a `concurrency` above 1 with a hook that takes `&mut self`: the hooks would run one at a time,
/// and nothing would tell the author why.
fn check_concurrency(model: &Model, mistakes: &mut Mistakes) {
    let is_one = |value: &Option<Given>| value.as_ref().is_some_and(|value| quote!(#value).to_string() == "1");
    let several = model.options.iter().find(|setting| setting.name == "concurrency" && !is_one(&setting.value));
    let exclusive = model.hooks.iter().find(|hook| hook.function.writes);
    if let (Some(setting), Some(hook)) = (several, exclusive) {
        let name = &hook.function.name;
        let message = format!(
            "`{name}` takes `&mut self`, so one runs at a time: write `&self` (with `#[apply]` for what it changes), or \
             leave `concurrency` out"
        );
        mistakes.at(&setting.name, message);
    }
}

/// Checks that no attribute occurs twice.
fn check_once(model: &Model, mistakes: &mut Mistakes) {
    let mut words: Vec<&Ident> = model.hooks.iter().map(|hook| &hook.word).collect();
    words.extend(model.init.iter().map(|init| &init.word));
    words.extend(model.destroy.iter().map(|destroy| &destroy.word));
    words.extend(model.reduce.iter().map(|reduce| &reduce.word));
    words.extend(model.apply.iter().map(|apply| &apply.word));
    for (index, word) in words.iter().enumerate() {
        if words[..index].contains(word) {
            mistakes.at(word, format!("there is a `#[{word}]` already; a primitive has one"));
        }
    }
}

fn check_apply(model: &Model, mistakes: &mut Mistakes) {
    let first = model.applying().next();
    match (first, model.apply.first()) {
        (Some(hook), None) if !model.refused => {
            let value = hook.value.as_ref().map(types::text).unwrap_or_default();
            let message = format!(
                "`#[{}]` takes `&self` and returns a value: write `#[apply] fn apply(&mut self, value: {value})`, \
                 or return `Result<(), E>`",
                hook.word
            );
            mistakes.at(&hook.value, message);
        }
        (None, Some(Apply { word, .. })) if !model.refused => {
            mistakes.at(word, "no hook returns a value to apply: a hook that takes `&self` returns `Result<V, E>`");
        }
        _ => {}
    }
}

//! Checks the options of the built-in kinds that are literals. The kind checks constants itself, in a
//! `const`.

use drystone_syntax::duration;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::Lit;

use super::{
    attribute::{Given, Setting},
    diagnostics::Mistakes,
    kinds::Value,
    suggest, types,
};

/// Checks that each option is known and has a value of the right type.
pub(crate) fn check_all(noun: &str, settings: &[&Setting], known: &[(&str, Value)], mistakes: &mut Mistakes) {
    for setting in settings {
        let name = setting.name.to_string();
        match known.iter().find(|(option, _)| *option == name) {
            Some((_, expected)) => check(setting, *expected, mistakes),
            None => {
                let names: Vec<&str> = known.iter().map(|(option, _)| *option).collect();
                mistakes.at(&setting.name, format!("{noun} has no option `{name}`{}", suggest::among(&name, &names)));
            }
        }
    }
}

/// Checks that an option has a value of the right type.
pub(crate) fn check(setting: &Setting, expected: Value, mistakes: &mut Mistakes) {
    let name = &setting.name;
    match (expected, &setting.value) {
        _ if setting.is_refused => {}
        (Value::Flag, None) => {}
        (Value::Flag, Some(value)) => mistakes.at(value, format!("`{name}` is set by its name alone: write `{name}`")),
        (expected, None) => mistakes.at(name, format!("`{name}` has no value: write `{name} = {}`", example(expected))),
        (expected, Some(value)) => {
            if let Err(wrong) = given(expected, value) {
                mistakes.at(value, said(name, value, &wrong));
            }
        }
    }
}

/// Formats a mistake, with the option as it is written. Does not repeat the value if the mistake begins with
/// it.
fn said(name: &Ident, value: &Given, wrong: &str) -> String {
    let written = match value {
        // Spaces within a string literal are the author's.
        Given::Literal(literal) => literal.to_token_stream().to_string(),
        Given::Constant(path) => types::text(path),
    };
    let again = format!("`{}`", written.trim_matches('"'));
    match wrong.strip_prefix(&again) {
        Some(rest) => format!("`{name} = {written}`{rest}"),
        None => format!("`{name} = {written}`: {wrong}"),
    }
}

fn given(expected: Value, value: &Given) -> Result<(), String> {
    match (expected, value) {
        (expected, Given::Literal(value)) => literal(expected, value),
        (Value::Cron, Given::Constant(_)) => cron_is_on(),
        (Value::Count | Value::Duration | Value::Pause | Value::Function | Value::Step, Given::Constant(_)) => Ok(()),
        (expected, Given::Constant(_)) => Err(is_not(expected)),
    }
}

fn literal(expected: Value, value: &Lit) -> Result<(), String> {
    match (expected, value) {
        (Value::Count, Lit::Int(number)) => match number.base10_parse::<u64>() {
            Ok(0) => Err("this must be at least 1".to_owned()),
            Ok(_) if !number.suffix().is_empty() => Err(format!("write it without `{}`", number.suffix())),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        },
        (Value::Duration, Lit::Str(text)) => match millis(&text.value())? {
            0 => Err("this must be longer than nothing; write for example \"5s\"".to_owned()),
            _ => Ok(()),
        },
        (Value::Pause, Lit::Str(text)) => pause(&text.value()),
        // The kind parses the expression in a `const`. Its message, too, is shown at the literal.
        (Value::Cron, Lit::Str(_)) => cron_is_on(),
        // Without the feature, the mistake is reported at `cron`.
        (Value::Zone, Lit::Str(_)) => Ok(()),
        (Value::Word(words), Lit::Str(text)) if words.contains(&text.value().as_str()) => Ok(()),
        (expected, _) => Err(is_not(expected)),
    }
}

fn is_not(expected: Value) -> String {
    format!("this is not {}; write for example {}", noun(expected), example(expected))
}

/// Checks a pause: `"1m"`, or `"1s..1m"` for a doubling one.
pub(crate) fn pause(text: &str) -> Result<(), String> {
    duration::pause(text).map(drop).map_err(|wrong| wrong.message_of(text))
}

/// Reads a duration. The error says what is wrong and what to write instead.
pub(crate) fn millis(text: &str) -> Result<u64, String> {
    duration::millis(text).map_err(|wrong| wrong.message_of(text))
}

/// Cron schedules need the tz database, so they are behind a feature.
fn cron_is_on() -> Result<(), String> {
    if cfg!(feature = "cron") {
        return Ok(());
    }
    Err("schedules by cron are the feature `cron`: write `drystone = { .., features = [\"cron\"] }` in Cargo.toml"
        .to_owned())
}

fn noun(value: Value) -> String {
    match value {
        Value::Count => "a number".to_owned(),
        Value::Duration => "a duration".to_owned(),
        Value::Pause => "a pause".to_owned(),
        Value::Cron => "a cron expression".to_owned(),
        Value::Zone => "a time zone".to_owned(),
        Value::Word(words) => format!("one of {}", quoted(words).join(", ")),
        Value::Flag => "a flag".to_owned(),
        Value::Function => "a function".to_owned(),
        Value::Step => "the name of a step".to_owned(),
    }
}

pub(crate) fn example(value: Value) -> String {
    match value {
        Value::Count => "3".to_owned(),
        Value::Duration => "\"59m\"".to_owned(),
        Value::Pause => "\"1s..1m\"".to_owned(),
        Value::Cron => "\"0 3 * * *\"".to_owned(),
        Value::Zone => "\"Europe/Berlin\"".to_owned(),
        Value::Word(words) => quoted(words).swap_remove(0),
        Value::Flag => String::new(),
        Value::Function => "PayError::is_temporary".to_owned(),
        Value::Step => "refund".to_owned(),
    }
}

fn quoted(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| format!("\"{word}\"")).collect()
}

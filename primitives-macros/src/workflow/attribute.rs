//! `#[workflow(events(Approved, Rejected), retention = "30d")]`, parsed.

use proc_macro2::TokenStream;
use syn::{
    Ident, Path, Token, parenthesized,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
    token::Paren,
};

use crate::syntax::{
    attribute::{Setting, setting},
    diagnostics::Mistakes,
    kinds::Value,
    options, types,
};

/// The options of a workflow.
pub(super) const OPTIONS: &[(&str, Value)] = &[
    ("retention", Value::Duration),
    ("cron", Value::Cron),
    ("zone", Value::Zone),
    ("missed", Value::Word(&["skip", "once", "backfill"])),
    ("overlap", Value::Word(&["skip", "queue", "parallel"])),
];

/// The options that have a meaning only beside `cron`.
const BESIDE_CRON: &[&str] = &["zone", "missed", "overlap"];

const EVENTS_FORM: &str = "`events(Approved, Rejected)`";

/// The parsed attribute.
#[derive(Default)]
pub(super) struct Attribute {
    pub(super) events: Vec<Path>,
    pub(super) options: Vec<Setting>,
}

impl Attribute {
    pub(super) fn parse(tokens: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut attribute = Self::default();
        let parse = |input: ParseStream<'_>| {
            attribute.read(input, mistakes).or_else(|error| {
                mistakes.add(error);
                input.parse::<TokenStream>().map(drop)
            })
        };
        if let Err(error) = parse.parse2(tokens) {
            mistakes.add(error);
        }
        attribute.check(mistakes);
        attribute
    }

    fn read(&mut self, input: ParseStream<'_>, mistakes: &mut Mistakes) -> syn::Result<()> {
        while !input.is_empty() {
            if input.peek(Ident) && input.peek2(Paren) {
                self.list(input, mistakes)?;
            } else {
                self.options.push(setting(input, &self.options, mistakes)?);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }

    /// Reads `events(..)`.
    fn list(&mut self, input: ParseStream<'_>, mistakes: &mut Mistakes) -> syn::Result<()> {
        let (word, content): (Ident, _) = (input.parse()?, input);
        let events;
        parenthesized!(events in content);
        if word != "events" {
            mistakes.at(&word, format!("a workflow has no list `{word}`; its events are {EVENTS_FORM}"));
            return events.parse::<TokenStream>().map(drop);
        }
        for event in Punctuated::<Path, Token![,]>::parse_terminated(&events)? {
            let text = types::text(&event);
            if self.events.iter().any(|other| types::text(other) == text) {
                mistakes.at(&event, format!("the event `{text}` is listed twice"));
            } else {
                self.events.push(event);
            }
        }
        Ok(())
    }

    fn check(&self, mistakes: &mut Mistakes) {
        if let Some(setting) = self.options.iter().find(|setting| setting.name == "events") {
            mistakes.at(&setting.name, format!("events are listed: write {EVENTS_FORM}"));
        }
        let is_option = |setting: &&Setting| setting.name != "events";
        let options: Vec<&Setting> = self.options.iter().filter(is_option).collect();
        options::check_all("a workflow", &options, OPTIONS, mistakes);
        if !options.iter().any(|setting| setting.name == "cron") {
            for name in
                options.iter().map(|setting| &setting.name).filter(|name| BESIDE_CRON.iter().any(|it| name == it))
            {
                let example = options::example(Value::Cron);
                mistakes.at(name, format!("`{name}` is an option of `cron`: write it beside `cron = {example}`"));
            }
        }
    }
}

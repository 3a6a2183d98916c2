//! Code that takes a transaction: steps, hooks and actions. For example:
//!
//! `#[step(transaction)] fn book(total: u64, sql: &mut Transaction<'_>) -> Result<i64, Failure>`

use proc_macro2::Ident;
use syn::{FnArg, ImplItemFn, PatType, Signature, Type};

use super::{
    attribute::{Given, Setting},
    diagnostics::Mistakes,
    function::strip_reference,
    options::millis,
    parameter::{self, Parameter},
    types,
};

/// The longest `timeout` of transactional code. No other write can happen while the code runs.
const LIMIT_MILLIS: u64 = 10_000;

/// The words for the code in messages.
pub(crate) struct Noun {
    /// With its article or attribute: `a transactional step`.
    pub(crate) full: String,
    /// In one word: `step`.
    pub(crate) short: &'static str,
    /// Where the code can take from what it needs, if it asks for a service.
    pub(crate) advice: &'static str,
}

impl Noun {
    pub(crate) fn step() -> Self {
        Self {
            full: "a transactional step".to_owned(),
            short: "step",
            advice: "take what it needs as input, from a `#[step] async fn` before it",
        }
    }

    pub(crate) fn hook(word: &Ident) -> Self {
        Self::of(word, "hook")
    }

    pub(crate) fn action(word: &Ident) -> Self {
        Self::of(word, "action")
    }

    fn of(word: &Ident, short: &'static str) -> Self {
        Self {
            full: format!("`#[{word}(transaction)]`"),
            short,
            advice: "what it needs is in its state, its input or its tables",
        }
    }
}

/// Removes the word `transaction` from the options, because it is not part of the policy. Returns whether it
/// was there.
pub(crate) fn take_word(settings: &mut Vec<Setting>) -> bool {
    let place = settings.iter().position(|setting| setting.name == "transaction");
    place.map(|place| settings.remove(place)).is_some()
}

/// Reads the parameters: the inputs, and the index of the transaction among all parameters. Returns `None`
/// after reporting mistakes.
pub(crate) fn parameters(
    noun: &Noun,
    function: &ImplItemFn,
    struct_: &Type,
    mistakes: &mut Mistakes,
) -> Option<(Vec<Parameter>, usize)> {
    let signature = &function.sig;
    let is_sync = is_sync(noun, signature, mistakes);
    let (mut inputs, mut place, mut is_well) = (Vec::new(), None, true);
    for (index, typed) in typed(signature).enumerate() {
        if names_transaction(&typed.ty) {
            is_well &= is_lent(typed, mistakes) && is_first(noun, place, typed, mistakes);
            place = place.or(Some(index));
        } else {
            match input(noun, index, typed, struct_, mistakes) {
                Some(input) => inputs.push(input),
                None => is_well = false,
            }
        }
    }
    if place.is_none() && is_well {
        let name = &signature.ident;
        let full = &noun.full;
        let message = format!("{full} takes its transaction: write `fn {name}(.., sql: &mut Transaction<'_>)`");
        mistakes.at(name, message);
    }
    place.filter(|_| is_sync && is_well).map(|place| (inputs, place))
}

/// Reports code that takes a transaction without `transaction` in its attribute. Returns whether it does.
pub(crate) fn refuse(form: &str, signature: &Signature, mistakes: &mut Mistakes) -> bool {
    let taken = typed(signature).find(|typed| is_mutable(&typed.ty) && names_transaction(&typed.ty));
    if let Some(taken) = taken {
        let message = format!("a transaction is for a {form} fn {}(..)`", signature.ident);
        mistakes.at(&taken.ty, message);
    }
    taken.is_some()
}

/// Checks that a literal `timeout` is at most 10 seconds. The compiler checks constants.
pub(crate) fn check_timeout(noun: &Noun, settings: &[Setting], mistakes: &mut Mistakes) {
    for setting in settings.iter().filter(|setting| setting.name == "timeout") {
        if let Some(value @ Given::Literal(syn::Lit::Str(text))) = &setting.value
            && millis(&text.value()).is_ok_and(|millis| millis > LIMIT_MILLIS)
        {
            let message = format!("nobody else writes while {} runs: its `timeout` is \"10s\" at most", noun.full);
            mistakes.at(value, message);
        }
    }
}

fn is_sync(noun: &Noun, signature: &Signature, mistakes: &mut Mistakes) -> bool {
    if let Some(word) = &signature.asyncness {
        let message = format!(
            "{} cannot wait, for nobody else writes meanwhile: write `fn {}(..)` without `async`",
            noun.full, signature.ident
        );
        mistakes.at(word, message);
    }
    signature.asyncness.is_none()
}

fn is_lent(typed: &PatType, mistakes: &mut Mistakes) -> bool {
    let is_lent = is_mutable(&typed.ty);
    if !is_lent {
        mistakes.at(&typed.ty, "the transaction is lent to be written: write `&mut Transaction<'_>`");
    }
    is_lent
}

fn is_first(noun: &Noun, before: Option<usize>, typed: &PatType, mistakes: &mut Mistakes) -> bool {
    if before.is_some() {
        let message = format!("a {} has one transaction, and takes it already", noun.short);
        mistakes.at(&typed.ty, message);
    }
    before.is_none()
}

/// Reads an input, or a client to send with. Transactional code may take no other reference.
fn input(noun: &Noun, index: usize, typed: &PatType, struct_: &Type, mistakes: &mut Mistakes) -> Option<Parameter> {
    match parameter::parameter(index, typed, struct_, mistakes)? {
        taken @ (Parameter::Input { .. } | Parameter::Client(_)) => Some(taken),
        Parameter::Service(_) | Parameter::Context | Parameter::Heartbeat(_) => {
            let (full, advice) = (&noun.full, noun.advice);
            let message = format!("{full} acts on its transaction alone, for it may be executed again: {advice}");
            mistakes.at(&typed.ty, message);
            None
        }
    }
}

fn is_mutable(ty: &Type) -> bool {
    matches!(types::bare(ty), Type::Reference(reference) if reference.mutability.is_some())
}

/// Whether a type is `Transaction`, judged by its name, with or without a reference.
pub(crate) fn names_transaction(ty: &Type) -> bool {
    types::last_segment(strip_reference(ty)).is_some_and(|segment| segment.ident == "Transaction")
}

fn typed(signature: &Signature) -> impl Iterator<Item = &PatType> {
    signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    })
}

//! Code that takes a transaction: `#[step(transaction)] fn book(total: u64, sql: &mut Transaction<'_>) -> Result<i64, Failure>`,
//! hooks and actions.

use proc_macro2::Ident;
use syn::{FnArg, ImplItemFn, PatType, Signature, Type};

use crate::{
    duration,
    mistakes::Mistakes,
    primitive::{
        attribute::{Given, Setting},
        function::strip_reference,
        parameter::{self, Parameter},
    },
    types,
};

/// Such code takes at most so long, for nobody else writes meanwhile.
const LIMIT_MILLIS: u64 = 10_000;

/// What the mistakes of such code are told about.
pub(crate) struct Noun {
    /// The code: `a transactional step`.
    pub(crate) full: String,
    /// The same in a word: `step`.
    pub(crate) short: &'static str,
    /// Where it takes what it needs from.
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

/// Takes the word `transaction` out of the options: it is no part of the policy.
pub(crate) fn take_word(settings: &mut Vec<Setting>) -> bool {
    let place = settings.iter().position(|setting| setting.name == "transaction");
    place.map(|place| settings.remove(place)).is_some()
}

/// What it takes: its inputs, and at which place among them its transaction; `None` once its mistakes are told.
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

/// Tells code that takes a transaction and does not say so.
pub(crate) fn refuse(form: &str, signature: &Signature, mistakes: &mut Mistakes) -> bool {
    let taken = typed(signature).find(|typed| is_mutable(&typed.ty) && names_transaction(&typed.ty));
    if let Some(taken) = taken {
        let message = format!("a transaction is for a {form} fn {}(..)`", signature.ident);
        mistakes.at(&taken.ty, message);
    }
    taken.is_some()
}

/// `timeout = "10s"` at most; that of a constant is looked at by the compiler.
pub(crate) fn check_timeout(noun: &Noun, settings: &[Setting], mistakes: &mut Mistakes) {
    for setting in settings.iter().filter(|setting| setting.name == "timeout") {
        if let Some(value @ Given::Literal(syn::Lit::Str(text))) = &setting.value
            && duration::parse(&text.value()).is_ok_and(|millis| millis > LIMIT_MILLIS)
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

/// An input, or a client to send by: nothing else is lent to it.
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

/// `&mut Transaction<'_>`, by its name.
pub(crate) fn names_transaction(ty: &Type) -> bool {
    types::last_segment(strip_reference(ty)).is_some_and(|segment| segment.ident == "Transaction")
}

fn typed(signature: &Signature) -> impl Iterator<Item = &PatType> {
    signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    })
}

//! `#[step(transaction)] fn book(total: u64, sql: &mut Transaction<'_>) -> Result<i64, Failure>`.

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

/// A transactional step takes at most so long, for nobody else writes meanwhile.
const LIMIT_MILLIS: u64 = 10_000;

/// Takes the word `transaction` out of the options: it is no part of the policy.
pub(super) fn take_word(settings: &mut Vec<Setting>) -> bool {
    let place = settings.iter().position(|setting| setting.name == "transaction");
    place.map(|place| settings.remove(place)).is_some()
}

/// What it takes: its inputs, and at which place among them its transaction; `None` once its mistakes are told.
pub(super) fn parameters(
    function: &ImplItemFn,
    struct_: &Type,
    mistakes: &mut Mistakes,
) -> Option<(Vec<Parameter>, usize)> {
    let signature = &function.sig;
    let is_sync = is_sync(signature, mistakes);
    let (mut inputs, mut place, mut is_well) = (Vec::new(), None, true);
    for (index, typed) in typed(signature).enumerate() {
        if names_transaction(&typed.ty) {
            is_well &= is_lent(typed, mistakes) && is_first(place, typed, mistakes);
            place = place.or(Some(index));
        } else {
            match input(index, typed, struct_, mistakes) {
                Some(input) => inputs.push(input),
                None => is_well = false,
            }
        }
    }
    if place.is_none() && is_well {
        let name = &signature.ident;
        let message =
            format!("a transactional step takes its transaction: write `fn {name}(.., sql: &mut Transaction<'_>)`");
        mistakes.at(name, message);
    }
    place.filter(|_| is_sync && is_well).map(|place| (inputs, place))
}

/// Tells a step that takes a transaction and does not say so.
pub(super) fn refuse(signature: &Signature, mistakes: &mut Mistakes) -> bool {
    let taken = typed(signature).find(|typed| is_mutable(&typed.ty) && names_transaction(&typed.ty));
    if let Some(taken) = taken {
        let message = format!(
            "a transaction is for a step that says so: write `#[step(transaction)] fn {}(..)`",
            signature.ident
        );
        mistakes.at(&taken.ty, message);
    }
    taken.is_some()
}

/// `timeout = "10s"` at most; that of a constant is looked at by the compiler.
pub(super) fn check_timeout(settings: &[Setting], mistakes: &mut Mistakes) {
    for setting in settings.iter().filter(|setting| setting.name == "timeout") {
        if let Some(value @ Given::Literal(syn::Lit::Str(text))) = &setting.value
            && duration::parse(&text.value()).is_ok_and(|millis| millis > LIMIT_MILLIS)
        {
            let message = "nobody else writes while a transactional step runs: its `timeout` is \"10s\" at most";
            mistakes.at(value, message);
        }
    }
}

fn is_sync(signature: &Signature, mistakes: &mut Mistakes) -> bool {
    if let Some(word) = &signature.asyncness {
        let message = format!(
            "a transactional step cannot wait, for nobody else writes meanwhile: write `fn {}(..)` without `async`",
            signature.ident
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

fn is_first(before: Option<usize>, typed: &PatType, mistakes: &mut Mistakes) -> bool {
    if before.is_some() {
        mistakes.at(&typed.ty, "a step has one transaction, and takes it already");
    }
    before.is_none()
}

/// An input: nothing else is lent to it.
fn input(index: usize, typed: &PatType, struct_: &Type, mistakes: &mut Mistakes) -> Option<Parameter> {
    match parameter::parameter(index, typed, struct_, mistakes)? {
        input @ Parameter::Input { .. } => Some(input),
        Parameter::Service(_) | Parameter::Client(_) | Parameter::Context | Parameter::Heartbeat(_) => {
            let message = "a transactional step acts on its transaction alone, for it may be executed again: take what it needs \
                 as input, from a `#[step] async fn` before it";
            mistakes.at(&typed.ty, message);
            None
        }
    }
}

fn is_mutable(ty: &Type) -> bool {
    matches!(types::bare(ty), Type::Reference(reference) if reference.mutability.is_some())
}

/// `&mut Transaction<'_>`, by its name.
fn names_transaction(ty: &Type) -> bool {
    types::last_segment(strip_reference(ty)).is_some_and(|segment| segment.ident == "Transaction")
}

fn typed(signature: &Signature) -> impl Iterator<Item = &PatType> {
    signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    })
}

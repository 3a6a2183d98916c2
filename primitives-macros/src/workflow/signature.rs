//! Reads the parameters and return types of a workflow's functions by their roles. Each reader returns
//! `None` after reporting mistakes.

use syn::{FnArg, ImplItemFn, PatType, ReturnType, Signature, Type};

use super::model::{Cancelled, Query, Run};
use crate::syntax::{
    diagnostics::Mistakes,
    function::{Function, borrowed, is_async, is_plain, strip_reference},
    parameter::{self, Parameter},
    returns::Returns,
    types,
};

const RUN_FORM: &str = "write `async fn run(flow: &Flow<Self>, ..) -> Result<T, E>`";
const CANCELLED_FORM: &str = "write `#[cancelled] async fn cleanup(flow: &Flow<Self>)`";

/// Reads the body: `async fn run(flow: &Flow<Self>, order: Order) -> Result<Receipt, CheckoutError>`.
pub(super) fn run(function: &ImplItemFn, struct_: &Type, mistakes: &mut Mistakes) -> Option<Run> {
    let (noun, signature) = ("`run`", &function.sig);
    let is_async = is_async(noun, signature, mistakes);
    let is_plain = is_plain(noun, signature, mistakes);
    let has_flow = has_flow_first(noun, RUN_FORM, signature, mistakes);
    let mut inputs = Vec::new();
    for (index, typed) in typed(signature).enumerate().skip(1) {
        inputs.push(input(index, typed, struct_, mistakes));
    }
    let returns = Returns::read(signature, struct_);
    let travels = returns.check_travels(noun, signature, mistakes);
    if !is_async || !is_plain || !has_flow || !travels {
        return None;
    }
    let inputs: Option<Vec<Parameter>> = inputs.into_iter().collect();
    Some(Run { function: Function::new(function, false, inputs?), returns })
}

/// Reads an input of a body. The only references a body may take are clients of other primitives, which it
/// calls by its `Flow`.
fn input(index: usize, typed: &PatType, struct_: &Type, mistakes: &mut Mistakes) -> Option<Parameter> {
    if is_flow(&typed.ty) {
        mistakes.at(&typed.ty, "the body has its `Flow` already: it is its first parameter");
        return None;
    }
    match parameter::parameter(index, typed, struct_, mistakes)? {
        input @ Parameter::Input { .. } => Some(input),
        Parameter::Context => {
            let message = "`&Context` is for steps and queries: a body has `flow.key()`, `flow.now()`";
            mistakes.at(&typed.ty, message);
            None
        }
        client @ Parameter::Client(_) => Some(client),
        Parameter::Service(_) | Parameter::Heartbeat(_) => {
            let taken = format!("{}: {}", types::text(&typed.pat), types::text(&typed.ty));
            let message = format!(
                "services are for steps, for a body runs again in every replay: write `#[step] async fn act(.., {taken})`, \
                 and await `flow.act(..)`"
            );
            mistakes.at(&typed.ty, message);
            None
        }
    }
}

/// Reads `#[cancelled] async fn cleanup(flow: &Flow<Self>)`.
pub(super) fn cancelled(
    word: proc_macro2::Ident,
    function: &ImplItemFn,
    struct_: &Type,
    mistakes: &mut Mistakes,
) -> Option<Cancelled> {
    let (noun, signature) = ("`#[cancelled]`", &function.sig);
    let is_async = is_async(noun, signature, mistakes);
    let is_plain = is_plain(noun, signature, mistakes);
    let has_flow = has_flow_first(noun, CANCELLED_FORM, signature, mistakes);
    let more = typed(signature).nth(1);
    if let Some(more) = more {
        mistakes.at(more, format!("`#[cancelled]` takes its `Flow` and nothing else: {CANCELLED_FORM}"));
    }
    let returns = Returns::read(signature, struct_);
    let returns_nothing = match &returns {
        Returns::Plain(ty) => types::is_unit(ty),
        Returns::Fallible(fallible) => fallible.value.as_ref().is_none_or(types::is_unit),
    };
    if let (false, ReturnType::Type(_, written)) = (returns_nothing, &signature.output) {
        mistakes.at(written, "nobody receives what `#[cancelled]` returns: return nothing, or `Result<(), E>`");
    }
    if !is_async || !is_plain || !has_flow || !returns_nothing || more.is_some() {
        return None;
    }
    Some(Cancelled { word, name: signature.ident.clone(), returns })
}

/// Reads a query: `async fn stage(&self) -> Stage`.
pub(super) fn query(function: &ImplItemFn, struct_: &Type, mistakes: &mut Mistakes) -> Option<Query> {
    let (noun, signature) = ("a query", &function.sig);
    let is_plain = is_plain(noun, signature, mistakes);
    let receiver = signature.receiver()?;
    let reads = borrowed(receiver) == Some(false);
    if !reads {
        mistakes.at(receiver, "a query reads: write `&self`; an update changes the state: write `&mut self`");
    }
    let has_flow = refuse_flow(noun, signature, mistakes);
    let parameters = if has_flow { None } else { parameter::read(signature, struct_, mistakes) };
    let returns = Returns::read(signature, struct_);
    let travels = returns.check_travels(noun, signature, mistakes);
    if !is_plain || !reads || !travels {
        return None;
    }
    Some(Query { function: Function::new(function, false, parameters?), returns })
}

/// Reports a step or a query that takes a `Flow`, which only bodies have. Returns whether it does.
pub(super) fn refuse_flow(noun: &str, signature: &Signature, mistakes: &mut Mistakes) -> bool {
    let flow = typed(signature).find(|typed| is_flow(&typed.ty));
    if let Some(flow) = flow {
        let message = format!("{noun} has no `Flow`, only the body has: take what it needs as its input");
        mistakes.at(flow, message);
    }
    flow.is_some()
}

/// Whether the first parameter is the `Flow` and there is no `self`. Reports a mistake otherwise.
fn has_flow_first(noun: &str, form: &str, signature: &Signature, mistakes: &mut Mistakes) -> bool {
    if let Some(receiver) = signature.receiver() {
        mistakes.at(receiver, format!("{noun} has no `self`: {form}; it sees the state by `flow.look(..)`"));
        return false;
    }
    match typed(signature).next() {
        Some(first) if is_flow(&first.ty) => true,
        Some(first) => {
            mistakes.at(first, format!("{noun} takes its `Flow` first: {form}"));
            false
        }
        None => {
            mistakes.at(&signature.ident, format!("{noun} takes its `Flow`: {form}"));
            false
        }
    }
}

/// Whether a type is `&Flow<..>`, judged by its name.
fn is_flow(ty: &Type) -> bool {
    matches!(types::bare(ty), Type::Reference(reference) if reference.mutability.is_none())
        && types::last_segment(strip_reference(ty)).is_some_and(|segment| segment.ident == "Flow")
}

pub(super) fn typed(signature: &Signature) -> impl Iterator<Item = &PatType> {
    signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    })
}

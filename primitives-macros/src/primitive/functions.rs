//! Reads the functions of a primitive into the model by their roles. Each reader returns `None` after reporting mistakes.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{FnArg, ImplItemFn, ReceiverKind, ReturnType, Signature, Type};

use super::model::{Action, Apply, Create, Hook, Init, Reduce, Transactional};
use crate::syntax::{
    attribute::Setting,
    diagnostics::Mistakes,
    function::{Function, is_async, is_plain, is_sync, strip_reference, writes},
    kinds::Value,
    options,
    parameter::{self, Parameter},
    returns::{Fallible, Returns},
    transaction::{self, Noun},
    types,
    waiting::may_wait,
};

/// Reads an action: an `async fn` with `&self` or `&mut self`.
pub(crate) fn action(function: &ImplItemFn, struct_: &Type, mistakes: &mut Mistakes) -> Option<Action> {
    let signature = &function.sig;
    let is_plain = is_plain("an action", signature, mistakes);
    let writes = writes("an action", signature, mistakes);
    let parameters = parameter::read(signature, struct_, mistakes);
    let returns = Returns::read(signature, struct_);
    let travels = returns.check_travels("an action", signature, mistakes);
    if !is_plain || !travels {
        return None;
    }
    let waits = may_wait(function.block.to_token_stream());
    let function = Function::new(function, writes?, parameters?);
    let plain = function.writes && function.takes_input_only() && !waits;
    Some(Action { function, returns, transaction: None, plain })
}

/// Reads `#[action(transaction)]`: a plain `fn` with `&self` or `&mut self` that takes a transaction.
pub(crate) fn transactional(
    (word, settings): (Ident, Vec<Setting>),
    function: &ImplItemFn,
    struct_: &Type,
    mistakes: &mut Mistakes,
) -> Option<Action> {
    let (noun, signature) = (Noun::action(&word), &function.sig);
    let all: Vec<&Setting> = settings.iter().collect();
    options::check_all("`#[action(transaction)]`", &all, &[("timeout", Value::Duration)], mistakes);
    transaction::check_timeout(&noun, &settings, mistakes);
    let is_plain = is_plain("an action", signature, mistakes);
    let writes = writes("an action", signature, mistakes);
    let parameters = transaction::parameters(&noun, function, struct_, mistakes);
    let returns = Returns::read(signature, struct_);
    let travels = returns.check_travels("an action", signature, mistakes);
    if !is_plain || !travels {
        return None;
    }
    let (parameters, place) = parameters?;
    let timeout = settings.into_iter().find(|setting| setting.name == "timeout").and_then(|setting| setting.value);
    let transaction = Some(Transactional { place, timeout });
    Some(Action { function: Function::new(function, writes?, parameters), returns, transaction, plain: false })
}

/// Reads a hook. It takes `self` and at most one input, returns a `Result`, and is `async` unless it is
/// transactional.
pub(crate) fn hook(
    (word, is_transaction): (Ident, bool),
    function: &ImplItemFn,
    struct_: &Type,
    mistakes: &mut Mistakes,
) -> Option<Hook> {
    let (noun, signature) = (format!("`#[{word}]`"), &function.sig);
    let is_async = is_transaction || is_async(&noun, signature, mistakes);
    let is_plain = is_plain(&noun, signature, mistakes);
    let writes = writes(&noun, signature, mistakes);
    let read = if is_transaction {
        let read = transaction::parameters(&Noun::hook(&word), function, struct_, mistakes);
        read.map(|(parameters, place)| (parameters, Some(place)))
    } else if transaction::refuse(&format!("hook that says so: write `#[{word}(transaction)]"), signature, mistakes) {
        None
    } else {
        parameter::read(signature, struct_, mistakes).map(|parameters| (parameters, None))
    };
    let (parameters, transaction) = read.unzip();
    let transaction = transaction.flatten();
    let inputs = parameters.as_ref().map(|parameters| one_input(&noun, parameters, mistakes));
    let returns = fallible(&noun, signature, struct_, mistakes);
    let (input, returns, writes) = (inputs??, returns?, writes?);
    let value = returns.value.filter(|value| !types::is_unit(value));
    if let (true, Some(value)) = (writes, &value) {
        let message = format!("{noun} takes `&mut self`, so it keeps its value itself: return `Result<(), E>`");
        mistakes.at(value, message);
        return None;
    }
    if !is_async || !is_plain {
        return None;
    }
    let function = Function::new(function, writes, parameters?);
    Some(Hook { word, function, input, value, error: returns.error, transaction })
}

/// Returns the `Batch` parameter of a refused hook, so that the handle still has the right item type.
pub(crate) fn item(function: &ImplItemFn) -> Option<TokenStream> {
    let batch = function.sig.inputs.iter().find_map(|argument| match argument {
        FnArg::Typed(typed) => {
            types::last_segment(&typed.ty).filter(|segment| segment.ident == "Batch").map(|_| &typed.ty)
        }
        FnArg::Receiver(_) => None,
    });
    batch.map(ToTokens::to_token_stream)
}

/// Reads `#[destroy]`: a hook without input.
pub(crate) fn destroy(
    word: (Ident, bool),
    function: &ImplItemFn,
    struct_: &Type,
    mistakes: &mut Mistakes,
) -> Option<Hook> {
    let hook = hook(word, function, struct_, mistakes)?;
    if let Some(wrong) = hook.input.as_ref().or(hook.value.as_ref()) {
        mistakes.at(wrong, "`#[destroy]` takes no input and returns `Result<(), E>`");
        return None;
    }
    Some(hook)
}

/// Reads `#[create]`: an `async fn` without `self` that makes a `Self` from its input.
pub(crate) fn create(function: &ImplItemFn, struct_: &Type, mistakes: &mut Mistakes) -> Option<Create> {
    let (noun, signature) = ("`#[create]`", &function.sig);
    let is_async = is_async(noun, signature, mistakes);
    let is_plain = is_plain(noun, signature, mistakes);
    let receiver = signature.receiver();
    if let Some(receiver) = receiver {
        mistakes.at(receiver, "`#[create]` makes the state, so it has no `self`: its input is what it takes owned");
    }
    let parameters = parameter::read(signature, struct_, mistakes);
    let returns = makes(noun, signature, struct_, mistakes)?;
    let travels = returns.check_travels(noun, signature, mistakes);
    if !is_async || !is_plain || !travels || receiver.is_some() {
        return None;
    }
    Some(Create { function: Function::new(function, true, parameters?), returns })
}

/// Reads the return type of a function that makes a `Self`. Any other type is a mistake and gives `None`.
fn makes(noun: &str, signature: &Signature, struct_: &Type, mistakes: &mut Mistakes) -> Option<Returns> {
    let name = |ty: &Type| types::last_segment(ty).map(|segment| segment.ident.clone());
    let returns = Returns::read(signature, struct_);
    let is_state = match &returns {
        Returns::Plain(ty) => name(ty) == name(struct_),
        // An alias such as `MyResult` need not name its success type. The compiler checks that type.
        Returns::Fallible(fallible) => fallible.value.as_ref().is_none_or(|value| name(value) == name(struct_)),
    };
    if is_state {
        return Some(returns);
    }
    let message = format!("{noun} returns the state: write `-> Self` or `-> Result<Self, E>`");
    match &signature.output {
        ReturnType::Default => mistakes.at(&signature.ident, message),
        ReturnType::Type(_, written) => mistakes.at(written, message),
    }
    None
}

/// Reads `#[init]`: an `async fn` without `self` and without input that makes a `Self`.
pub(crate) fn init(word: Ident, function: &ImplItemFn, struct_: &Type, mistakes: &mut Mistakes) -> Option<Init> {
    let (noun, signature) = ("`#[init]`", &function.sig);
    let is_async = is_async(noun, signature, mistakes);
    let is_plain = is_plain(noun, signature, mistakes);
    if let Some(receiver) = signature.receiver() {
        mistakes.at(receiver, "`#[init]` makes the state, so it has no `self`: write `async fn init() -> Self`");
        return None;
    }
    let parameters = parameter::read(signature, struct_, mistakes)?;
    for argument in &signature.inputs {
        let FnArg::Typed(typed) = argument else { continue };
        let is_client =
            types::last_segment(strip_reference(&typed.ty)).is_some_and(|segment| segment.ident == "Client");
        if !matches!(types::bare(&typed.ty), Type::Reference(_)) || is_client {
            mistakes.at(
                &typed.ty,
                "`#[init]` takes services (`&T`) and `&Context` only; what needs input is a `#[create]`",
            );
            return None;
        }
    }
    if let ReturnType::Default = signature.output {
        mistakes.at(&signature.ident, "`#[init]` returns the state: write `-> Self` or `-> Result<Self, E>`");
        return None;
    }
    let returns = Returns::read(signature, struct_);
    (is_async && is_plain).then(|| Init { word, function: Function::new(function, true, parameters), returns })
}

/// Reads `#[reduce] fn fold(total: &mut Total, item: Item)`.
pub(crate) fn reduce(word: Ident, function: &ImplItemFn, struct_: &Type, mistakes: &mut Mistakes) -> Option<Reduce> {
    const FORM: &str = "write `#[reduce] fn fold(total: &mut Total, item: Item)`";
    let signature = &function.sig;
    let is_sync = is_sync("`#[reduce]`", FORM, signature, mistakes);
    let is_plain = is_plain("`#[reduce]`", signature, mistakes);
    let mut types_taken = signature.inputs.iter().map(|argument| match argument {
        FnArg::Typed(typed) => Some(types::without_self(&typed.ty, struct_)),
        FnArg::Receiver(_) => None,
    });
    let (total, item, more) = (types_taken.next().flatten(), types_taken.next().flatten(), types_taken.next());
    let total = total.as_ref().map(types::bare).and_then(|total| match total {
        Type::Reference(reference) if reference.mutability.is_some() => Some((*reference.elem).clone()),
        _ => None,
    });
    let item = item.filter(|item| !types::borrows(item.to_token_stream()));
    let (Some(total), Some(item), None, ReturnType::Default) = (total, item, more, &signature.output) else {
        mistakes.at(&signature.ident, format!("`#[reduce]` folds one item into a total: {FORM}"));
        return None;
    };
    (is_sync && is_plain).then(|| Reduce { word, name: signature.ident.clone(), total, item })
}

/// Reads `#[apply] fn apply(&mut self, value: V)`.
pub(crate) fn apply(word: Ident, function: &ImplItemFn, struct_: &Type, mistakes: &mut Mistakes) -> Option<Apply> {
    const FORM: &str = "write `#[apply] fn apply(&mut self, value: V)`";
    let signature = &function.sig;
    let is_sync = is_sync("`#[apply]`", FORM, signature, mistakes);
    let is_plain = is_plain("`#[apply]`", signature, mistakes);
    let writes =
        signature.receiver().is_some_and(|receiver| matches!(receiver.kind, ReceiverKind::Reference(_, _, Some(_))));
    let mut inputs = signature.inputs.iter().skip(1);
    let value = match (inputs.next(), inputs.next(), &signature.output) {
        (Some(FnArg::Typed(typed)), None, ReturnType::Default) => Some(types::without_self(&typed.ty, struct_)),
        _ => None,
    };
    let Some(value) = value.filter(|value| writes && !types::borrows(value.to_token_stream())) else {
        mistakes.at(&signature.ident, format!("`#[apply]` puts the value of a hook into the state: {FORM}"));
        return None;
    };
    (is_sync && is_plain).then(|| Apply { word, name: signature.ident.clone(), value })
}

/// Returns the owned parameter. At most one is allowed.
fn one_input(noun: &str, parameters: &[Parameter], mistakes: &mut Mistakes) -> Option<Option<Type>> {
    let inputs = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Input { ty, .. } => Some(ty),
        _ => None,
    });
    let inputs: Vec<&Type> = inputs.collect();
    if let [_, second, ..] = inputs.as_slice() {
        mistakes.at(second, format!("{noun} is given one thing by its kind; services are taken by reference: `&T`"));
        return None;
    }
    Some(inputs.first().map(|ty| (*ty).clone()))
}

fn fallible(noun: &str, signature: &Signature, struct_: &Type, mistakes: &mut Mistakes) -> Option<Fallible> {
    match Returns::read(signature, struct_) {
        Returns::Fallible(fallible) => Some(fallible),
        Returns::Plain(_) => {
            let message = format!("{noun} can fail, and is then tried again: return `Result<(), E>`");
            match &signature.output {
                ReturnType::Default => mistakes.at(&signature.ident, message),
                ReturnType::Type(_, ty) => mistakes.at(ty, message),
            }
            None
        }
    }
}

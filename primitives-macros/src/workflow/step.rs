//! Reads a step, for example:
//!
//! `#[step(max_attempts = 5)] async fn charge(card: Card, pay: &Payments) -> Result<Charge, PayError>`

use proc_macro2::Ident;
use syn::{Attribute, ExprPath, ImplItemFn, Type};

use super::{model::Step, signature::refuse_flow};
use crate::syntax::{
    attribute::{Given, Setting},
    diagnostics::Mistakes,
    function::{Function, is_async, is_plain},
    hook_options,
    kinds::Value,
    options, parameter,
    returns::Returns,
    transaction::{self, Noun},
};

/// The options of a step.
pub(super) const OPTIONS: &[(&str, Value)] = &[
    ("max_attempts", Value::Count),
    ("backoff", Value::Pause),
    ("timeout", Value::Duration),
    ("give_up_after", Value::Duration),
    ("retry_if", Value::Function),
    ("undo", Value::Step),
    ("heartbeat", Value::Duration),
    ("transaction", Value::Flag),
];

pub(super) fn read(
    attribute: &Attribute,
    function: &ImplItemFn,
    struct_: &Type,
    mistakes: &mut Mistakes,
) -> Option<Step> {
    let (noun, signature) = ("a step", &function.sig);
    let mut settings = settings(attribute, mistakes);
    let is_transaction = transaction::take_word(&mut settings);
    let is_async = is_transaction || is_async(noun, signature, mistakes);
    let is_plain = is_plain(noun, signature, mistakes);
    let receiver = signature.receiver();
    if let Some(receiver) = receiver {
        mistakes.at(receiver, "a step has no `self`: its input is what it takes owned, services are `&T`");
    }
    let has_flow = refuse_flow(noun, signature, mistakes);
    let parameters = match (has_flow, is_transaction) {
        (true, _) => None,
        (false, true) => {
            transaction::check_timeout(&Noun::step(), &settings, mistakes);
            transaction::parameters(&Noun::step(), function, struct_, mistakes)
                .map(|(inputs, place)| (inputs, Some(place)))
        }
        (false, false)
            if transaction::refuse("step that says so: write `#[step(transaction)]", signature, mistakes) =>
        {
            None
        }
        (false, false) => parameter::read_step(signature, struct_, mistakes).map(|parameters| (parameters, None)),
    };
    let returns = Returns::read(signature, struct_);
    let travels = returns.check_travels(noun, signature, mistakes);
    let retry_if = take_retry_if(&mut settings, &returns, function, mistakes);
    let undo = take_undo(&mut settings, mistakes);
    if !is_async || !is_plain || !travels || receiver.is_some() {
        return None;
    }
    let (parameters, transaction) = parameters?;
    let function = Function::new(function, false, parameters);
    Some(Step { function, returns, options: settings, retry_if, undo, transaction })
}

/// Reads and checks the options of a step.
fn settings(attribute: &Attribute, mistakes: &mut Mistakes) -> Vec<Setting> {
    let settings = hook_options::settings("a step", attribute, mistakes);
    options::check_all("a step", &settings.iter().collect::<Vec<_>>(), OPTIONS, mistakes);
    settings
}

/// Takes `undo = refund` out of the options. It names another step of the block, and is not part of the
/// policy.
fn take_undo(settings: &mut Vec<Setting>, mistakes: &mut Mistakes) -> Option<Ident> {
    let place = settings.iter().position(|setting| setting.name == "undo")?;
    let Some(Given::Constant(path)) = settings.remove(place).value else { return None };
    let name = path.path.get_ident().filter(|_| path.qself.is_none()).cloned();
    if name.is_none() {
        mistakes.at(&path, "the undo is a step of this block: write its name alone, `undo = refund`");
    }
    name
}

/// Takes `retry_if = PayError::is_temporary` out of the options. The value is code, and code is not stored,
/// so `retry_if` is not part of the policy.
fn take_retry_if(
    settings: &mut Vec<Setting>,
    returns: &Returns,
    function: &ImplItemFn,
    mistakes: &mut Mistakes,
) -> Option<ExprPath> {
    let place = settings.iter().position(|setting| setting.name == "retry_if")?;
    let setting = settings.remove(place);
    if let Returns::Plain(_) = returns {
        let name = &function.sig.ident;
        let message = format!("`retry_if` looks at an error, and `{name}` has none: return `Result<T, E>`");
        mistakes.at(&setting.name, message);
    }
    match setting.value {
        Some(Given::Constant(path)) => Some(path),
        _ => None,
    }
}

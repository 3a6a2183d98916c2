//! The parameters of a function: owned values are its input, references are lent by the app.

use proc_macro2::Ident;
use quote::{ToTokens, format_ident};
use syn::{FnArg, Pat, PatType, Signature, Type, TypeReference};

use super::{diagnostics::Mistakes, transaction, types};

/// A parameter. The type decides the variant.
pub(crate) enum Parameter {
    /// An owned value. It is part of the call and stored with it.
    Input { name: Ident, ty: Type },
    /// `&T`: a service of the app.
    Service(Type),
    /// `&Context`: when and for which entity the code runs.
    Context,
    /// `&Client<P>`: a client of another primitive.
    Client(Type),
    /// `&Heartbeat<T>`: reports the progress of a step.
    Heartbeat(Type),
}

/// Reads the parameters after `self`. Any mistake gives `None`.
pub(crate) fn read(signature: &Signature, struct_: &Type, mistakes: &mut Mistakes) -> Option<Vec<Parameter>> {
    let parameters = read_step(signature, struct_, mistakes)?;
    let beats = parameters.iter().position(|parameter| matches!(parameter, Parameter::Heartbeat(_)));
    if let Some(index) = beats {
        let typed = signature.inputs.iter().filter(|argument| matches!(argument, FnArg::Typed(_))).nth(index);
        mistakes
            .at(typed, "a heartbeat with progress is for a `#[step]`; elsewhere `cx: &Context` has `cx.heartbeat()`");
        return None;
    }
    Some(parameters)
}

/// Reads the parameters of a step, which may include a heartbeat.
pub(crate) fn read_step(signature: &Signature, struct_: &Type, mistakes: &mut Mistakes) -> Option<Vec<Parameter>> {
    let typed = signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    let read: Vec<_> = typed.enumerate().map(|(index, typed)| parameter(index, typed, struct_, mistakes)).collect();
    read.into_iter().collect()
}

/// Reads one parameter. A mistake gives `None`.
pub(crate) fn parameter(index: usize, typed: &PatType, struct_: &Type, mistakes: &mut Mistakes) -> Option<Parameter> {
    let ty = types::without_self(&typed.ty, struct_);
    match types::bare(&ty) {
        Type::Reference(reference) => lent(reference, &typed.ty, mistakes),
        owned => input(index, &typed.pat, owned.clone(), &typed.ty, mistakes),
    }
}

fn input(index: usize, pat: &Pat, ty: Type, written: &Type, mistakes: &mut Mistakes) -> Option<Parameter> {
    let segment = types::last_segment(&ty);
    if segment.is_some_and(|segment| ["Context", "Client", "Heartbeat"].iter().any(|lent| segment.ident == lent)) {
        mistakes.at(written, format!("this is lent: write `&{}`", types::text(&ty)));
        return None;
    }
    if types::borrows(ty.to_token_stream()) {
        let message =
            "an input is owned, for it is stored with the call: write a type without `&`, `impl` or lifetimes";
        mistakes.at(written, message);
        return None;
    }
    Some(Parameter::Input { name: name(index, pat), ty })
}

/// The name of a parameter, or `input_1` and so on if its pattern has no name.
fn name(index: usize, pat: &Pat) -> Ident {
    match pat {
        Pat::Ident(pat) => pat.ident.clone(),
        _ => format_ident!("input_{}", index + 1),
    }
}

fn lent(reference: &TypeReference, written: &Type, mistakes: &mut Mistakes) -> Option<Parameter> {
    let inner = types::bare(&reference.elem);
    let message = if let Some(owned) = owned_form(inner) {
        format!("an input is owned: write `{owned}`")
    } else if reference.mutability.is_some() && transaction::names_transaction(inner) {
        "a transaction is for code that says so: `#[action(transaction)]`, `#[step(transaction)]`, or a hook; this code has none"
            .to_owned()
    } else if reference.mutability.is_some() {
        "a service is shared: write `&T`; an input is owned: write `T`".to_owned()
    } else if reference.lifetime.is_some() {
        "a service is lent for the call: write `&T` without a lifetime".to_owned()
    } else if types::borrows(inner.to_token_stream()) {
        "a service is one type: write `&T` or `&dyn Trait`".to_owned()
    } else {
        match inner {
            Type::Path(_) | Type::TraitObject(_) => return Some(known(inner)),
            _ => "a reference is a service, and this is not one: take it owned".to_owned(),
        }
    };
    mistakes.at(written, message);
    None
}

/// Returns the owned type to write instead of a reference to a type that can only be an input.
fn owned_form(ty: &Type) -> Option<String> {
    if let Type::Slice(slice) = ty {
        return Some(format!("Vec<{}>", types::text(&slice.elem)));
    }
    let name = types::last_segment(ty)?.ident.to_string();
    let is_value = matches!(
        name.as_str(),
        "String"
            | "Vec"
            | "Option"
            | "bool"
            | "char"
            | "u8"
            | "u16"
            | "u32"
            | "u64"
            | "u128"
            | "usize"
            | "i8"
            | "i16"
            | "i32"
            | "i64"
            | "i128"
            | "isize"
            | "f32"
            | "f64"
    );
    match name.as_str() {
        "str" => Some("String".to_owned()),
        _ => is_value.then(|| types::text(ty)),
    }
}

/// Recognizes contexts, clients and heartbeats by their names. Any other reference is a service.
fn known(ty: &Type) -> Parameter {
    match types::last_segment(ty) {
        Some(segment) if segment.ident == "Context" => Parameter::Context,
        Some(segment) if segment.ident == "Client" => match types::arguments(segment).first() {
            Some(primitive) => Parameter::Client((*primitive).clone()),
            None => Parameter::Service(ty.clone()),
        },
        Some(segment) if segment.ident == "Heartbeat" => {
            let progress = types::arguments(segment).first().map_or_else(|| syn::parse_quote!(()), |ty| (*ty).clone());
            Parameter::Heartbeat(progress)
        }
        _ => Parameter::Service(ty.clone()),
    }
}

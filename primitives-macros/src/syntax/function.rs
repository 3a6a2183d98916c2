//! A function of the author's: the parts that all roles have in common, and the checks that they share.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Attribute, ImplItemFn, Receiver, ReceiverKind, Safety, Signature, Type};

use super::{diagnostics::Mistakes, parameter::Parameter, types};

/// The parts that all of the author's functions have.
pub(crate) struct Function {
    pub(crate) name: Ident,
    /// Whether it takes `&mut self`.
    pub(crate) writes: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) deprecated: Vec<Attribute>,
}

impl Function {
    pub(crate) fn new(function: &ImplItemFn, writes: bool, parameters: Vec<Parameter>) -> Self {
        let named = |name: &str| function.attrs.iter().filter(|attr| attr.path().is_ident(name)).cloned().collect();
        let name = function.sig.ident.clone();
        Self { name, writes, parameters, docs: named("doc"), cfgs: named("cfg"), deprecated: named("deprecated") }
    }

    /// Returns the owned parameters.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (&Ident, &Type)> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Input { name, ty } => Some((name, ty)),
            _ => None,
        })
    }

    /// Whether it takes no service and no client, and so cannot act on anything outside the entity.
    pub(crate) fn is_pure(&self) -> bool {
        !self.parameters.iter().any(|parameter| matches!(parameter, Parameter::Service(_) | Parameter::Client(_)))
    }

    pub(crate) fn takes_input_only(&self) -> bool {
        self.parameters.iter().all(|parameter| matches!(parameter, Parameter::Input { .. }))
    }
}

pub(crate) fn strip_reference(ty: &Type) -> &Type {
    match types::bare(ty) {
        Type::Reference(reference) => types::bare(&reference.elem),
        other => other,
    }
}

pub(crate) fn is_async(noun: &str, signature: &Signature, mistakes: &mut Mistakes) -> bool {
    if signature.asyncness.is_none() {
        mistakes.at(signature.fn_token, format!("{noun} is async: write `async fn {}`", signature.ident));
    }
    signature.asyncness.is_some()
}

pub(crate) fn is_sync(noun: &str, form: &str, signature: &Signature, mistakes: &mut Mistakes) -> bool {
    if let Some(asyncness) = &signature.asyncness {
        mistakes.at(asyncness, format!("{noun} runs inside a commit and cannot wait: {form}"));
    }
    signature.asyncness.is_none()
}

/// Checks that a function is neither generic nor `const`, `unsafe`, `extern` or variadic.
pub(crate) fn is_plain(noun: &str, signature: &Signature, mistakes: &mut Mistakes) -> bool {
    let mut wrong = Vec::new();
    wrong.extend(signature.constness.map(|token| (token.to_token_stream(), "`const`")));
    if let Safety::Unsafe(token) = &signature.safety {
        wrong.push((token.to_token_stream(), "`unsafe`"));
    }
    wrong.extend(signature.abi.as_ref().map(|abi| (abi.to_token_stream(), "`extern`")));
    wrong.extend(signature.variadic.as_ref().map(|dots| (dots.to_token_stream(), "variadic")));
    let generics = &signature.generics;
    if !generics.params.is_empty() {
        wrong.push((generics.params.to_token_stream(), "generic"));
    } else if let Some(clause) = &generics.where_clause {
        wrong.push((clause.to_token_stream(), "generic"));
    }
    for (tokens, word) in &wrong {
        mistakes.at(tokens, format!("{noun} is called by its name and its input alone: it cannot be {word}"));
    }
    wrong.is_empty()
}

/// Whether a function takes `&mut self`, not `&self`. A function with neither is a mistake and gives `None`.
pub(crate) fn writes(noun: &str, signature: &Signature, mistakes: &mut Mistakes) -> Option<bool> {
    let Some(receiver) = signature.receiver() else {
        mistakes.at(&signature.ident, format!("{noun} works on the state: write `&self` or `&mut self`"));
        return None;
    };
    match borrowed(receiver) {
        Some(writes) => Some(writes),
        None => {
            mistakes.at(receiver, format!("{noun} borrows the state: write `&self` or `&mut self`"));
            None
        }
    }
}

pub(crate) fn borrowed(receiver: &Receiver) -> Option<bool> {
    match &receiver.kind {
        ReceiverKind::Reference(_, None, mutability) => Some(mutability.is_some()),
        _ => None,
    }
}

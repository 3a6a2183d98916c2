//! An `impl` block with `#[workflow]`, as the later stages see it.

use proc_macro2::{Ident, Span};
use syn::{ExprPath, ImplItem, ItemImpl, Path, Type};

use super::{
    attribute::Attribute,
    role::{self, Role},
    signature, step, update,
};
use crate::{
    primitive::check_header,
    syntax::{attribute::Setting, diagnostics::Mistakes, function::Function, returns::Returns, types},
};

/// The model of a workflow.
pub(super) struct Model {
    /// The author's struct as it is written. `name` is its plain name.
    pub(super) struct_: Type,
    pub(super) name: Ident,
    pub(super) options: Vec<Setting>,
    pub(super) events: Vec<Path>,
    pub(super) run: Vec<Run>,
    pub(super) steps: Vec<Step>,
    pub(super) queries: Vec<Query>,
    pub(super) cancelled: Vec<Cancelled>,
    /// Whether there is a body, even a refused one.
    pub(super) has_run: bool,
    pub(super) hash: u64,
    /// All functions of the block, and whether each is a step. Refused ones are included.
    pub(super) functions: Vec<(Ident, bool)>,
    pub(super) updates: Vec<Update>,
}

/// The body.
pub(super) struct Run {
    pub(super) function: Function,
    pub(super) returns: Returns,
}

/// A step.
pub(super) struct Step {
    pub(super) function: Function,
    pub(super) returns: Returns,
    pub(super) options: Vec<Setting>,
    pub(super) retry_if: Option<ExprPath>,
    /// The name of the undo step.
    pub(super) undo: Option<Ident>,
    /// The index of the transaction among the parameters, if the step is transactional.
    pub(super) transaction: Option<usize>,
}

/// A query: an `async fn` with `&self`.
pub(super) struct Query {
    pub(super) function: Function,
    pub(super) returns: Returns,
}

/// An update: a function with `&mut self`.
pub(super) struct Update {
    pub(super) function: Function,
    pub(super) returns: Returns,
    pub(super) is_async: bool,
}

/// The `#[cancelled]` body.
pub(super) struct Cancelled {
    pub(super) word: Ident,
    pub(super) name: Ident,
    pub(super) returns: Returns,
}

impl Model {
    /// A workflow without functions. Returns `None` if the type has no name of its own.
    pub(super) fn empty(attribute: Attribute, struct_: Type) -> Option<Self> {
        let name = types::last_segment(&struct_)?.ident.clone();
        let name = Ident::new(&name.to_string(), name.span().resolved_at(Span::call_site()));
        let Attribute { events, options } = attribute;
        Some(Self {
            struct_,
            name,
            options,
            events,
            run: Vec::new(),
            steps: Vec::new(),
            queries: Vec::new(),
            cancelled: Vec::new(),
            has_run: false,
            hash: 0,
            functions: Vec::new(),
            updates: Vec::new(),
        })
    }

    /// Whether runs are started by a cron schedule.
    pub(super) fn has_cron(&self) -> bool {
        self.options.iter().any(|setting| setting.name == "cron")
    }

    /// Reads a block into a model, and removes our attributes from it. Also returns the roles of its
    /// functions, in order.
    pub(super) fn read(
        attribute: Attribute,
        block: &mut ItemImpl,
        mistakes: &mut Mistakes,
    ) -> Option<(Self, Vec<Role>)> {
        let is_one_type = check_header("a workflow", "Checkout", block, mistakes);
        let Some(mut model) = Self::empty(attribute, (*block.self_ty).clone()) else {
            mistakes.at(&block.self_ty, "a workflow is a struct with a name: write `impl Checkout`");
            return None;
        };
        let is_of_trait = block.trait_.is_some();
        // The functions of a trait are not the workflow's, so do not report a missing body.
        model.has_run = is_of_trait;
        let mut roles = Vec::new();
        for item in &mut block.items {
            if let ImplItem::Fn(function) = item {
                let role = role::take(function, mistakes);
                model.functions.push((function.sig.ident.clone(), matches!(role, Role::Step(_))));
                if is_one_type && !is_of_trait {
                    model.add(&role, function, mistakes);
                }
                roles.push(if is_of_trait { Role::Plain } else { role });
            }
        }
        is_one_type.then_some((model, roles))
    }

    fn add(&mut self, role: &Role, function: &syn::ImplItemFn, mistakes: &mut Mistakes) {
        let struct_ = &self.struct_;
        match role {
            Role::Run => {
                self.has_run = true;
                self.run.extend(signature::run(function, struct_, mistakes));
            }
            Role::Step(attribute) => self.steps.extend(step::read(attribute, function, struct_, mistakes)),
            Role::Query => self.queries.extend(signature::query(function, struct_, mistakes)),
            Role::Update => self.updates.extend(update::read(function, struct_, mistakes)),
            Role::Cancelled(word) => {
                self.cancelled.extend(signature::cancelled(word.clone(), function, struct_, mistakes));
            }
            Role::Helper | Role::Plain | Role::Refused => {}
        }
    }
}

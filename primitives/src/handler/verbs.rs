//! The verbs of a primitive: those of every entity, of the kind, and of the author.

use super::Author;
use crate::{
    OfKind,
    kind::Kind,
    primitive::{Action, Create},
};

/// A verb of a primitive.
#[derive(Clone, Copy)]
pub(super) enum Verb {
    Start,
    Replace,
    State,
    Status,
    Destroy {
        force: bool,
    },
    /// A verb of the kind, and whether it binds an unbound key.
    Kind {
        binds: bool,
    },
    /// An action of the author's.
    Action(&'static Action),
    /// A constructor of the author's.
    Create(&'static Create),
}

/// The verbs of every entity.
pub(super) const OWN_VERBS: &[&str] = &["start", "replace", "state", "status", "destroy", "force_destroy"];

impl<T: OfKind, D, A> Author<T, D, A> {
    pub(super) fn verb(&self, name: &str) -> Option<Verb> {
        Some(match name {
            "start" => Verb::Start,
            "replace" => Verb::Replace,
            "state" => Verb::State,
            "status" => Verb::Status,
            "destroy" => Verb::Destroy { force: false },
            "force_destroy" => Verb::Destroy { force: true },
            name if T::Kind::VERBS.contains(&name) => Verb::Kind { binds: T::Kind::BINDING.contains(&name) },
            name => return authors::<T>(name),
        })
    }
}

/// Returns the verb that the author wrote under this name.
fn authors<T: OfKind>(name: &str) -> Option<Verb> {
    let action = T::CODE.actions.iter().find(|action| action.name == name).map(Verb::Action);
    action.or_else(|| T::CODE.creates.iter().find(|create| create.name == name).map(Verb::Create))
}

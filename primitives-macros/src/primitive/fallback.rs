//! The parts of a primitive with mistakes that are still expanded, so that the rest of the app compiles and
//! one mistake gives one error.

use proc_macro2::Ident;

use super::model::Model;
use crate::syntax::attribute::Kind;

/// The same primitive without its options, without duplicates, and without parts that cannot compile alone.
pub(crate) fn healthy(mut model: Model) -> Model {
    model.is_whole = false;
    model.options.clear();
    model.item = model.item();
    let known = model.kind.ours();
    let is_free = |name: &Ident| known.is_none_or(|known| known.owner_of_verb(&name.to_string()).is_none());
    model.actions.retain(|action| is_free(&action.function.name));
    model.creates.retain(|create| is_free(&create.function.name));
    if matches!(model.kind, Kind::Unknown) {
        model.hooks.clear();
        model.reduce.clear();
    }
    model.hooks.truncate(1);
    model.init.truncate(1);
    model.destroy.truncate(1);
    model.reduce.truncate(1);
    model.apply.truncate(1);
    if model.apply.is_empty() {
        model.hooks.retain(|hook| hook.value.is_none());
    }
    if model.reduce.is_empty() == is_folded(&model) {
        model.hooks.clear();
        model.reduce.clear();
    }
    model
}

/// Whether the hook takes folded items.
fn is_folded(model: &Model) -> bool {
    let input = model.hooks.first().and_then(|hook| hook.input.as_ref());
    input.and_then(crate::syntax::types::last_segment).is_some_and(|segment| segment.ident == "Folded")
}

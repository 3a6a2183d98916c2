//! Checks between the parts of a workflow. Each part was already checked alone when it was read.

use drystone_syntax::names;

use super::{model::Model, undo};
use crate::syntax::{diagnostics::Mistakes, types};

pub(super) fn check(model: &Model, mistakes: &mut Mistakes) {
    if !model.has_run {
        let message = "the body is missing: write `async fn run(flow: &Flow<Self>, ..) -> Result<T, E>`";
        mistakes.at(&model.struct_, message);
    }
    check_tick(model, mistakes);
    for step in &model.steps {
        let name = types::plain(&step.function.name);
        if let Some(owner) = hides_step(&name) {
            mistakes.at(&step.function.name, format!("`{name}` is a method of {owner}: give the step another name"));
        }
    }
    undo::check(model, mistakes);
    for query in &model.queries {
        let name = types::plain(&query.function.name);
        if is_verb(&name) {
            mistakes.at(&query.function.name, format!("`{name}` is a verb of every run: give the query another name"));
        }
    }
    for update in &model.updates {
        let name = types::plain(&update.function.name);
        if is_verb(&name) {
            let message = format!("`{name}` is a verb of every run: give the update another name");
            mistakes.at(&update.function.name, message);
        }
    }
    for again in model.cancelled.iter().skip(1) {
        mistakes.at(&again.word, "there is a `#[cancelled]` already; a workflow has one");
    }
}

/// Checks that the body of a workflow with `cron` takes its tick, and no other input.
fn check_tick(model: &Model, mistakes: &mut Mistakes) {
    let (Some(run), true) = (model.run.first(), model.has_cron()) else { return };
    if run.function.inputs().count() != 1 {
        let form = "`async fn run(flow: &Flow<Self>, tick: Tick)`";
        mistakes
            .at(&run.function.name, format!("with `cron` the body takes the time that it stands for: write {form}"));
    }
}

/// Returns the owner of the method that a step of this name would be confused with.
pub(super) fn hides_step(name: &str) -> Option<&'static str> {
    if names::FLOW_METHODS.contains(&name) {
        return Some("`Flow`");
    }
    names::EVERY_VALUE.contains(&name).then_some("every value")
}

pub(super) fn is_verb(name: &str) -> bool {
    names::RUN_VERBS.contains(&name)
}

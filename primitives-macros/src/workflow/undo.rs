//! `#[step(undo = refund)]`: finds the step that is the undo, and the inputs of the undo.

use proc_macro2::Ident;
use syn::Type;

use super::model::{Model, Step};
use crate::{
    primitive::expand::calls,
    syntax::{diagnostics::Mistakes, suggest, types},
};

/// The inputs that an undo takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// The output of the step.
    Output,
    /// The inputs of the step, and its output as an `Option`: `None` if the output is not known.
    Input,
}

/// Returns the undo of `step`, and the inputs of the undo.
pub(super) fn undo_of<'a>(model: &'a Model, step: &Step) -> Option<(&'a Step, Takes)> {
    let name = step.undo.as_ref()?;
    let undo = model.steps.iter().find(|other| other.function.name == *name)?;
    Some((undo, takes(step, undo)))
}

/// Decides by the types as they are written. The undo takes the step's inputs if it has one input more than
/// the step, and the last input is an `Option` that is not itself the step's output.
fn takes(step: &Step, undo: &Step) -> Takes {
    let inputs: Vec<&Type> = undo.function.inputs().map(|(_, ty)| ty).collect();
    let (output, _) = calls::outcome(&step.returns);
    let Some(last) = inputs.last() else { return Takes::Output };
    let is_output = inputs.len() == 1 && types::text(last) == types::text(&output);
    let is_option = types::last_segment(last).is_some_and(|segment| segment.ident == "Option");
    let is_longer = inputs.len() == step.function.inputs().count() + 1;
    if is_longer && is_option && !is_output { Takes::Input } else { Takes::Output }
}

pub(super) fn check(model: &Model, mistakes: &mut Mistakes) {
    for step in &model.steps {
        if let Some(undo) = &step.undo {
            check_one(model, step, undo, mistakes);
        }
    }
}

fn check_one(model: &Model, step: &Step, undo: &Ident, mistakes: &mut Mistakes) {
    let name = &step.function.name;
    if undo == name {
        mistakes.at(undo, format!("`{name}` cannot undo itself: name another step"));
        return;
    }
    match model.functions.iter().find(|(function, _)| function == undo) {
        None => {
            let steps: Vec<String> = model.steps.iter().map(|step| types::plain(&step.function.name)).collect();
            let others: Vec<&str> = steps.iter().map(String::as_str).filter(|other| name != other).collect();
            let meant = suggest::among(&types::plain(undo), &others);
            mistakes.at(undo, format!("there is no step `{undo}`{meant}"));
        }
        Some((_, false)) => {
            mistakes.at(undo, format!("`{undo}` is not a step: write `#[step] async fn {undo}(..)`"));
        }
        Some((_, true)) => {
            let Some(its_own) = model.steps.iter().find(|other| other.function.name == *undo) else { return };
            if its_own.undo.is_some() {
                let message = format!("`{undo}` undoes, and is not undone itself: take away its own `undo`");
                mistakes.at(undo, message);
            }
            check_inputs(step, its_own, undo, mistakes);
        }
    }
}

/// Checks only the number of inputs. The compiler checks their types, but about a wrong number it would
/// complain of a generated call that the author never wrote.
fn check_inputs(step: &Step, undo: &Step, place: &Ident, mistakes: &mut Mistakes) {
    let (found, name) = (undo.function.inputs().count(), &step.function.name);
    if takes(step, undo) == Takes::Input || found == 1 {
        return;
    }
    let (output, _) = calls::outcome(&step.returns);
    let output = types::text(&output);
    let inputs: String = step.function.inputs().map(|(_, ty)| format!("_: {}, ", types::text(ty))).collect();
    let message = format!(
        "`{place}` takes {found} inputs: an undo takes what `{name}` returned, `(_: {output})`, or what it took and, if it is \
         known, what it returned, `({inputs}_: Option<{output}>)`"
    );
    mistakes.at(place, message);
}

//! `restart_with` and `restart_from`, and `CheckoutAt`, which has the steps that a run can be restarted
//! from.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::handle;
use crate::{
    primitive::{expand::calls, lenient},
    syntax::types,
    workflow::model::{Model, Run, Step},
};

/// The name of the type: `CheckoutAt`.
fn name(model: &Model) -> Ident {
    format_ident!("{}At", model.name)
}

/// Generates the verbs that name types of the body and its steps.
pub(super) fn methods(model: &Model) -> TokenStream {
    let (at, with) = (name(model), model.run.first().map(restart_with));
    quote! {
        #with

        /// Restarts the run from a step, as a new generation. Everything recorded before the step is kept.
        /// The step runs again, or has returned the given value: `run.restart_from(|at| at.charge(1))`,
        /// `run.restart_from(|at| at.charge(1).with(charge))`.
        pub fn restart_from<__T>(
            &self,
            __place: impl ::core::ops::FnOnce(&#at) -> ::drystone::workflow::At<__T>,
        ) -> ::drystone::Call<::drystone::workflow::Restarted, ::drystone::workflow::RestartError> {
            ::drystone::workflow::Restarting::from(self.address(), __place(&#at(())))
        }
    }
}

fn restart_with(run: &Run) -> TokenStream {
    let (parameters, args) = handle::input(run);
    quote! {
        /// Restarts the run from its beginning with another input, as a new generation under the same key.
        /// The run may have ended.
        pub fn restart_with(
            &self,
            #(#parameters),*
        ) -> ::drystone::Call<::drystone::workflow::Restarted, ::drystone::workflow::RestartError> {
            ::drystone::workflow::Restarting::anew(self.address(), ::core::option::Option::Some(#args))
        }
    }
}

/// Generates `CheckoutAt`. It is `pub` whatever the visibility of the struct, so only its methods name the
/// author's types.
pub(super) fn places(model: &Model) -> TokenStream {
    let (name, lenient) = (name(model), lenient());
    let doc = format!("The steps that a run of [`{}`] can be restarted from.", model.name);
    let places = model.steps.iter().map(place);
    quote! {
        #[doc = #doc]
        #lenient
        #[derive(::core::fmt::Debug)]
        pub struct #name(());

        #lenient
        impl #name {
            #(#places)*
        }
    }
}

fn place(step: &Step) -> TokenStream {
    let (name, cfgs) = (&step.function.name, &step.function.cfgs);
    let text = types::plain(name);
    let (value, _) = calls::outcome(&step.returns);
    let codec = calls::stored(&value);
    let doc = format!("The step `{text}`, the `nth` of them that has ended, from 1.");
    quote! {
        #[doc = #doc]
        #(#cfgs)*
        pub fn #name(&self, nth: u32) -> ::drystone::workflow::At<#value> {
            ::drystone::workflow::At::new(#text, nth, |__value| #codec.write(__value))
        }
    }
}

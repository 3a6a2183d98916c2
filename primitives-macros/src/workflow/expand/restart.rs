//! `restart_with` and `restart_from`, and `CheckoutAt`: the steps that a run can be restarted from.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{
    super::model::{Model, Run, Step},
    handle,
};
use crate::{
    primitive::{expand::calls, lenient},
    types,
};

/// `CheckoutAt`.
fn name(model: &Model) -> Ident {
    format_ident!("{}At", model.name)
}

/// The verbs whose types are the body's and its steps'.
pub(super) fn methods(model: &Model) -> TokenStream {
    let (at, with) = (name(model), model.run.first().map(restart_with));
    quote! {
        #with

        /// Goes on from a step, as a new generation: what came before it is kept, and it is run again, or has returned what
        /// is said: `run.restart_from(|at| at.charge(1))`, `run.restart_from(|at| at.charge(1).with(charge))`.
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
        /// Begins the run anew with another input, as a new generation under the same key; also one that has ended.
        pub fn restart_with(
            &self,
            #(#parameters),*
        ) -> ::drystone::Call<::drystone::workflow::Restarted, ::drystone::workflow::RestartError> {
            ::drystone::workflow::Restarting::anew(self.address(), ::core::option::Option::Some(#args))
        }
    }
}

/// It is `pub` whatever the struct is, and names the author's types in methods alone.
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

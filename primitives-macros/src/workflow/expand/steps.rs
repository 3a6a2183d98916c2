//! `CheckoutSteps`: the methods by which a body calls its steps.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};

use crate::{
    primitive::{
        expand::{calls, definition, handle},
        lenient,
    },
    syntax::{returns::Returns, types},
    workflow::{
        model::{Model, Run, Step},
        step,
    },
};

/// The name of the type: `CheckoutSteps`.
pub(super) fn name(model: &Model) -> Ident {
    format_ident!("{}Steps", model.name)
}

/// Generates the type. It is `pub` whatever the visibility of the struct, so it names none of the author's
/// types.
pub(super) fn steps(model: &Model) -> TokenStream {
    let (name, lenient) = (name(model), lenient());
    let doc = format!("The steps of [`{}`]: methods of its [`Flow`](drystone::Flow).", model.name);
    let text = name.to_string();
    quote! {
        #[doc = #doc]
        #lenient
        pub struct #name(::drystone::workflow::Core);

        #[automatically_derived]
        #lenient
        impl ::core::convert::From<::drystone::workflow::Core> for #name {
            fn from(__core: ::drystone::workflow::Core) -> Self {
                Self(__core)
            }
        }

        #[automatically_derived]
        #lenient
        impl ::core::fmt::Debug for #name {
            fn fmt(&self, __out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                __out.debug_struct(#text).finish_non_exhaustive()
            }
        }
    }
}

/// Generates the methods of the type. They stand in the block that has the constants of the policies.
pub(super) fn methods(model: &Model) -> TokenStream {
    let (name, lenient) = (name(model), lenient());
    let methods = model.steps.iter().map(method);
    let continue_as = model.run.first().map(continue_as);
    quote! {
        #lenient
        impl #name {
            #(#methods)*
            #continue_as
        }
    }
}

/// Generates `continue_as`. It takes the body's parameters, and its output has the body's return type.
fn continue_as(run: &Run) -> TokenStream {
    let (parameters, args) = super::handle::recorded_input(run);
    let (returned, _) = recalled(&run.returns);
    quote! {
        /// Ends this generation and begins the next one with this input:
        /// `return flow.continue_as(..).await`.
        pub fn continue_as(&self, #(#parameters),*) -> ::drystone::workflow::ContinueAs<#returned> {
            ::drystone::workflow::ContinueAs::new(&self.0, #args)
        }
    }
}

fn method(step: &Step) -> TokenStream {
    let function = &step.function;
    let (name, cfgs, deprecated) = (&function.name, &function.cfgs, &function.deprecated);
    let text = types::plain(name);
    let docs = handle::docs(function, &format!("The step `{text}`."));
    let (names, types): (Vec<_>, Vec<_>) = function.inputs().unzip();
    let codecs = types.iter().map(|ty| calls::stored(*ty));
    let (returned, recall) = recalled(&step.returns);
    quote! {
        #docs #(#cfgs)* #(#deprecated)*
        pub fn #name(&self, #(#names: #types),*) -> ::drystone::workflow::Step<#returned> {
            ::drystone::workflow::Step::new(
                &self.0,
                #text,
                ::drystone::author::Args::recorded()#(.with(#codecs, &#names))*,
                #recall,
            )
        }
    }
}

/// The output type of a step, and the code that decodes it.
fn recalled(returns: &Returns) -> (TokenStream, TokenStream) {
    let (ok, error) = calls::outcome(returns);
    let read = calls::stored(&ok);
    match returns {
        Returns::Plain(ty) => (ty.to_token_stream(), quote!(::drystone::workflow::Recall::plain(#read))),
        Returns::Fallible(_) => {
            let thrown = calls::stored_error(&error);
            (
                quote!(::core::result::Result<#ok, #error>),
                quote!(::drystone::workflow::Recall::fallible(#read, #thrown)),
            )
        }
    }
}

pub(super) fn policy_name(index: usize) -> Ident {
    format_ident!("__POLICY_{index}")
}

/// The policies, each in a `const`, so that a wrong option stops the compiler.
pub(super) fn policies(model: &Model) -> TokenStream {
    let of = quote!(::drystone::workflow::Policy);
    let policies = model.steps.iter().enumerate().map(|(index, step)| {
        let (name, cfgs) = (policy_name(index), &step.function.cfgs);
        let policy = types::replace_self(definition::all_set(&of, &step.options, step::OPTIONS), &model.struct_);
        let policy = match step.transaction {
            Some(_) => quote!(#policy.in_transaction()),
            None => policy,
        };
        quote!(#(#cfgs)* const #name: #of = #policy;)
    });
    quote!(#(#policies)*)
}

//! Generates `impl Primitive`, `impl Runs` and `impl Flows`, which run the author's steps and queries by
//! name.

use proc_macro2::TokenStream;
use quote::quote;

use super::{handle, transactions};
use crate::{
    primitive::{
        expand::runs::{answer, bounds_of, by_name, called, recorded},
        lenient,
    },
    syntax::{function::Function, parameter::Parameter, types},
    workflow::model::{Model, Step},
};

pub(super) fn flows(model: &Model) -> TokenStream {
    let functions = model.steps.iter().map(|step| &step.function);
    let functions = functions.chain(model.run.iter().map(|run| &run.function));
    let bounds = bounds_of(functions.chain(model.queries.iter().map(|query| &query.function)));
    let (services, app) = (types::local("D"), types::local("A"));
    let bounds = quote! {
        #services: ::core::marker::Send + ::core::marker::Sync + 'static,
        #app: 'static,
        #(#bounds,)*
    };
    let (primitive, events) = (primitive(model), events(model));
    let (runs, acts) = (runs(model, &bounds), acts(model, &bounds));
    quote!(#primitive #events #runs #acts)
}

fn runs(model: &Model, bounds: &TokenStream) -> TokenStream {
    let (struct_, lenient) = (&model.struct_, lenient());
    let (services, app) = (types::local("D"), types::local("A"));
    quote! {
        #[automatically_derived]
        #lenient
        impl<#services, #app> ::drystone::author::Runs<#services, #app> for #struct_ where #bounds {
            fn define(
                __name: &'static str,
                __services: ::std::sync::Arc<#services>,
                __is_shared: bool,
            ) -> ::core::result::Result<::drystone::author::Definition, ::drystone::Error> {
                ::drystone::workflow::define::<Self, #services, #app>(__name, __services, __is_shared)
            }
        }
    }
}

fn acts(model: &Model, bounds: &TokenStream) -> TokenStream {
    let (struct_, lenient) = (&model.struct_, lenient());
    let (services, app, env) = (types::local("D"), types::local("A"), types::local("env"));
    let (clients, transact) = (clients(model), transactions::transact(model));
    let steps = acting(model).map(|step| (&step.function, recorded(&step.returns)));
    let queries = model.queries.iter().map(|query| (&query.function, answer(&query.returns)));
    let (steps, queries) = (by_name(&arms(model, steps, false)), by_name(&arms(model, queries, true)));
    quote! {
        #[automatically_derived]
        #lenient
        impl<#services, #app> ::drystone::workflow::Flows<#services, #app> for #struct_ where #bounds {
            fn step<'a>(
                __name: &'a str,
                __input: ::drystone::author::Bytes,
                #env: &'a ::drystone::author::Env<#services, #app>,
            ) -> ::drystone::author::Running<'a> { #steps }

            #clients
            #transact

            fn query<'a>(
                &'a self,
                __name: &'a str,
                __input: ::drystone::author::Bytes,
                #env: &'a ::drystone::author::Env<#services, #app>,
            ) -> ::drystone::author::Running<'a> { #queries }
        }
    }
}

/// The app's names of the primitives that the body calls.
fn clients(model: &Model) -> Option<TokenStream> {
    let app = types::local("A");
    let parameters = model.run.iter().flat_map(|run| &run.function.parameters);
    let clients: Vec<_> = parameters
        .filter_map(|parameter| match parameter {
            Parameter::Client(primitive) => Some(quote! {
                (::core::any::type_name::<#primitive>(), <#primitive as ::drystone::PartOf<#app>>::NAME)
            }),
            _ => None,
        })
        .collect();
    let names = quote!(::std::vec::Vec<(&'static str, &'static str)>);
    (!clients.is_empty()).then(|| quote!(fn clients() -> #names { ::std::vec![#(#clients),*] }))
}

/// Returns the steps that are not transactional.
fn acting(model: &Model) -> impl Iterator<Item = &Step> {
    model.steps.iter().filter(|step| step.transaction.is_none())
}

fn primitive(model: &Model) -> TokenStream {
    let (struct_, lenient, handle) = (&model.struct_, lenient(), handle::name(model));
    quote! {
        #[automatically_derived]
        #lenient
        impl ::drystone::Primitive for #struct_ {
            type Handle = #handle;

            fn handle(__address: ::drystone::author::Address) -> Self::Handle {
                #handle(::core::convert::From::from(::drystone::Handle::new(__address)))
            }
        }
    }
}

/// Implements `EventOf` for each event. A type that is no event is an error only here, at its name in the
/// attribute.
fn events(model: &Model) -> TokenStream {
    let (struct_, lenient) = (&model.struct_, lenient());
    let events = model.events.iter().map(|event| {
        quote! {
            #[automatically_derived]
            #lenient
            impl ::drystone::workflow::EventOf<#struct_> for #event {}
        }
    });
    quote!(#(#events)*)
}

fn arms<'a>(
    model: &Model,
    functions: impl Iterator<Item = (&'a Function, TokenStream)>,
    has_self: bool,
) -> Vec<TokenStream> {
    let arm = |(function, answer): (&Function, TokenStream)| {
        let (cfgs, name) = (&function.cfgs, types::plain(&function.name));
        let called = called(&model.struct_, function, has_self, &quote!(__input));
        quote! {
            #(#cfgs)*
            #name => {
                #called
                #answer
            }
        }
    };
    functions.map(arm).collect()
}

//! `impl Runs`: the author's code, by name.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};

use super::{
    super::{
        function::Function,
        model::{Action, Apply, Hook, Model},
        parameter::Parameter,
        returns::Returns,
    },
    calls, lenient,
};
use crate::types;

pub(super) fn runs(model: &Model) -> TokenStream {
    let (struct_, lenient, bounds) = (&model.struct_, lenient(), bounds(model));
    let (services, app, env) = (types::local("D"), types::local("A"), types::local("env"));
    let (read, write) = (run(model, false), run(model, true));
    let init = init(model);
    quote! {
        #[automatically_derived]
        #lenient
        impl<#services, #app> ::drystone::author::Runs<#services, #app> for #struct_
        where
            #services: ::core::marker::Send + ::core::marker::Sync + 'static,
            #app: 'static,
            #(#bounds,)*
        {
            fn read<'a>(
                &'a self,
                __name: &'a str,
                __given: ::drystone::author::Given,
                #env: &'a ::drystone::author::Env<#services, #app>,
            ) -> ::drystone::author::Running<'a> { #read }

            fn write<'a>(
                &'a mut self,
                __name: &'a str,
                __given: ::drystone::author::Given,
                #env: &'a ::drystone::author::Env<#services, #app>,
            ) -> ::drystone::author::Running<'a> { #write }

            fn init<'a>(#env: &'a ::drystone::author::Env<#services, #app>) -> ::drystone::author::Making<'a, Self> {
                ::std::boxed::Box::pin(async move { #init })
            }
        }
    }
}

/// What the code needs of the app: its services and its other primitives, each once.
fn bounds(model: &Model) -> Vec<TokenStream> {
    let (services, app) = (types::local("D"), types::local("A"));
    let functions = model.actions.iter().map(|action| &action.function);
    let functions = functions.chain(model.hooks.iter().chain(&model.destroy).map(|hook| &hook.function));
    let functions = functions.chain(model.init.iter().map(|init| &init.function));
    let mut bounds = BTreeMap::new();
    for parameter in functions.flat_map(|function: &Function| &function.parameters) {
        let bound = match parameter {
            Parameter::Service(service) => quote!(#services: ::drystone::Provide<#service>),
            Parameter::Client(primitive) => quote!(#primitive: ::drystone::PartOf<#app>),
            Parameter::Context | Parameter::Input { .. } => continue,
        };
        bounds.entry(bound.to_string()).or_insert(bound);
    }
    bounds.into_values().collect()
}

fn run(model: &Model, writes: bool) -> TokenStream {
    let actions = model.actions.iter().filter(|action| action.function.writes == writes);
    let mut arms: Vec<TokenStream> = actions.map(|action| self::action(model, action)).collect();
    let hooks = model.hooks.iter().filter(|hook| hook.function.writes == writes);
    arms.extend(hooks.map(|hook| self::hook(model, hook)));
    if writes {
        arms.extend(model.destroy.iter().map(|hook| destroy(model, hook)));
        arms.extend(model.apply.iter().map(|apply| self::apply(model, apply)));
    }
    quote! {
        ::std::boxed::Box::pin(async move {
            match __name {
                #(#arms)*
                _ => ::core::result::Result::Err(::drystone::author::Thrown::Unknown),
            }
        })
    }
}

fn action(model: &Model, action: &Action) -> TokenStream {
    let function = &action.function;
    let (cfgs, name) = (&function.cfgs, types::plain(&function.name));
    let inputs: Vec<_> = function.inputs().map(|(_, ty)| calls::stored(ty)).collect();
    let names: Vec<_> = (0..inputs.len()).map(|index| types::local(&format!("input_{index}"))).collect();
    let count = inputs.len();
    let given: Vec<_> = names.iter().map(ToTokens::to_token_stream).collect();
    let called = calls::call(model, function, true, &given);
    let (ok, error) = calls::outcome(&action.returns);
    let ended = types::local("ended");
    let answer = match &action.returns {
        Returns::Plain(_) => {
            let ok = calls::stored(&ok);
            quote!(::drystone::author::returned(&#ended, #ok))
        }
        Returns::Fallible(_) => {
            let (ok, error) = (calls::stored(&ok), calls::stored_error(&error));
            quote!(::drystone::author::action_ended(#ended, #ok, #error))
        }
    };
    quote! {
        #(#cfgs)*
        #name => {
            #[allow(unused_mut)]
            let mut __params = ::drystone::author::Params::read(&__given.body, #count)?;
            #(let #names = __params.take_with(#inputs)?;)*
            let #ended = #called;
            #answer
        }
    }
}

fn hook(model: &Model, hook: &Hook) -> TokenStream {
    let (cfgs, name) = (&hook.function.cfgs, format!("#{}", hook.word));
    let taken = calls::taken(model, hook);
    let input = types::local("input");
    let called = calls::call(model, &hook.function, true, &[input.to_token_stream()]);
    let (ended, answer) = (types::local("ended"), hook_ended(model, hook));
    quote! {
        #(#cfgs)*
        #name => {
            let #input = (#taken.take)(__given)?;
            let #ended = #called;
            #answer
        }
    }
}

/// What a hook returned, written for `#[apply]` or dropped.
fn hook_ended(model: &Model, hook: &Hook) -> TokenStream {
    let (error, at, ended) = (&hook.error, types::end_of(&hook.error), types::local("ended"));
    let write = match (&hook.value, model.apply.first()) {
        (Some(value), Some(apply)) => {
            let (at, applied) = (types::end_of(value), &apply.value);
            let codec = calls::stored(applied);
            let applied = types::located(applied.to_token_stream(), at);
            quote_spanned!(at=> |__value: &#applied| ::drystone::author::returned(__value, #codec))
        }
        _ => quote!(::drystone::author::nothing),
    };
    quote_spanned!(at=> ::drystone::author::hook_ended::<_, #error>(#ended, #write))
}

fn destroy(model: &Model, hook: &Hook) -> TokenStream {
    let cfgs = &hook.function.cfgs;
    let called = calls::call(model, &hook.function, true, &[]);
    let (ended, answer) = (types::local("ended"), hook_ended(model, hook));
    quote! {
        #(#cfgs)*
        "#destroy" => {
            let #ended = #called;
            #answer
        }
    }
}

fn apply(model: &Model, apply: &Apply) -> TokenStream {
    let (struct_, name, value) = (&model.struct_, &apply.name, calls::stored(&apply.value));
    quote! {
        "#apply" => {
            <#struct_>::#name(self, #value.read(&__given.body)?);
            ::core::result::Result::Ok(::drystone::author::Bytes::new())
        }
    }
}

fn init(model: &Model) -> TokenStream {
    let Some(init) = model.init.first() else {
        return quote!(::core::result::Result::Err(::drystone::author::Thrown::Unknown));
    };
    let called = calls::call(model, &init.function, false, &[]);
    match &init.returns {
        Returns::Plain(_) => quote!(::core::result::Result::Ok(#called)),
        Returns::Fallible(fallible) => {
            let error = &fallible.error;
            quote_spanned!(types::end_of(error)=> ::drystone::author::made::<_, #error>(#called))
        }
    }
}

//! `impl Runs`: the author's code, by name.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};

use super::{
    super::{
        function::Function,
        model::{Action, Apply, Create, Hook, Init, Model},
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
    let make = make(model);
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

            fn make<'a>(
                __name: &'a str,
                __given: ::drystone::author::Given,
                #env: &'a ::drystone::author::Env<#services, #app>,
            ) -> ::drystone::author::Making<'a, Self> { #make }
        }
    }
}

/// What the code needs of the app: its services and its other primitives, each once.
fn bounds(model: &Model) -> Vec<TokenStream> {
    let (services, app) = (types::local("D"), types::local("A"));
    let functions = model.actions.iter().map(|action| &action.function);
    let functions = functions.chain(model.hooks.iter().chain(&model.destroy).map(|hook| &hook.function));
    let functions = functions.chain(model.init.iter().map(|init| &init.function));
    let functions = functions.chain(model.creates.iter().map(|create| &create.function));
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
    by_name(&arms)
}

fn make(model: &Model) -> TokenStream {
    let mut arms: Vec<TokenStream> = model.creates.iter().map(|create| self::create(model, create)).collect();
    arms.extend(model.init.first().map(|init| self::init(model, init)));
    by_name(&arms)
}

/// The one of these that is named.
fn by_name(arms: &[TokenStream]) -> TokenStream {
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
    let called = called(model, function, true);
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
            #called
            #answer
        }
    }
}

fn create(model: &Model, create: &Create) -> TokenStream {
    let function = &create.function;
    let (cfgs, name) = (&function.cfgs, types::plain(&function.name));
    let (called, ended) = (called(model, function, false), types::local("ended"));
    let made = match &create.returns {
        Returns::Plain(_) => quote!(::core::result::Result::Ok(#ended)),
        Returns::Fallible(fallible) => {
            let error = calls::stored_error(&fallible.error);
            quote!(::drystone::author::created(#ended, #error))
        }
    };
    quote! {
        #(#cfgs)*
        #name => {
            #called
            #made
        }
    }
}

/// The author's function, called with the parameters that it was given.
fn called(model: &Model, function: &Function, has_self: bool) -> TokenStream {
    let inputs: Vec<_> = function.inputs().map(|(_, ty)| calls::stored(ty)).collect();
    let names: Vec<_> = (0..inputs.len()).map(|index| types::local(&format!("input_{index}"))).collect();
    let count = inputs.len();
    let given: Vec<_> = names.iter().map(ToTokens::to_token_stream).collect();
    let (ended, called) = (types::local("ended"), calls::call(model, function, has_self, &given));
    quote! {
        #[allow(unused_mut)]
        let mut __params = ::drystone::author::Params::read(&__given.body, #count)?;
        #(let #names = __params.take_with(#inputs)?;)*
        let #ended = #called;
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
        (Some(value), Some(_)) => {
            let codec = calls::stored(value);
            quote_spanned!(types::end_of(value)=> |__value| ::drystone::author::returned(__value, #codec))
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

fn init(model: &Model, init: &Init) -> TokenStream {
    let called = calls::call(model, &init.function, false, &[]);
    let made = match &init.returns {
        Returns::Plain(_) => quote!(::core::result::Result::Ok(#called)),
        Returns::Fallible(fallible) => {
            let error = &fallible.error;
            quote_spanned!(types::end_of(error)=> ::drystone::author::made::<_, #error>(#called))
        }
    };
    quote!("#init" => { #made })
}

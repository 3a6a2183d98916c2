//! Generates `impl Runs` and `impl Acts`, which run the author's code by name.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Type;

use super::{calls, lenient};
use crate::{
    primitive::model::{Action, Apply, Create, Hook, Init, Model},
    syntax::{function::Function, parameter::Parameter, returns::Returns, types},
};

pub(super) fn runs(model: &Model) -> TokenStream {
    let (struct_, lenient, bounds) = (&model.struct_, lenient(), bounds(model));
    let (services, app, env) = (types::local("D"), types::local("A"), types::local("env"));
    let (read, write) = (run(model, false), run(model, true));
    let (make, act, transact) = (make(model), plain(model), transact(model));
    quote! {
        #[automatically_derived]
        #lenient
        impl<#services, #app> ::drystone::author::Runs<#services, #app> for #struct_
        where
            #services: ::core::marker::Send + ::core::marker::Sync + 'static,
            #app: 'static,
            #(#bounds,)*
        {
            fn define(
                __name: &'static str,
                __services: ::std::sync::Arc<#services>,
                __is_shared: bool,
            ) -> ::core::result::Result<::drystone::author::Definition, ::drystone::Error> {
                ::drystone::author::define::<Self, #services, #app>(__name, __services, __is_shared)
            }
        }

        #[automatically_derived]
        #lenient
        impl<#services, #app> ::drystone::author::Acts<#services, #app> for #struct_
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

            #act

            #transact
        }
    }
}

fn bounds(model: &Model) -> Vec<TokenStream> {
    let functions = model.actions.iter().map(|action| &action.function);
    let functions = functions.chain(model.hooks.iter().chain(&model.destroy).map(|hook| &hook.function));
    let functions = functions.chain(model.init.iter().map(|init| &init.function));
    let functions = functions.chain(model.creates.iter().map(|create| &create.function));
    bounds_of(functions)
}

/// The bounds on the app: each service and each other primitive that the code needs, once.
pub(crate) fn bounds_of<'a>(functions: impl Iterator<Item = &'a Function>) -> Vec<TokenStream> {
    let (services, app) = (types::local("D"), types::local("A"));
    let mut bounds = BTreeMap::new();
    for parameter in functions.flat_map(|function: &Function| &function.parameters) {
        let bound = match parameter {
            Parameter::Service(service) => quote!(#services: ::drystone::Provide<#service>),
            Parameter::Client(primitive) => quote!(#primitive: ::drystone::PartOf<#app>),
            Parameter::Context | Parameter::Heartbeat(_) | Parameter::Input { .. } => continue,
        };
        bounds.entry(bound.to_string()).or_insert(bound);
    }
    bounds.into_values().collect()
}

fn run(model: &Model, writes: bool) -> TokenStream {
    let is_async = |action: &&Action| action.transaction.is_none() && !action.plain;
    let actions = model.actions.iter().filter(|action| action.function.writes == writes).filter(is_async);
    let mut arms: Vec<TokenStream> = actions.map(|action| self::action(model, action)).collect();
    let is_plain = |hook: &&Hook| hook.transaction.is_none();
    let hooks = model.hooks.iter().filter(|hook| hook.function.writes == writes).filter(is_plain);
    arms.extend(hooks.map(|hook| self::hook(model, hook)));
    if writes {
        arms.extend(model.destroy.iter().filter(is_plain).map(|hook| destroy(model, hook)));
        arms.extend(model.apply.iter().map(|apply| self::apply(model, apply)));
    }
    let other = if writes && !plain_arms(model).is_empty() { plain_call() } else { unknown() };
    let matched = match_name(&arms, &other);
    quote!(::std::boxed::Box::pin(async move { #matched }))
}

/// Generates `fn act`: the actions by name that take `&mut self` and only inputs, and await nothing. `None`
/// without such actions.
fn plain(model: &Model) -> Option<TokenStream> {
    let arms = plain_arms(model);
    if arms.is_empty() {
        return None;
    }
    let matched = match_name(&arms, &unknown());
    Some(quote! {
        async fn act(
            &mut self,
            __name: &str,
            __given: ::drystone::author::Given,
        ) -> ::core::result::Result<::drystone::author::Bytes, ::drystone::author::Thrown> { #matched }
    })
}

fn plain_arms(model: &Model) -> Vec<TokenStream> {
    model.actions.iter().filter(|action| action.plain).map(|action| self::action(model, action)).collect()
}

fn plain_call() -> TokenStream {
    let (services, app) = (types::local("D"), types::local("A"));
    quote!(<Self as ::drystone::author::Acts<#services, #app>>::act(self, __name, __given).await)
}

fn unknown() -> TokenStream {
    quote!(::core::result::Result::Err(::drystone::author::Thrown::Unknown))
}

fn match_name(arms: &[TokenStream], other: &TokenStream) -> TokenStream {
    quote! {
        match __name {
            #(#arms)*
            _ => #other,
        }
    }
}

fn make(model: &Model) -> TokenStream {
    let mut arms: Vec<TokenStream> = model.creates.iter().map(|create| self::create(model, create)).collect();
    arms.extend(model.init.first().map(|init| self::init(model, init)));
    by_name(&arms)
}

/// A `match` on the name over these arms, as a boxed future.
pub(crate) fn by_name(arms: &[TokenStream]) -> TokenStream {
    let matched = match_name(arms, &unknown());
    quote!(::std::boxed::Box::pin(async move { #matched }))
}

fn action(model: &Model, action: &Action) -> TokenStream {
    let function = &action.function;
    let (cfgs, name) = (&function.cfgs, types::plain(&function.name));
    let called = called(&model.struct_, function, true, &quote!(__given.body));
    let answer = answer(&action.returns);
    quote! {
        #(#cfgs)*
        #name => {
            #called
            #answer
        }
    }
}

/// Encodes the return value of the author's function.
pub(crate) fn answer(returns: &Returns) -> TokenStream {
    let ((ok, error), ended) = (calls::outcome(returns), types::local("ended"));
    let ok = calls::stored(&ok);
    match returns {
        Returns::Plain(_) => quote!(::drystone::author::returned(&#ended, #ok)),
        Returns::Fallible(_) => {
            let error = calls::stored_error(&error);
            quote!(::drystone::author::action_ended(#ended, #ok, #error))
        }
    }
}

/// Encodes the return value of a step or a body, to be recorded.
pub(crate) fn recorded(returns: &Returns) -> TokenStream {
    let ((ok, error), ended) = (calls::outcome(returns), types::local("ended"));
    let ok = calls::stored(&ok);
    match returns {
        Returns::Plain(_) => quote!(::drystone::workflow::recorded(&#ended, #ok)),
        Returns::Fallible(_) => {
            let error = calls::stored_error(&error);
            quote!(::drystone::workflow::recorded_result(#ended, #ok, #error))
        }
    }
}

fn create(model: &Model, create: &Create) -> TokenStream {
    let function = &create.function;
    let (cfgs, name) = (&function.cfgs, types::plain(&function.name));
    let (called, ended) = (called(&model.struct_, function, false, &quote!(__given.body)), types::local("ended"));
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

/// Decodes the parameters and calls the author's function with them.
pub(crate) fn called(struct_: &Type, function: &Function, has_self: bool, body: &TokenStream) -> TokenStream {
    let inputs: Vec<_> = function.inputs().map(|(_, ty)| calls::stored(ty)).collect();
    let names: Vec<_> = (0..inputs.len()).map(|index| types::local(&format!("input_{index}"))).collect();
    let count = inputs.len();
    let given: Vec<_> = names.iter().map(ToTokens::to_token_stream).collect();
    let (ended, called) = (types::local("ended"), calls::call(struct_, function, has_self, &given));
    quote! {
        #[allow(unused_mut)]
        let mut __params = ::drystone::author::Params::read(&#body, #count)?;
        #(let #names = __params.take_with(#inputs)?;)*
        let #ended = #called;
    }
}

fn hook(model: &Model, hook: &Hook) -> TokenStream {
    let (cfgs, name) = (&hook.function.cfgs, format!("#{}", hook.word));
    let taken = calls::taken(model, hook);
    let input = types::local("input");
    let called = calls::call(&model.struct_, &hook.function, true, &[input.to_token_stream()]);
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

/// Generates `fn transact`: the transactional hooks and actions by name. `None` if there are none.
fn transact(model: &Model) -> Option<TokenStream> {
    let hooks = model.hooks.iter().map(|hook| (hook, format!("#{}", hook.word)));
    let hooks = hooks.chain(model.destroy.iter().map(|hook| (hook, "#destroy".to_owned())));
    let mut arms: Vec<TokenStream> = hooks.filter_map(|(hook, name)| transactional(model, hook, &name)).collect();
    arms.extend(model.actions.iter().filter_map(|action| transactional_action(model, action)));
    if arms.is_empty() {
        return None;
    }
    Some(quote! {
        fn transact(
            &mut self,
            __name: &str,
            __given: ::drystone::author::Given,
            __sql: &mut ::drystone::Transaction<'_>,
        ) -> ::core::result::Result<::drystone::author::Bytes, ::drystone::author::Thrown> {
            match __name {
                #(#arms)*
                _ => ::core::result::Result::Err(::drystone::author::Thrown::Unknown),
            }
        }
    })
}

fn transactional_action(model: &Model, action: &Action) -> Option<TokenStream> {
    let (place, function) = (action.transaction.as_ref()?.place, &action.function);
    let (cfgs, name) = (&function.cfgs, types::plain(&function.name));
    let inputs: Vec<_> = function.inputs().map(|(_, ty)| calls::stored(ty)).collect();
    let names: Vec<_> = (0..inputs.len()).map(|index| types::local(&format!("input_{index}"))).collect();
    let count = inputs.len();
    let given: Vec<_> = names.iter().map(ToTokens::to_token_stream).collect();
    let called = calls::transacted(&model.struct_, function, place, true, &given);
    let (ended, answer) = (types::local("ended"), answer(&action.returns));
    Some(quote! {
        #(#cfgs)*
        #name => {
            #[allow(unused_mut)]
            let mut __params = ::drystone::author::Params::read(&__given.body, #count)?;
            #(let #names = __params.take_with(#inputs)?;)*
            let #ended = #called;
            #answer
        }
    })
}

fn transactional(model: &Model, hook: &Hook, text: &str) -> Option<TokenStream> {
    let (place, cfgs) = (hook.transaction?, &hook.function.cfgs);
    let input = types::local("input");
    let taken = (text != "#destroy").then(|| {
        let taken = calls::taken(model, hook);
        quote!(let #input = (#taken.take)(__given)?;)
    });
    let (ended, answer) = (types::local("ended"), hook_ended(model, hook));
    let called = calls::transacted(&model.struct_, &hook.function, place, true, &[input.to_token_stream()]);
    Some(quote! {
        #(#cfgs)*
        #text => {
            #taken
            let #ended = #called;
            #answer
        }
    })
}

/// Encodes the return value of a hook for `#[apply]`, or drops it.
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
    let called = calls::call(&model.struct_, &hook.function, true, &[]);
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
    let called = calls::call(&model.struct_, &init.function, false, &[]);
    let made = match &init.returns {
        Returns::Plain(_) => quote!(::core::result::Result::Ok(#called)),
        Returns::Fallible(fallible) => {
            let error = &fallible.error;
            quote_spanned!(types::end_of(error)=> ::drystone::author::made::<_, #error>(#called))
        }
    };
    quote!("#init" => { #made })
}

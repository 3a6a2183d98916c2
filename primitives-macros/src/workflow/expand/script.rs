//! Generates `impl Workflow`: the functions of a workflow, and its bodies.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use super::{steps, undos, updates};
use crate::{
    primitive::{
        expand::{calls, definition, runs},
        lenient,
    },
    syntax::{parameter::Parameter, returns::Returns, types},
    workflow::{
        attribute,
        model::{Cancelled, Model, Run, Step},
    },
};

pub(super) fn script(model: &Model) -> TokenStream {
    let (policies, methods, workflow, lenient) =
        (steps::policies(model), steps::methods(model), workflow(model), lenient());
    // The policy constants and the items that use them share a block, so that the constants are not visible
    // elsewhere.
    quote! {
        #lenient
        const _: () = {
            #policies
            #methods
            #workflow
        };
    }
}

fn workflow(model: &Model) -> TokenStream {
    let (struct_, lenient, steps) = (&model.struct_, lenient(), steps::name(model));
    let (script, options, codec) = (names(model), options(model), calls::stored(struct_));
    let (body, cancelled, worth) = (body(model), model.cancelled.first().map(|it| cancelled(model, it)), worth(model));
    let updates = updates::updates(model);
    let initial = quote_spanned!(types::end_of(struct_)=> <#struct_ as ::drystone::workflow::Initial>::initial());
    quote! {
        #[automatically_derived]
        #lenient
        impl ::drystone::Workflow for #struct_ {
            type Steps = #steps;

            const SCRIPT: ::drystone::workflow::Script = #script;

            fn options() -> ::drystone::workflow::Options { #options }

            fn codec() -> ::drystone::author::Codec<Self> { #codec }

            fn initial() -> Self { #initial }

            #body
            #cancelled
            #worth
            #updates
        }
    }
}

fn names(model: &Model) -> TokenStream {
    let steps = model.steps.iter().enumerate().map(|(index, step)| {
        let (cfgs, name) = (&step.function.cfgs, types::plain(&step.function.name));
        let policy = steps::policy_name(index);
        let (undo, transaction) = (undos::code(model, step), step.transaction.is_some());
        let beats = step.function.parameters.iter().any(|parameter| matches!(parameter, Parameter::Heartbeat(_)));
        quote! {
            #(#cfgs)*
            ::drystone::workflow::StepCode {
                name: #name,
                policy: #policy,
                undo: #undo,
                beats: #beats,
                transaction: #transaction,
            }
        }
    });
    let queries = model.queries.iter().map(|query| {
        let (cfgs, name, pure) = (&query.function.cfgs, types::plain(&query.function.name), query.function.is_pure());
        let transaction = quote!(::core::option::Option::None);
        quote! {
            #(#cfgs)* ::drystone::author::Action {
                name: #name, writes: false, pure: #pure, plain: false, transaction: #transaction
            }
        }
    });
    let updates = updates::names(model);
    let (struct_, hash, has_cancelled) = (&model.struct_, model.hash, !model.cancelled.is_empty());
    let events = model.events.iter().map(|event| quote!(::drystone::workflow::event_of::<#struct_, #event>()));
    // Two paths may end in types with one event name. Only the compiler knows the names; it shows the error
    // at the second path.
    let names = model.events.iter().enumerate().skip(1).map(|(index, event)| {
        quote_spanned!(types::end_of(event)=> const _: () = ::drystone::workflow::is_named_once(EVENTS, #index);)
    });
    quote! {
        ::drystone::workflow::Script {
            steps: &[#(#steps),*],
            queries: &[#(#queries),*],
            events: {
                const EVENTS: &[::drystone::workflow::EventCode] = &[#(#events),*];
                #(#names)*
                EVENTS
            },
            has_cancelled: #has_cancelled,
            hash: #hash,
            updates: &[#(#updates),*],
        }
    }
}

/// The options, in a `const`, so that a wrong option stops the compiler.
fn options(model: &Model) -> TokenStream {
    let of = quote!(::drystone::workflow::Options);
    let options = definition::all_set(&of, &model.options, attribute::OPTIONS);
    quote! {
        const __OPTIONS: #of = #options;
        __OPTIONS
    }
}

/// Generates `fn body`. It decodes the input before the body runs: an unreadable input is not a failure of
/// the body.
fn body(model: &Model) -> TokenStream {
    let made = model.run.first().map_or_else(|| quote!(::core::unreachable!()), |run| running(model, run));
    quote! {
        fn body(
            __flow: ::drystone::Flow<Self>,
            __input: &[u8],
        ) -> ::core::result::Result<::drystone::workflow::Body, ::std::string::String> { #made }
    }
}

fn running(model: &Model, run: &Run) -> TokenStream {
    let inputs: Vec<_> = run.function.inputs().map(|(_, ty)| calls::stored(ty)).collect();
    let names: Vec<_> = (0..inputs.len()).map(|index| types::local(&format!("input_{index}"))).collect();
    let (count, name, at) = (inputs.len(), &run.function.name, run.function.name.span());
    let struct_ = types::located(model.struct_.to_token_stream(), at);
    let given = given(run, &names);
    let called = quote_spanned!(at=> ::drystone::author::sendable(<#struct_>::#name(&__flow #(, #given)*)).await);
    let (ended, answer) = (types::local("ended"), runs::recorded(&run.returns));
    quote! {
        #[allow(unused_mut)]
        let mut __params = ::drystone::author::Params::read(__input, #count)?;
        #(let #names = __params.take_with(#inputs)?;)*
        ::core::result::Result::Ok(::std::boxed::Box::pin(async move {
            let __flow = __flow;
            let #ended = #called;
            #answer
        }))
    }
}

/// The arguments of a body in order: its inputs under these names, and its clients.
fn given(run: &Run, names: &[Ident]) -> Vec<TokenStream> {
    let mut names = names.iter();
    let parameters = run.function.parameters.iter().map(|parameter| match parameter {
        Parameter::Client(primitive) => quote!(&__flow.client::<#primitive>()),
        _ => names.next().to_token_stream(),
    });
    parameters.collect()
}

fn cancelled(model: &Model, cancelled: &Cancelled) -> TokenStream {
    let (name, at) = (&cancelled.name, cancelled.name.span());
    let struct_ = types::located(model.struct_.to_token_stream(), at);
    let called = quote_spanned!(at=> ::drystone::author::sendable(<#struct_>::#name(&__flow)).await);
    let ended = types::local("ended");
    let answer = match &cancelled.returns {
        Returns::Plain(_) => quote!(::drystone::author::nothing(&#ended)),
        Returns::Fallible(fallible) => {
            let (error, at) = (&fallible.error, types::end_of(&fallible.error));
            quote_spanned!(at=> ::drystone::author::hook_ended::<_, #error>(#ended, ::drystone::author::nothing))
        }
    };
    quote! {
        fn cancelled(__flow: ::drystone::Flow<Self>) -> ::core::option::Option<::drystone::workflow::Body> {
            ::core::option::Option::Some(::std::boxed::Box::pin(async move {
                let __flow = __flow;
                let #ended = #called;
                #answer
            }))
        }
    }
}

/// Generates `is_worth_retrying` from `retry_if`. An error that cannot be decoded (its type has changed) is
/// retried.
fn worth(model: &Model) -> Option<TokenStream> {
    let arms: Vec<TokenStream> = model.steps.iter().filter_map(worth_of).collect();
    if arms.is_empty() {
        return None;
    }
    Some(quote! {
        fn is_worth_retrying(__step: &str, __error: &[u8]) -> bool {
            match __step {
                #(#arms)*
                _ => true,
            }
        }
    })
}

fn worth_of(step: &Step) -> Option<TokenStream> {
    let (path, at) = (step.retry_if.as_ref()?, types::end_of(&step.retry_if));
    let (cfgs, name) = (&step.function.cfgs, types::plain(&step.function.name));
    let (_, error) = calls::outcome(&step.returns);
    let (codec, judge) = (calls::stored_error(&error), types::local("judge"));
    // The whole check is located at the path, so that an error about a function of another type is shown
    // there.
    let (error, judge_at) = (types::located(error, at), types::located(quote!(#judge), at));
    let check = quote_spanned!(at=> let #judge_at: fn(&#error) -> bool = #path;);
    Some(quote! {
        #(#cfgs)*
        #name => {
            #check
            #codec.read(__error).map_or(true, |__error| #judge(&__error))
        }
    })
}

//! The handle that callers hold: the verbs of a run, those that name the body's types, and the author's
//! queries and updates.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::restart;
use crate::{
    primitive::{
        expand::{calls, handle},
        lenient,
    },
    syntax::types,
    workflow::model::{Model, Run},
};

/// The name of the handle: `CheckoutHandle`.
pub(super) fn name(model: &Model) -> Ident {
    format_ident!("{}Handle", model.name)
}

/// Generates the handle. It is `pub` whatever the visibility of the struct, which an attribute on an `impl`
/// block cannot see. The body's parameter and return types may be private, so only methods name them.
pub(super) fn handle(model: &Model) -> TokenStream {
    let (item, struct_, name, lenient) = (item(model), &model.struct_, name(model), lenient());
    let run = model.run.first();
    let (starting, with_event, results) =
        (run.map(|run| starting(model, run)), run.map(|run| with_event(model, run)), run.map(results));
    let scheduling = run.filter(|_| model.has_cron()).map(|run| scheduling(model, run));
    let restarts = restart::methods(model);
    let queries = model.queries.iter().map(|query| handle::method(&query.function, calls::outcome(&query.returns)));
    let updates = model.updates.iter().map(|update| handle::method(&update.function, calls::outcome(&update.returns)));
    quote! {
        #item

        #lenient
        impl #name<#struct_> {
            #starting
            #with_event
            #results
            #scheduling
            #restarts
            #(#queries)*
            #(#updates)*
        }
    }
}

fn item(model: &Model) -> TokenStream {
    let (struct_, name, lenient) = (&model.struct_, name(model), lenient());
    let doc = format!("A run of [`{}`], by its key: the verbs of every run, and its own queries.", model.name);
    let text = name.to_string();
    quote! {
        #[doc = #doc]
        #lenient
        pub struct #name<__W = #struct_>(::drystone::workflow::Verbs<__W>);

        #[automatically_derived]
        #lenient
        impl<__W> ::core::ops::Deref for #name<__W> {
            type Target = ::drystone::workflow::Verbs<__W>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        #[automatically_derived]
        #lenient
        impl<__W> ::core::fmt::Debug for #name<__W> {
            fn fmt(&self, __out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                __out.debug_struct(#text).finish_non_exhaustive()
            }
        }
    }
}

/// The input of the body: as parameters of a verb, and as encoded arguments.
pub(super) fn input(run: &Run) -> (Vec<TokenStream>, TokenStream) {
    input_from(run, &quote!(::drystone::author::Args::new()))
}

/// The same for the next generation. Its input is checked to be readable before it is stored.
pub(super) fn recorded_input(run: &Run) -> (Vec<TokenStream>, TokenStream) {
    input_from(run, &quote!(::drystone::author::Args::recorded()))
}

fn input_from(run: &Run, args: &TokenStream) -> (Vec<TokenStream>, TokenStream) {
    let parameters = run.function.inputs().map(|(name, ty)| quote!(#name: #ty)).collect();
    let (names, codecs): (Vec<_>, Vec<_>) = run.function.inputs().map(|(name, ty)| (name, calls::stored(ty))).unzip();
    (parameters, quote!(#args #(.with(#codecs, &#names))*))
}

/// Generates `start`, `start_or_get` and `start_new`, which take the body's parameters.
fn starting(model: &Model, run: &Run) -> TokenStream {
    let (struct_, (parameters, args)) = (&model.struct_, input(run));
    let (starting, refused) = (quote!(::drystone::workflow::Starting), quote!(::drystone::workflow::StartError));
    quote! {
        /// Starts a run. Fails if the key already has a run.
        pub fn start(&self, #(#parameters),*) -> ::drystone::Call<(), #refused> {
            #starting::start::<#struct_>(&self.0, #args)
        }

        /// Starts a run, or finds the one that was started with the same input.
        pub fn start_or_get(&self, #(#parameters),*) -> ::drystone::Call<::drystone::workflow::Started, #refused> {
            #starting::start_or_get::<#struct_>(&self.0, #args)
        }

        /// Starts a run under a new key, and returns the key. The new key begins with the key of this
        /// handle.
        ///
        /// Each call makes another key: a caller that gets no answer and calls again starts a second run. To
        /// avoid that, make a key of your own and use `start_or_get`.
        pub async fn start_new(
            &self,
            #(#parameters),*
        ) -> ::core::result::Result<::std::string::String, ::drystone::CallError<#refused>> {
            #starting::start_new::<#struct_>(::drystone::Handle::clone(&self.0), #args).await
        }
    }
}

/// Generates `start_with` and `send_or_start`.
fn with_event(model: &Model, run: &Run) -> TokenStream {
    let (struct_, (parameters, args)) = (&model.struct_, input(run));
    let starting = quote!(::drystone::workflow::Starting);
    let event = free_name("event", run);
    quote! {
        /// Starts a run with an event already queued for it, in one commit.
        pub fn start_with<__E: ::drystone::workflow::EventOf<#struct_>>(
            &self,
            #(#parameters,)*
            #event: __E,
        ) -> ::drystone::Call<::drystone::workflow::Sent, ::drystone::workflow::StartError> {
            #starting::start_with::<#struct_, __E>(&self.0, #args, #event)
        }

        /// Sends an event, and starts the run first if there is none, in one commit.
        pub fn send_or_start<__E: ::drystone::workflow::EventOf<#struct_>>(
            &self,
            #event: __E,
            #(#parameters),*
        ) -> ::drystone::Call<::drystone::workflow::Sent, ::drystone::workflow::SendError> {
            #starting::send_or_start::<#struct_, __E>(&self.0, #event, #args)
        }
    }
}

/// Generates `execute`, `result` and `try_result`. A closure that captures nothing coerces to a `fn`, so
/// each reads with the same codecs as the other methods.
fn results(run: &Run) -> TokenStream {
    let (parameters, args) = input(run);
    let (ok, error) = calls::outcome(&run.returns);
    let (read, thrown) = (calls::stored(&ok), calls::stored_error(&error));
    let thrown = quote!(|__bytes| ::drystone::workflow::read_run_error(__bytes, #thrown));
    let run_error = quote!(::drystone::RunError<#error>);
    quote! {
        /// Starts the run, or finds the one that was started with the same input, and waits until it has
        /// ended. The body of another workflow uses it to run a child: `flow.child(..)`.
        pub fn execute(&self, #(#parameters),*) -> ::drystone::workflow::Execute<#ok, #error> {
            ::drystone::workflow::execute(self.address(), #args, #read.reader(), #thrown)
        }

        /// Waits until the run has ended. Returns the result of the run. A run that ended without a result
        /// gives a `RunError`.
        pub fn result(&self) -> ::drystone::Call<#ok, #run_error> {
            ::drystone::workflow::result(self.address(), #read.reader(), #thrown)
        }

        /// Returns the result if the run has ended, and `None` if it has not.
        pub fn try_result(&self) -> ::drystone::Call<::core::option::Option<#ok>, #run_error> {
            ::drystone::workflow::try_result(
                self.address(),
                |__bytes| ::drystone::workflow::read_option(__bytes, #read),
                #thrown,
            )
        }
    }
}

/// Generates `schedule`, `unschedule` and `schedule_status`.
fn scheduling(model: &Model, run: &Run) -> TokenStream {
    let (struct_, starting) = (&model.struct_, quote!(::drystone::workflow::Starting));
    let takes_tick = run
        .function
        .inputs()
        .map(|(_, ty)| quote_spanned!(types::end_of(ty)=> const _: () = ::drystone::workflow::takes_tick::<#ty>();));
    quote! {
        /// Schedules this key. From then on, each time of the schedule starts a run under the key of this
        /// handle, `@` and the time. Returns `false` if the key is scheduled already. Fails if the key has a
        /// run.
        pub fn schedule(&self) -> ::drystone::Call<bool, ::drystone::workflow::StartError> {
            #(#takes_tick)*
            #starting::schedule::<#struct_>(&self.0)
        }

        /// Ends the schedule: no more runs start. Runs in progress continue. Returns `false` if this key is
        /// not scheduled.
        pub fn unschedule(&self) -> ::drystone::Call<bool> {
            #starting::unschedule::<#struct_>(&self.0)
        }

        /// Returns the state of the schedule, or `None` if this key is not scheduled.
        pub fn schedule_status(&self) -> ::drystone::Call<::core::option::Option<::drystone::workflow::ScheduleStatus>> {
            #starting::schedule_status::<#struct_>(&self.0)
        }
    }
}

/// Returns `name`, with `_` appended while a parameter of the body has that name.
fn free_name(name: &str, run: &Run) -> Ident {
    let mut free = format_ident!("{name}");
    while run.function.inputs().any(|(taken, _)| *taken == free) {
        free = format_ident!("{free}_");
    }
    free
}

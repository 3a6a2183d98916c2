//! What callers hold: the verbs of a run, those whose types are the body's own, and the author's queries.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::{
    super::model::{Model, Run},
    restart,
};
use crate::{
    primitive::{
        expand::{calls, handle},
        lenient,
    },
    types,
};

/// `CheckoutHandle`.
pub(super) fn name(model: &Model) -> Ident {
    format_ident!("{}Handle", model.name)
}

/// The handle is `pub` whatever the struct is, for an attribute on an `impl` cannot see how visible that is. So what the body
/// takes and returns, which may be private, is named in methods alone.
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

/// The input of the body: as parameters, and as it travels.
pub(super) fn input(run: &Run) -> (Vec<TokenStream>, TokenStream) {
    input_from(run, &quote!(::drystone::author::Args::new()))
}

/// The same, of a generation that follows: whether it reads back is known before it is stored.
pub(super) fn recorded_input(run: &Run) -> (Vec<TokenStream>, TokenStream) {
    input_from(run, &quote!(::drystone::author::Args::recorded()))
}

fn input_from(run: &Run, args: &TokenStream) -> (Vec<TokenStream>, TokenStream) {
    let parameters = run.function.inputs().map(|(name, ty)| quote!(#name: #ty)).collect();
    let (names, codecs): (Vec<_>, Vec<_>) = run.function.inputs().map(|(name, ty)| (name, calls::stored(ty))).unzip();
    (parameters, quote!(#args #(.with(#codecs, &#names))*))
}

/// `start` and its relatives, whose parameters are the body's.
fn starting(model: &Model, run: &Run) -> TokenStream {
    let (struct_, (parameters, args)) = (&model.struct_, input(run));
    let (starting, refused) = (quote!(::drystone::workflow::Starting), quote!(::drystone::workflow::StartError));
    quote! {
        /// Starts a run; refused if there is one of this key.
        pub fn start(&self, #(#parameters),*) -> ::drystone::Call<(), #refused> {
            #starting::start::<#struct_>(&self.0, #args)
        }

        /// Starts a run, or finds the one that was started with the same input.
        pub fn start_or_get(&self, #(#parameters),*) -> ::drystone::Call<::drystone::workflow::Started, #refused> {
            #starting::start_or_get::<#struct_>(&self.0, #args)
        }

        /// Starts a run under a new key, which begins with the handle's; that key. Each call makes another one: whoever gets no answer
        /// and asks again starts a second run. If that matters, make a key of your own, and use `start_or_get`.
        pub async fn start_new(
            &self,
            #(#parameters),*
        ) -> ::core::result::Result<::std::string::String, ::drystone::CallError<#refused>> {
            #starting::start_new::<#struct_>(::drystone::Handle::clone(&self.0), #args).await
        }
    }
}

/// `start_with` and `send_or_start`.
fn with_event(model: &Model, run: &Run) -> TokenStream {
    let (struct_, (parameters, args)) = (&model.struct_, input(run));
    let starting = quote!(::drystone::workflow::Starting);
    let event = free_name("event", run);
    quote! {
        /// Starts a run with an event that it finds queued, in one commit.
        pub fn start_with<__E: ::drystone::workflow::EventOf<#struct_>>(
            &self,
            #(#parameters,)*
            #event: __E,
        ) -> ::drystone::Call<::drystone::workflow::Sent, ::drystone::workflow::StartError> {
            #starting::start_with::<#struct_, __E>(&self.0, #args, #event)
        }

        /// Sends an event, and starts the run first if there is none: one commit.
        pub fn send_or_start<__E: ::drystone::workflow::EventOf<#struct_>>(
            &self,
            #event: __E,
            #(#parameters),*
        ) -> ::drystone::Call<::drystone::workflow::Sent, ::drystone::workflow::SendError> {
            #starting::send_or_start::<#struct_, __E>(&self.0, #event, #args)
        }
    }
}

/// `result` and `try_result`. Closures that hold nothing are functions, and read by the codecs that the rest asks for.
fn results(run: &Run) -> TokenStream {
    let (parameters, args) = input(run);
    let (ok, error) = calls::outcome(&run.returns);
    let (read, thrown) = (calls::stored(&ok), calls::stored_error(&error));
    let thrown = quote!(|__bytes| ::drystone::workflow::read_run_error(__bytes, #thrown));
    let run_error = quote!(::drystone::RunError<#error>);
    quote! {
        /// Starts the run, or finds the one that was started with the same input, and waits until it has ended. In the body of another
        /// workflow it is a child: `flow.child(..)`.
        pub fn execute(&self, #(#parameters),*) -> ::drystone::workflow::Execute<#ok, #error> {
            ::drystone::workflow::execute(self.address(), #args, #read.reader(), #thrown)
        }

        /// Waits until the run has ended: its result, or how it ended without one.
        pub fn result(&self) -> ::drystone::Call<#ok, #run_error> {
            ::drystone::workflow::result(self.address(), #read.reader(), #thrown)
        }

        /// The result, if the run has ended; `None` if it goes on.
        pub fn try_result(&self) -> ::drystone::Call<::core::option::Option<#ok>, #run_error> {
            ::drystone::workflow::try_result(
                self.address(),
                |__bytes| ::drystone::workflow::read_option(__bytes, #read),
                #thrown,
            )
        }
    }
}

/// `schedule` and its relatives.
fn scheduling(model: &Model, run: &Run) -> TokenStream {
    let (struct_, starting) = (&model.struct_, quote!(::drystone::workflow::Starting));
    let takes_tick = run
        .function
        .inputs()
        .map(|(_, ty)| quote_spanned!(types::end_of(ty)=> const _: () = ::drystone::workflow::takes_tick::<#ty>();));
    quote! {
        /// Schedules this key: from now on a run is started at each time of the clock on the wall, under this key, `@` and the time.
        /// `false` if it is scheduled already; refused if there is a run of this key.
        pub fn schedule(&self) -> ::drystone::Call<bool, ::drystone::workflow::StartError> {
            #(#takes_tick)*
            #starting::schedule::<#struct_>(&self.0)
        }

        /// Starts no more runs; those that go go on. `false` if this key is not scheduled.
        pub fn unschedule(&self) -> ::drystone::Call<bool> {
            #starting::unschedule::<#struct_>(&self.0)
        }

        /// Where the schedule stands; `None` if this key is not scheduled.
        pub fn schedule_status(&self) -> ::drystone::Call<::core::option::Option<::drystone::workflow::ScheduleStatus>> {
            #starting::schedule_status::<#struct_>(&self.0)
        }
    }
}

/// `event`, unless a parameter of the body has this name.
fn free_name(name: &str, run: &Run) -> Ident {
    let mut free = format_ident!("{name}");
    while run.function.inputs().any(|(taken, _)| *taken == free) {
        free = format_ident!("{free}_");
    }
    free
}

//! Generates `impl Primitive` and `impl OfKind`: the functions of a primitive, and its options.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::lenient;
use crate::{
    primitive::model::{Action, Model},
    syntax::{
        attribute::{Given, Setting},
        kinds::Value,
        types,
    },
};

pub(super) fn definition(model: &Model) -> TokenStream {
    let (struct_, lenient) = (&model.struct_, lenient());
    let module = model.kind.module(Span::call_site());
    let handle = super::handle::name(model);
    let (code, kind, codec, initial) = (code(model), kind(model), codec(model), initial(model));
    let begins = begins(model);
    // The item type must be as visible as the struct. If it is not, the error is shown at the type.
    let at = model.item().map_or_else(Span::call_site, |item| types::end_of(&item));
    let of_handle = types::located(quote!(type Handle = #handle;), at);
    let (reduce, check_item, fieldless) = (reduce(model), check_item(model), fieldless(model));
    quote! {
        #fieldless

        #[automatically_derived]
        #lenient
        impl ::drystone::Primitive for #struct_ {
            #of_handle

            fn handle(__address: ::drystone::author::Address) -> Self::Handle {
                #handle(::core::convert::From::from(::drystone::Handle::new(__address)))
            }
        }

        #[automatically_derived]
        #lenient
        impl ::drystone::author::OfKind for #struct_ {
            type Kind = #module::Options;

            type Begins = ::drystone::author::#begins;

            const CODE: ::drystone::author::Code = #code;

            fn codec() -> ::drystone::author::Codec<Self> { #codec }

            fn kind() -> Self::Kind { #kind }

            fn initial() -> ::core::option::Option<Self> {
                #initial
            }

            #reduce
            #check_item
        }
    }
}

/// The codec of the struct. It makes a struct without fields anew.
fn codec(model: &Model) -> TokenStream {
    let struct_ = &model.struct_;
    match &model.made {
        Some(_) => quote!(::drystone::author::fieldless::<#struct_>()),
        None => super::calls::stored(struct_),
    }
}

/// The marker type that tells whether `start()` can make a state.
fn begins(model: &Model) -> Ident {
    let is_made = model.made.is_some() || !model.init.is_empty();
    Ident::new(if is_made { "WithInit" } else { "IfDefault" }, Span::call_site())
}

/// The initial state, as an `Option`.
fn initial(model: &Model) -> TokenStream {
    let struct_ = &model.struct_;
    if model.made.is_some() {
        return quote!(::core::option::Option::Some(<#struct_ as ::drystone::author::Fieldless>::made()));
    }
    quote! {
        use ::drystone::author::Fallback as _;
        ::drystone::author::Probe::<#struct_>::initial()
    }
}

/// Implements `Fieldless`, which makes a struct without fields.
fn fieldless(model: &Model) -> Option<TokenStream> {
    let (struct_, made, lenient) = (&model.struct_, model.made.as_ref()?, lenient());
    Some(quote! {
        #[automatically_derived]
        #lenient
        impl ::drystone::author::Fieldless for #struct_ {
            fn made() -> Self { #made }
        }
    })
}

/// The transaction of an action, with its timeout. `None` if the action is not transactional.
fn transaction(action: &Action) -> TokenStream {
    let Some(transactional) = &action.transaction else { return quote!(::core::option::Option::None) };
    let timeout = match &transactional.timeout {
        None => quote!(::core::option::Option::None),
        Some(Given::Constant(path)) => quote!(::core::option::Option::Some(#path)),
        Some(Given::Literal(text)) => quote!(::core::option::Option::Some(::drystone::d!(#text))),
    };
    quote!(::core::option::Option::Some(#timeout))
}

fn code(model: &Model) -> TokenStream {
    let actions = model.actions.iter().map(|action| {
        let function = &action.function;
        let (cfgs, name) = (&function.cfgs, types::plain(&function.name));
        let (writes, pure) = (function.writes, function.is_pure());
        let (transaction, plain) = (transaction(action), action.plain);
        quote! {
            #(#cfgs)* ::drystone::author::Action {
                name: #name, writes: #writes, pure: #pure, plain: #plain, transaction: #transaction
            }
        }
    });
    let hooks = model.hooks.iter().map(|hook| {
        let (cfgs, name) = (&hook.function.cfgs, types::plain(&hook.word));
        let (writes, applies, transaction) = (hook.function.writes, hook.value.is_some(), hook.transaction.is_some());
        quote! {
            #(#cfgs)* ::drystone::author::HookCode {
                name: #name, writes: #writes, applies: #applies, transaction: #transaction
            }
        }
    });
    let creates = model.creates.iter().map(|create| {
        let function = &create.function;
        let (cfgs, name, pure) = (&function.cfgs, types::plain(&function.name), function.is_pure());
        quote!(#(#cfgs)* ::drystone::author::Create { name: #name, pure: #pure })
    });
    let init = match model.init.first() {
        Some(init) => {
            let pure = init.function.is_pure();
            quote!(::core::option::Option::Some(#pure))
        }
        None => quote!(::core::option::Option::None),
    };
    let (has_destroy, has_reduce) = (!model.destroy.is_empty(), !model.reduce.is_empty());
    let destroy_transaction = model.destroy.first().is_some_and(|hook| hook.transaction.is_some());
    quote! {
        ::drystone::author::Code {
            actions: &[#(#actions),*],
            hooks: &[#(#hooks),*],
            creates: &[#(#creates),*],
            init: #init,
            has_destroy: #has_destroy,
            destroy_transaction: #destroy_transaction,
            has_reduce: #has_reduce,
        }
    }
}

/// The options, in a `const`, so that a wrong option stops the compiler with the kind's message.
fn kind(model: &Model) -> TokenStream {
    let module = model.kind.module(Span::call_site());
    let options = types::local("options");
    let checked = model.is_whole.then(|| checked(model));
    let settings = model.options.iter().map(|setting| self::setting(model, setting));
    quote! {
        const __OPTIONS: #module::Options = {
            let #options = #module::Options::NEW;
            #(let #options = #settings;)*
            #checked
            #options
        };
        __OPTIONS
    }
}

/// Lets the kind check all options together. Its message is shown at the name of the kind.
fn checked(model: &Model) -> TokenStream {
    let at = model.kind.span();
    let options = types::local("options");
    let (options, module) = (types::located(quote!(#options), at), types::located(model.kind.module(at), at));
    quote_spanned!(at=> let #options = #module::Options::checked(#options);)
}

fn setting(model: &Model, setting: &Setting) -> TokenStream {
    let module = model.kind.module(setting.name.span());
    let known = model.kind.ours().and_then(|known| known.option(&setting.name.to_string()));
    set(&quote!(#module::Options), setting, known)
}

/// A value of type `of` with these options, for a `const`.
pub(crate) fn all_set(of: &TokenStream, settings: &[Setting], known: &[(&str, Value)]) -> TokenStream {
    let options = types::local("options");
    let settings = settings.iter().map(|setting| {
        let known = known.iter().find(|(option, _)| setting.name == option).map(|(_, value)| *value);
        set(of, setting, known)
    });
    quote! {
        {
            let #options = #of::NEW;
            #(let #options = #settings;)*
            #options
        }
    }
}

/// Sets one option of `of`. An error of the call is shown from the name of the option to its value.
fn set(of: &TokenStream, setting: &Setting, known: Option<Value>) -> TokenStream {
    let (name, value, at) = (setter(setting, known), &setting.value, setting.name.span());
    let options = types::local("options");
    let options = types::located(quote!(#options), at);
    let of = types::located(of.clone(), at);
    let function = quote_spanned!(at=> #of::#name);
    let mut arguments = proc_macro2::Group::new(proc_macro2::Delimiter::Parenthesis, quote!(#options, #value));
    arguments.set_span(value.as_ref().map_or(at, types::end_of));
    quote!(#function #arguments)
}

/// The setter of an option. The plain setter parses a literal. A built-in kind has a second setter,
/// `.._with`, for a constant of the parsed type. A kind from another crate gets literals and constants
/// through the same setter.
fn setter(setting: &Setting, known: Option<Value>) -> Ident {
    let name = &setting.name;
    match (&setting.value, known) {
        (Some(Given::Constant(_)), Some(Value::Duration | Value::Pause | Value::Cron)) => {
            format_ident!("{}_with", name, span = name.span())
        }
        _ => name.clone(),
    }
}

fn reduce(model: &Model) -> Option<TokenStream> {
    let (reduce, struct_) = (model.reduce.first()?, &model.struct_);
    let (name, total, item) = (&reduce.name, &reduce.total, &reduce.item);
    Some(quote! {
        fn reduce(
            __folded: ::core::option::Option<&[u8]>,
            __item: &[u8],
        ) -> ::core::result::Result<::drystone::author::Bytes, ::std::string::String> {
            ::drystone::author::fold::<#total, #item>(__folded, __item, <#struct_>::#name)
        }
    })
}

fn check_item(model: &Model) -> Option<TokenStream> {
    let checked = match (model.reduce.first(), model.hooks.iter().find(|hook| hook.input.is_some())) {
        (Some(reduce), _) => {
            let item = super::calls::stored(&reduce.item);
            quote!(#item.read(__item).map(::core::mem::drop))
        }
        (None, Some(hook)) => {
            let taken = super::calls::taken(model, hook);
            quote!((#taken.check_item)(__item))
        }
        (None, None) => return None,
    };
    Some(quote! {
        fn check_item(__item: &[u8]) -> ::core::result::Result<(), ::std::string::String> { #checked }
    })
}

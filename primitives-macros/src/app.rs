//! `#[derive(Primitives)]`: generates the app's typed client, and registers each primitive with the services
//! it needs.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Data, DataStruct, DeriveInput, Fields, Type};

use crate::{
    primitive::lenient,
    syntax::{diagnostics::Mistakes, types},
};

/// The methods of every client besides those of its primitives. No field may have such a name.
const RESERVED: &[&str] = &["publish", "topic", "topic_of"];

/// One field of the app: a primitive and its name.
struct Part {
    name: Ident,
    ty: Type,
    docs: Vec<Attribute>,
}

pub(crate) fn app(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut mistakes = Mistakes::default();
    let parts = parts(&input, &mut mistakes);
    if !mistakes.is_empty() {
        return quote!(#mistakes);
    }
    let client = client(&input, &parts);
    let registers = registers(&input.ident, &parts);
    let parts_of = parts_of(&input.ident, &parts);
    let read = read(&input.ident, &parts);
    quote!(#client #registers #parts_of #read)
}

fn parts(input: &DeriveInput, mistakes: &mut Mistakes) -> Vec<Part> {
    if !input.generics.params.is_empty() {
        mistakes.at(&input.generics, "an app is one type: write it without generics");
    }
    let name = &input.ident;
    let Data::Struct(DataStruct { fields: Fields::Named(fields), .. }) = &input.data else {
        mistakes.at(name, format!("an app is a struct with one field per primitive: `struct {name} {{ cart: Cart }}`"));
        return Vec::new();
    };
    if fields.named.is_empty() {
        mistakes.at(name, format!("this app has no primitive; add one: `struct {name} {{ cart: Cart }}`"));
    }
    for name in fields.named.iter().filter_map(|field| field.ident.as_ref()) {
        let text = types::plain(name);
        if RESERVED.contains(&text.as_str()) {
            mistakes.at(name, format!("`{text}` is a method of every client: give this primitive another name"));
        }
    }
    let parts = fields.named.iter().filter_map(|field| {
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect();
        Some(Part { name: field.ident.clone()?, ty: field.ty.clone(), docs })
    });
    parts.collect()
}

/// Generates `AppClient`, with the visibility of the app.
fn client(input: &DeriveInput, parts: &[Part]) -> TokenStream {
    let (app, vis, lenient) = (&input.ident, &input.vis, lenient());
    let client = format_ident!("{app}Client");
    let methods = parts.iter().map(|part| method(part, vis));
    let (said, text) = (format!("The typed client of [`{app}`]: one method per primitive."), client.to_string());
    quote! {
        #[doc = #said]
        #[derive(::core::clone::Clone)]
        #lenient
        #vis struct #client {
            __desk: ::drystone::author::Desk,
        }

        #lenient
        impl #client {
            #(#methods)*

            /// Publishes an event to all runs that wait for it, or to the longest waiting one with
            /// `deliver = "one"`. The event is durable when the call answers.
            #vis fn publish<__E: ::drystone::workflow::TopicEvent>(
                &self,
                event: __E,
            ) -> ::drystone::Call<::drystone::Published, ::drystone::PublishError> {
                ::drystone::author::publish(&self.__desk, event)
            }

            /// The topic of an event: its watchers, its published events, and their deliveries.
            #vis fn topic<__E>(&self) -> ::drystone::Topic<__E>
            where
                __E: ::drystone::workflow::TopicEvent + ::drystone::workflow::AnyKey,
            {
                ::drystone::author::topic(&self.__desk)
            }

            /// The topic of the events with this key.
            #vis fn topic_of<__E: ::drystone::workflow::KeyedTopic>(
                &self,
                key: impl ::drystone::workflow::KeyOf<__E::Asks>,
            ) -> ::drystone::Topic<__E> {
                ::drystone::author::topic_of(&self.__desk, key)
            }
        }

        #[automatically_derived]
        #lenient
        impl ::core::fmt::Debug for #client {
            fn fmt(&self, __out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                __out.debug_struct(#text).finish_non_exhaustive()
            }
        }

        #[automatically_derived]
        #lenient
        impl ::drystone::Primitives for #app {
            type Client = #client;

            fn client(__desk: ::drystone::author::Desk) -> Self::Client {
                #client { __desk }
            }
        }
    }
}

fn method(part: &Part, vis: &syn::Visibility) -> TokenStream {
    let (name, ty, text) = (&part.name, &part.ty, types::plain(&part.name));
    let said = format!("The `{text}` of a key.");
    let docs = if part.docs.is_empty() { vec![quote!(#[doc = #said])] } else { copied(&part.docs) };
    // A type that is no primitive must give only one error. So this bound and the one in `registers` fail in
    // the same way, and all other code assumes them.
    let bound = quote_spanned!(types::end_of(ty)=> #ty: ::drystone::Primitive);
    quote! {
        #(#docs)*
        #vis fn #name(&self, __key: impl ::core::convert::AsRef<[u8]>) -> <#ty as ::drystone::Primitive>::Handle
        where
            #bound,
        {
            <#ty as ::drystone::Primitive>::handle(self.__desk.address(#text, __key))
        }
    }
}

fn copied(docs: &[Attribute]) -> Vec<TokenStream> {
    docs.iter().map(ToTokens::to_token_stream).collect()
}

/// Implements `App`, which registers each primitive with the services of the app. A missing service is an
/// error where the app is started.
fn registers(app: &Ident, parts: &[Part]) -> TokenStream {
    let (lenient, services) = (lenient(), types::local("D"));
    let mut bounds: Vec<&Type> = Vec::new();
    for part in parts {
        if !bounds.iter().any(|ty| types::text(ty) == types::text(&part.ty)) {
            bounds.push(&part.ty);
        }
    }
    let bounds = bounds.into_iter().map(|ty| {
        let app = types::located(app.to_token_stream(), types::end_of(ty));
        quote_spanned!(types::end_of(ty)=> #ty: ::drystone::author::Runs<#services, #app>)
    });
    let (types, names): (Vec<_>, Vec<_>) = parts.iter().map(|part| (&part.ty, types::plain(&part.name))).unzip();
    quote! {
        #[automatically_derived]
        #lenient
        impl<#services> ::drystone::author::App<#services> for #app
        where
            #services: ::core::marker::Send + ::core::marker::Sync + 'static,
            #(#bounds,)*
        {
            fn register(__registrar: &mut ::drystone::author::Registrar<#services, Self>) {
                #(__registrar.add::<#types>(#names);)*
            }
        }
    }
}

/// Implements `PartOf` for each type that is the type of exactly one field: only then does the type tell
/// which field is meant.
fn parts_of(app: &Ident, parts: &[Part]) -> TokenStream {
    let lenient = lenient();
    let once = parts.iter().filter(|part| parts.iter().filter(|other| same(&part.ty, &other.ty)).count() == 1);
    let parts = once.map(|Part { name, ty, .. }| {
        let text = types::plain(name);
        quote! {
            #[automatically_derived]
            #lenient
            impl ::drystone::PartOf<#app> for #ty {
                const NAME: &'static str = #text;
            }
        }
    });
    quote!(#(#parts)*)
}

fn same(one: &Type, other: &Type) -> bool {
    types::text(one) == types::text(other)
}

/// Reads each field once. No app value is ever made, so without this the compiler would warn about unused
/// fields.
fn read(app: &Ident, parts: &[Part]) -> TokenStream {
    let (lenient, names) = (lenient(), parts.iter().map(|part| &part.name).collect::<Vec<_>>());
    quote! {
        #lenient
        const _: fn() = || {
            let __app = #app { #(#names: ::core::unreachable!()),* };
            #(let _ = &__app.#names;)*
        };
    }
}

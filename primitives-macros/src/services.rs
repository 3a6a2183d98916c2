//! `#[derive(Services)]`: provides each field by its type.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Member, Type};

use crate::{
    primitive::lenient,
    syntax::{diagnostics::Mistakes, types},
};

/// A service: a type, and the field that holds the value.
struct Service {
    ty: Type,
    field: Member,
    /// Whether the field is a pointer to the service: an `Arc` or a `Box`.
    is_behind: bool,
}

pub(crate) fn services(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let Data::Struct(data) = &input.data else {
        let message = "services are the fields of a struct: `struct Deps { mail: Mail }`";
        return syn::Error::new_spanned(&input.ident, message).to_compile_error();
    };
    let mut mistakes = Mistakes::default();
    let services = read(&data.fields, &mut mistakes);
    let provided = services.iter().map(|service| provide(&input, service));
    quote!(#(#provided)* #mistakes)
}

/// Collects the services of all fields. Each type may occur only once.
fn read(fields: &Fields, mistakes: &mut Mistakes) -> Vec<Service> {
    let mut services: Vec<Service> = Vec::new();
    for (member, field) in fields.members().zip(fields) {
        let of_field = of_field(member, &field.ty);
        let again = of_field.iter().find(|service| services.iter().any(|other| same(&other.ty, &service.ty)));
        match again {
            None => services.extend(of_field),
            Some(again) => {
                let text = types::text(&again.ty);
                let message = format!(
                    "a service is found by its type, and there is a `{text}` already: wrap one in a type of its own"
                );
                mistakes.at(&field.ty, message);
            }
        }
    }
    services
}

/// Returns the field's type and, for an `Arc` or a `Box`, also the type inside.
fn of_field(field: Member, ty: &Type) -> Vec<Service> {
    let mut services = vec![Service { ty: ty.clone(), field: field.clone(), is_behind: false }];
    if let Some(segment) = types::last_segment(ty).filter(|segment| segment.ident == "Arc" || segment.ident == "Box")
        && let [inner] = types::arguments(segment).as_slice()
    {
        services.push(Service { ty: (*inner).clone(), field, is_behind: true });
    }
    services
}

fn same(one: &Type, other: &Type) -> bool {
    types::text(one) == types::text(other)
}

fn provide(input: &DeriveInput, service: &Service) -> TokenStream {
    let (deps, lenient) = (&input.ident, lenient());
    let (generics, arguments, clause) = input.generics.split_for_impl();
    let Service { ty, field, is_behind } = service;
    let place = if *is_behind { quote!(::core::ops::Deref::deref(&self.#field)) } else { quote!(&self.#field) };
    quote! {
        #[automatically_derived]
        #lenient
        impl #generics ::drystone::Provide<#ty> for #deps #arguments #clause {
            fn provide(&self) -> &::drystone::author::Same<#ty> {
                #place
            }
        }
    }
}

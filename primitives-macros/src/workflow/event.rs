//! `#[derive(Event)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Data, DeriveInput, Ident, Lit, Member, Token, Type, parenthesized,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
    token::Paren,
};

use crate::{
    primitive::{expand::definition, lenient},
    syntax::{
        attribute::{Given, Setting, setting},
        diagnostics::Mistakes,
        kinds::Value,
        options, suggest, types,
    },
};

/// The options of an event for its queue and its topic.
const OPTIONS: &[(&str, Value)] = &[
    ("keep", Value::Word(&["all", "latest", "first"])),
    ("max_queued", Value::Count),
    ("expires", Value::Duration),
    ("on_terminated", Value::Word(&["dead_letter", "discard", "publish"])),
    ("topic", Value::Flag),
    ("deliver", Value::Word(&["all", "one"])),
    ("from", Value::Word(&["wait", "created", "start"])),
    ("keep_for", Value::Duration),
    ("max_pending", Value::Count),
];

/// The largest number of fields in a key. Tuples up to this size are supported.
const KEY_FIELDS_MAX: usize = 6;

/// The options that have a meaning only beside `topic`.
const BESIDE_TOPIC: &[&str] = &["deliver", "from", "keep_for", "max_pending"];

pub(crate) fn event(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut mistakes = Mistakes::default();
    if !input.generics.params.is_empty() {
        mistakes.at(
            &input.generics.params,
            "an event is one type, for it is stored by its name: write it without generics",
        );
        return quote!(#mistakes);
    }
    if let Data::Union(data) = &input.data {
        mistakes.at(data.union_token, "an event is a struct or an enum");
        return quote!(#mistakes);
    }
    let mut said = Said::default();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("event")) {
        said.read(&input, attribute, &mut mistakes);
    }
    options::check_all("an event", &said.queue.iter().collect::<Vec<_>>(), &all_options(), &mut mistakes);
    refuse_constants(&said.queue, &mut mistakes);
    said.check_topic(&mut mistakes);
    let made = made(&input, &if mistakes.is_empty() { said } else { said.shape() });
    quote!(#made #mistakes)
}

/// The parsed `#[event(..)]`.
#[derive(Default)]
struct Said {
    name: Option<Lit>,
    /// The fields of its key.
    key: Vec<Member>,
    queue: Vec<Setting>,
}

impl Said {
    fn is_topic(&self) -> bool {
        self.queue.iter().any(|setting| setting.name == "topic")
    }

    /// Drops the options that other code does not depend on. The rest (the key, and whether the event has a
    /// topic) keeps one mistake from giving further errors elsewhere.
    fn shape(self) -> Self {
        let queue = self.queue.into_iter().filter(|setting| setting.name == "topic").collect();
        Self { name: None, key: self.key, queue }
    }

    fn check_topic(&self, mistakes: &mut Mistakes) {
        if self.is_topic() {
            if let Some(Lit::Str(name)) =
                self.name.as_ref().filter(|name| matches!(name, Lit::Str(text) if text.value().contains('/')))
            {
                mistakes.at(name, "the name of an event with a topic has no `/`: behind it is the key of the topic");
            }
            self.refuse_one_kept(mistakes);
            return;
        }
        for setting in &self.queue {
            let is_published =
                matches!(&setting.value, Some(Given::Literal(Lit::Str(word))) if word.value() == "publish");
            if setting.name == "on_terminated" && is_published {
                mistakes.at(&setting.value, "only an event with a topic can be published: write `topic` beside it");
            }
            if let Some(name) = BESIDE_TOPIC.iter().find(|name| setting.name == *name) {
                mistakes.at(
                    &setting.name,
                    format!("`{name}` is an option of `topic`: write `#[event(topic, {name} = ..)]`"),
                );
            }
        }
    }

    /// Refuses `keep = "latest"` and `keep = "first"` on an event with a topic. Events that a topic delivers
    /// to a run do not replace each other; the options of `topic` say which events are kept, and for how
    /// long.
    fn refuse_one_kept(&self, mistakes: &mut Mistakes) {
        for setting in self.queue.iter().filter(|setting| setting.name == "keep") {
            if !matches!(&setting.value, Some(Given::Literal(Lit::Str(word))) if word.value() == "all") {
                let message =
                    "an event with a topic is kept by its topic, one after the other: leave out `keep`, or `topic`";
                mistakes.at(&setting.name, message);
            }
        }
    }

    fn read(&mut self, input: &DeriveInput, attribute: &syn::Attribute, mistakes: &mut Mistakes) {
        let Ok(list) = attribute.meta.require_list() else {
            mistakes.at(&attribute.meta, "the options of an event are listed: write `#[event(keep = \"latest\")]`");
            return;
        };
        let parse = |tokens: ParseStream<'_>| {
            while !tokens.is_empty() {
                if is_key_of_several(tokens) {
                    self.key = key_of_several(tokens, input, mistakes)?;
                } else {
                    let setting = setting(tokens, &self.queue, mistakes)?;
                    self.add(setting, input, mistakes);
                }
                if !tokens.is_empty() {
                    tokens.parse::<Token![,]>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = parse.parse2(list.tokens.clone()) {
            mistakes.add(error);
        }
    }

    fn add(&mut self, setting: Setting, input: &DeriveInput, mistakes: &mut Mistakes) {
        if setting.is_refused {
            return;
        }
        if setting.name == "name" && self.name.is_some() || setting.name == "key" && !self.key.is_empty() {
            mistakes.at(&setting.name, format!("`{}` is set twice", setting.name));
        }
        match setting.name.to_string().as_str() {
            "name" => match setting.value {
                Some(Given::Literal(text @ Lit::Str(_))) if !is_empty(&text) => self.name = Some(text),
                value => mistakes
                    .at(or_name(&value, &setting.name), "an event's name is a text: write `name = \"approved\"`"),
            },
            "key" => self.key = key(&setting, input, mistakes).into_iter().collect(),
            _ => self.queue.push(setting),
        }
    }
}

fn is_empty(text: &Lit) -> bool {
    matches!(text, Lit::Str(text) if text.value().is_empty())
}

fn or_name(value: &Option<Given>, name: &syn::Ident) -> TokenStream {
    value.as_ref().map_or_else(|| name.to_token_stream(), ToTokens::to_token_stream)
}

/// Reads `key = order_id`: the field by which a wait selects an event.
fn key(setting: &Setting, input: &DeriveInput, mistakes: &mut Mistakes) -> Option<Member> {
    let fields = fields_of(input, &setting.name, mistakes)?;
    let written = or_name(&setting.value, &setting.name);
    if setting.value.is_none() {
        mistakes.at(written, "`key` names a field: write `key = order_id`");
        return None;
    }
    known_field(written, &fields, &input.ident, mistakes)
}

/// Returns the names of the event's fields. Reports a mistake on an enum, which has none.
fn fields_of(input: &DeriveInput, at: &Ident, mistakes: &mut Mistakes) -> Option<Vec<String>> {
    let Data::Struct(data) = &input.data else {
        mistakes.at(at, "`key` names a field of a struct, and an enum has none");
        return None;
    };
    Some(data.fields.members().map(|member| types::text(&member)).collect())
}

fn known_field(written: TokenStream, fields: &[String], event: &Ident, mistakes: &mut Mistakes) -> Option<Member> {
    let text = types::text(&written);
    if fields.contains(&text) {
        return syn::parse2(written).ok();
    }
    let names: Vec<&str> = fields.iter().map(String::as_str).collect();
    let meant = suggest::among(&text, &names);
    mistakes.at(written, format!("`{event}` has no field `{text}`{meant}"));
    None
}

/// Whether `key = (..)` comes next.
fn is_key_of_several(tokens: ParseStream<'_>) -> bool {
    let ahead = tokens.fork();
    let is_key = ahead.parse::<Ident>().is_ok_and(|name| name == "key") && ahead.parse::<Token![=]>().is_ok();
    is_key && ahead.peek(Paren)
}

/// Reads `key = (tenant, order_id)`: the fields by which a wait selects an event.
fn key_of_several(tokens: ParseStream<'_>, input: &DeriveInput, mistakes: &mut Mistakes) -> syn::Result<Vec<Member>> {
    let (name, _): (Ident, Token![=]) = (tokens.parse()?, tokens.parse()?);
    let list;
    let parens = parenthesized!(list in tokens);
    let written = Punctuated::<Member, Token![,]>::parse_terminated(&list)?;
    let Some(fields) = fields_of(input, &name, mistakes) else { return Ok(Vec::new()) };
    if written.is_empty() || written.len() > KEY_FIELDS_MAX {
        let message = format!(
            "a key is that of one field, or of up to {KEY_FIELDS_MAX}: write `key = order_id`, or `key = (tenant, order_id)`"
        );
        mistakes.add(syn::Error::new(parens.span.join(), message));
        return Ok(Vec::new());
    }
    let mut known: Vec<Member> = Vec::new();
    for member in &written {
        if known.contains(member) {
            mistakes.at(member, format!("`{}` is in this key already", types::text(member)));
        } else {
            known.extend(known_field(member.to_token_stream(), &fields, &input.ident, mistakes));
        }
    }
    Ok(known)
}

/// All options, for the suggestions after an unknown one.
fn all_options() -> Vec<(&'static str, Value)> {
    let mut options = vec![("name", Value::Flag), ("key", Value::Flag)];
    options.extend(OPTIONS);
    options
}

fn refuse_constants(queue: &[Setting], mistakes: &mut Mistakes) {
    for setting in queue.iter().filter(|setting| setting.name == "expires" || setting.name == "keep_for") {
        if let Some(path @ Given::Constant(_)) = &setting.value {
            let name = &setting.name;
            mistakes.at(path, format!("`{name}` of an event is a literal: write `{name} = \"7d\"`"));
        }
    }
}

fn made(input: &DeriveInput, said: &Said) -> TokenStream {
    let (ident, lenient) = (&input.ident, lenient());
    let default = types::plain(ident);
    let name = said.name.as_ref().map_or_else(|| quote!(#default), ToTokens::to_token_stream);
    let of = quote!(::drystone::workflow::EventOptions);
    let can = can(ident, said.is_topic(), !said.key.is_empty());
    let (options, key, asks) = (definition::all_set(&of, &said.queue, OPTIONS), key_of(&said.key), asks(input, said));
    let codec = quote_spanned!(ident.span()=> ::drystone::author::stored::<#ident>());
    // The options are a `const` item of their own, so that the compiler evaluates them even if they are
    // never used.
    quote! {
        #[automatically_derived]
        #lenient
        impl ::drystone::Event for #ident {
            type Asks = #asks;

            const NAME: &'static str = #name;

            const OPTIONS: #of = {
                const __OPTIONS: #of = #options;
                __OPTIONS
            };

            fn codec() -> ::drystone::author::Codec<Self> {
                #codec
            }

            #key
        }

        #can
    }
}

/// Implements the marker traits that allow to publish the event, and to wait for it with or without a key.
fn can(ident: &syn::Ident, is_topic: bool, is_keyed: bool) -> TokenStream {
    let mut traits = Vec::new();
    if is_topic {
        traits.push(quote!(TopicEvent));
    }
    traits.push(if is_topic && is_keyed { quote!(KeyedTopic) } else { quote!(AnyKey) });
    quote!(#(#[automatically_derived] impl ::drystone::workflow::#traits for #ident {})*)
}

/// The type that says whether a wait must give a key, and of which type.
fn asks(input: &DeriveInput, said: &Said) -> TokenStream {
    let is_asked = said.is_topic() && !said.key.is_empty();
    let must = if is_asked { quote!(WithoutItsKey) } else { quote!(Said) };
    let must = quote!(::drystone::workflow::#must);
    if said.key.len() < 2 {
        return must;
    }
    let types = said.key.iter().filter_map(|member| type_of(input, member));
    quote!(::drystone::workflow::Several<(#(#types,)*), #must>)
}

fn type_of<'a>(input: &'a DeriveInput, member: &Member) -> Option<&'a Type> {
    let Data::Struct(data) = &input.data else { return None };
    data.fields.members().zip(&data.fields).find(|(of, _)| of == member).map(|(_, field)| &field.ty)
}

/// Generates `fn key`. `None` without a key. The key of one field is its `Display`; several fields are
/// encoded together.
fn key_of(fields: &[Member]) -> Option<TokenStream> {
    // If a field does not implement `Display`, the error is shown at its name.
    let key = match fields {
        [] => return None,
        [field] => quote_spanned!(types::end_of(field)=> ::std::string::ToString::to_string(&self.#field)),
        several => {
            let shown = several.iter().map(|field| quote_spanned!(types::end_of(field)=> &self.#field));
            quote!(::drystone::workflow::key_of_fields(&[#(#shown),*]))
        }
    };
    Some(quote! {
        fn key(&self) -> ::core::option::Option<::std::string::String> {
            ::core::option::Option::Some(#key)
        }
    })
}

//! `#[derive(Event)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Data, DeriveInput, Lit, Member, Token,
    parse::{ParseStream, Parser},
};

use crate::{
    known::Value,
    mistakes::Mistakes,
    primitive::{
        attribute::{Given, Setting, setting},
        expand::definition,
        lenient, options,
    },
    suggest, types,
};

/// The options of an event that are its queue's.
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

/// Those that say nothing without `topic`.
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
    let mut said = Said { name: None, key: None, queue: Vec::new() };
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("event")) {
        said.read(&input, attribute, &mut mistakes);
    }
    options::check_all("an event", &said.queue.iter().collect::<Vec<_>>(), &all_options(), &mut mistakes);
    refuse_constants(&said.queue, &mut mistakes);
    said.check_topic(&mut mistakes);
    let made = made(&input, &if mistakes.is_empty() { said } else { said.shape() });
    quote!(#made #mistakes)
}

/// What `#[event(..)]` says.
#[derive(Default)]
struct Said {
    name: Option<Lit>,
    key: Option<Member>,
    queue: Vec<Setting>,
}

impl Said {
    fn is_topic(&self) -> bool {
        self.queue.iter().any(|setting| setting.name == "topic")
    }

    /// What is left of it if something is wrong: what others may do with the event, so that one mistake is one error.
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

    fn read(&mut self, input: &DeriveInput, attribute: &syn::Attribute, mistakes: &mut Mistakes) {
        let Ok(list) = attribute.meta.require_list() else {
            mistakes.at(&attribute.meta, "the options of an event are listed: write `#[event(keep = \"latest\")]`");
            return;
        };
        let parse = |tokens: ParseStream<'_>| {
            while !tokens.is_empty() {
                let setting = setting(tokens, &self.queue, mistakes)?;
                self.add(setting, input, mistakes);
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
        match setting.name.to_string().as_str() {
            "name" => match setting.value {
                Some(Given::Literal(text @ Lit::Str(_))) if !is_empty(&text) => self.name = Some(text),
                value => mistakes
                    .at(or_name(&value, &setting.name), "an event's name is a text: write `name = \"approved\"`"),
            },
            "key" => self.key = key(&setting, input, mistakes),
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

/// `key = order_id`: the field by which a wait can tell one event from another.
fn key(setting: &Setting, input: &DeriveInput, mistakes: &mut Mistakes) -> Option<Member> {
    let Data::Struct(data) = &input.data else {
        mistakes.at(&setting.name, "`key` names a field of a struct, and an enum has none");
        return None;
    };
    let written = or_name(&setting.value, &setting.name);
    let fields: Vec<String> = data.fields.members().map(|member| types::text(&member)).collect();
    let names: Vec<&str> = fields.iter().map(String::as_str).collect();
    match &setting.value {
        Some(_) if fields.contains(&types::text(&written)) => syn::parse2(written).ok(),
        Some(_) => {
            let (text, meant) = (types::text(&written), suggest::among(&types::text(&written), &names));
            mistakes.at(written, format!("`{}` has no field `{text}`{meant}", input.ident));
            None
        }
        None => {
            mistakes.at(written, "`key` names a field: write `key = order_id`");
            None
        }
    }
}

/// All options, for what is to be said of an unknown one.
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
    let can = can(ident, said.is_topic(), said.key.is_some());
    let asks = if said.is_topic() && said.key.is_some() { quote!(WithoutItsKey) } else { quote!(Said) };
    let (options, key) = (definition::all_set(&of, &said.queue, OPTIONS), said.key.as_ref().map(key_of));
    let codec = quote_spanned!(ident.span()=> ::drystone::author::stored::<#ident>());
    // A constant of its own is looked at by the compiler even if nobody asks for it.
    quote! {
        #[automatically_derived]
        #lenient
        impl ::drystone::Event for #ident {
            type Asks = ::drystone::workflow::#asks;

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

/// What can be done with it.
fn can(ident: &syn::Ident, is_topic: bool, is_keyed: bool) -> TokenStream {
    let mut traits = Vec::new();
    if is_topic {
        traits.push(quote!(TopicEvent));
    }
    traits.push(if is_topic && is_keyed { quote!(KeyedTopic) } else { quote!(AnyKey) });
    quote!(#(#[automatically_derived] impl ::drystone::workflow::#traits for #ident {})*)
}

fn key_of(field: &Member) -> TokenStream {
    // A field that cannot be shown is told at its name.
    let key = quote_spanned!(types::end_of(field)=> ::std::string::ToString::to_string(&self.#field));
    quote! {
        fn key(&self) -> ::core::option::Option<::std::string::String> {
            ::core::option::Option::Some(#key)
        }
    }
}

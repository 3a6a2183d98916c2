//! An annotated `impl` block, as the later stages see it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{ImplItem, ItemImpl, Type};

use super::{
    functions,
    role::{self, Role},
};
use crate::syntax::{
    attribute::{Attribute, Given, Kind, Setting},
    diagnostics::Mistakes,
    function::Function,
    hook_options,
    returns::Returns,
    transaction, types,
};

/// The model of a primitive.
pub(crate) struct Model {
    pub(crate) kind: Kind,
    pub(crate) options: Vec<Setting>,
    /// The author's struct as it is written. `name` is its plain name.
    pub(crate) struct_: Type,
    pub(crate) name: Ident,
    pub(crate) actions: Vec<Action>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) creates: Vec<Create>,
    pub(crate) init: Vec<Init>,
    pub(crate) destroy: Vec<Hook>,
    pub(crate) reduce: Vec<Reduce>,
    pub(crate) apply: Vec<Apply>,
    /// Whether a hook, `#[reduce]` or `#[apply]` was refused. A refused function must not be reported as
    /// missing too.
    pub(crate) refused: bool,
    /// The input type of a refused hook.
    pub(crate) item: Option<TokenStream>,
    /// Whether nothing was left out after mistakes.
    pub(crate) is_whole: bool,
    /// The expression that makes the struct, if the macro sees that it has no fields. Then it needs no
    /// serde.
    pub(crate) made: Option<TokenStream>,
}

/// An action.
pub(crate) struct Action {
    pub(crate) function: Function,
    pub(crate) returns: Returns,
    pub(crate) transaction: Option<Transactional>,
    /// Whether it takes `&mut self` and only inputs, and awaits nothing.
    pub(crate) plain: bool,
}

/// The transaction of `#[action(transaction)]`.
pub(crate) struct Transactional {
    /// The index of the transaction among the parameters.
    pub(crate) place: usize,
    /// The option `timeout = "5s"`.
    pub(crate) timeout: Option<Given>,
}

/// A hook of the kind, or `#[destroy]`.
pub(crate) struct Hook {
    pub(crate) word: Ident,
    pub(crate) function: Function,
    /// The only owned parameter.
    pub(crate) input: Option<Type>,
    /// The type of the value for `#[apply]`.
    pub(crate) value: Option<Type>,
    pub(crate) error: TokenStream,
    /// The index of the transaction among the parameters, if the hook is transactional.
    pub(crate) transaction: Option<usize>,
}

/// `#[create]`.
pub(crate) struct Create {
    pub(crate) function: Function,
    pub(crate) returns: Returns,
}

/// `#[init]`.
pub(crate) struct Init {
    pub(crate) word: Ident,
    pub(crate) function: Function,
    pub(crate) returns: Returns,
}

/// `#[reduce] fn fold(total: &mut Total, item: Item)`.
pub(crate) struct Reduce {
    pub(crate) word: Ident,
    pub(crate) name: Ident,
    pub(crate) total: Type,
    pub(crate) item: Type,
}

/// `#[apply] fn apply(&mut self, value: V)`.
pub(crate) struct Apply {
    pub(crate) word: Ident,
    pub(crate) name: Ident,
    pub(crate) value: Type,
}

impl Model {
    /// A primitive without functions. Returns `None` if the type has no name of its own.
    pub(crate) fn empty(attribute: Attribute, struct_: Type) -> Option<Self> {
        let name = types::last_segment(&struct_)?.ident.clone();
        let name = Ident::new(&name.to_string(), name.span().resolved_at(Span::call_site()));
        let Attribute { kind, options } = attribute;
        Some(Self {
            kind,
            options,
            struct_,
            name,
            actions: Vec::new(),
            hooks: Vec::new(),
            creates: Vec::new(),
            init: Vec::new(),
            destroy: Vec::new(),
            reduce: Vec::new(),
            apply: Vec::new(),
            refused: false,
            item: None,
            is_whole: true,
            made: None,
        })
    }

    /// Reads a block into a model, and removes our attributes from it.
    pub(crate) fn read(attribute: Attribute, block: &mut ItemImpl, mistakes: &mut Mistakes) -> Option<Self> {
        let struct_ = (*block.self_ty).clone();
        let is_generic = !check_header("a primitive", "Cart", block, mistakes);
        let Some(mut model) = Self::empty(attribute, struct_) else {
            mistakes.at(&block.self_ty, "a primitive is a struct with a name: write `impl Cart`");
            return None;
        };
        let is_of_trait = block.trait_.is_some();
        for item in &mut block.items {
            if let ImplItem::Fn(function) = item {
                let role = role::take(function, &model.kind, mistakes);
                if function.sig.asyncness.is_none() && matches!(role, Role::Hook(..) | Role::Transactional(..)) {
                    // Transactional code takes its input owned because the input is stored, so clippy must
                    // not ask for a reference.
                    function.attrs.push(syn::parse_quote!(#[allow(clippy::needless_pass_by_value)]));
                }
                if !is_generic && !is_of_trait {
                    model.add(role, function, mistakes);
                }
            }
        }
        (!is_generic).then_some(model)
    }

    fn add(&mut self, role: Role, function: &syn::ImplItemFn, mistakes: &mut Mistakes) {
        let struct_ = &self.struct_;
        match role {
            Role::Transactional(word, settings) => {
                self.actions.extend(functions::transactional((word, settings), function, struct_, mistakes));
            }
            Role::Action => self.actions.extend(functions::action(function, struct_, mistakes)),
            Role::Hook(word, mut settings) => {
                let is_transaction = transaction::take_word(&mut settings);
                hook_options::join((&self.kind, &mut self.options), &word, settings, mistakes);
                match functions::hook((word, is_transaction), function, struct_, mistakes) {
                    Some(hook) => self.hooks.push(hook),
                    None => {
                        self.refused = true;
                        self.item = functions::item(function);
                    }
                }
            }
            Role::Destroy(word, is_transaction) => {
                self.destroy.extend(functions::destroy((word, is_transaction), function, struct_, mistakes));
            }
            Role::Create => self.creates.extend(functions::create(function, struct_, mistakes)),
            Role::Init(word) => self.init.extend(functions::init(word, function, struct_, mistakes)),
            Role::Reduce(word) => match functions::reduce(word, function, struct_, mistakes) {
                Some(reduce) => self.reduce.push(reduce),
                None => self.refused = true,
            },
            Role::Apply(word) => match functions::apply(word, function, struct_, mistakes) {
                Some(apply) => self.apply.push(apply),
                None => self.refused = true,
            },
            Role::Helper => {}
            Role::Refused => self.refused = true,
        }
    }

    /// The type of the items that callers hand in: the item of `#[reduce]`, or else the input of the hook.
    pub(crate) fn item(&self) -> Option<TokenStream> {
        if let Some(Reduce { item, .. }) = self.reduce.first() {
            return Some(quote!(::drystone::kinds::buffer::Reduced<#item>));
        }
        let input = self.hooks.iter().find_map(|hook| hook.input.as_ref());
        input.map(ToTokens::to_token_stream).or_else(|| self.item.clone())
    }

    /// Returns the hooks whose value goes to `#[apply]`.
    pub(crate) fn applying(&self) -> impl Iterator<Item = &Hook> {
        self.hooks.iter().filter(|hook| hook.value.is_some())
    }
}

/// Checks the header of a block: no trait, no `unsafe`, no generics. Returns whether it is free of generics.
pub(crate) fn check_header(noun: &str, example: &str, block: &ItemImpl, mistakes: &mut Mistakes) -> bool {
    if let Some((path, _)) = &block.trait_ {
        mistakes.at(path, format!("{noun}'s functions are its own: write `impl {example}`, without a trait"));
    }
    if let Some(unsafety) = &block.unsafety {
        mistakes.at(unsafety, format!("{noun}'s `impl` is not `unsafe`"));
    }
    let generics = &block.generics;
    let is_generic = !generics.params.is_empty() || generics.where_clause.is_some();
    if is_generic {
        let at = if generics.params.is_empty() {
            generics.where_clause.to_token_stream()
        } else {
            generics.params.to_token_stream()
        };
        let message = format!("{noun} is one type, for it is stored under one name: write an `impl` without generics");
        mistakes.at(at, message);
    }
    !is_generic
}

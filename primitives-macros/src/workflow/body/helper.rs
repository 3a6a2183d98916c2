//! Functions whose bodies are made durable: `run`, `#[cancelled]`, helpers of the body, and `#[durable]`
//! functions elsewhere.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Block, Expr, ImplItemFn, ItemFn, Meta, ReturnType, Signature, Stmt, Type};

use crate::{
    syntax::{diagnostics::Mistakes, types},
    workflow::{body, role::Role},
};

/// Makes bodies durable, and collects their mistakes.
pub(in crate::workflow) struct Bodies {
    /// Whether the statements are kept. After a mistake each body is replaced by `unreachable!()`.
    pub(in crate::workflow) are_kept: bool,
    pub(in crate::workflow) mistakes: Mistakes,
}

impl Bodies {
    /// Makes the body of a function durable, if its role calls for that.
    pub(in crate::workflow) fn make_durable(&mut self, role: &Role, function: &mut ImplItemFn) {
        match role {
            Role::Run | Role::Cancelled(_) => function.block.stmts = vec![verbatim(self.statements(&function.block))],
            Role::Helper => self.make_helper(&mut function.attrs, &mut function.sig, &mut function.block),
            Role::Step(_) if function.sig.asyncness.is_none() => {
                // A transactional step takes its input owned because the input is stored, so clippy must not
                // ask for a reference.
                function.attrs.push(syn::parse_quote!(#[allow(clippy::needless_pass_by_value)]));
                return;
            }
            Role::Step(_) | Role::Query | Role::Update | Role::Plain | Role::Refused => return,
        }
        if !self.are_kept {
            function.attrs.push(syn::parse_quote!(#[allow(unused)]));
        }
    }

    fn statements(&mut self, block: &Block) -> TokenStream {
        let statements = &block.stmts;
        let durable = body::durable(quote!(#(#statements)*), &mut self.mistakes);
        if self.are_kept { durable } else { quote!(::core::unreachable!()) }
    }

    /// Turns `async fn helper(..) -> T` into `fn helper(..) -> Block<impl Future<Output = T> + Send>`, which
    /// a body can await. Generated tokens have the edition of this crate, so the return type borrows from
    /// all parameters whatever the author's edition is.
    fn make_helper(&mut self, attributes: &mut Vec<Attribute>, signature: &mut Signature, block: &mut Block) {
        // The returned `Block` is `must_use` itself.
        attributes.retain(|attribute| !matches!(&attribute.meta, Meta::Path(path) if path.is_ident("must_use")));
        let statements = self.statements(block);
        let output: Type = match &signature.output {
            ReturnType::Default => syn::parse_quote!(()),
            ReturnType::Type(_, ty) => (**ty).clone(),
        };
        let typed = typed(&output);
        block.stmts = vec![verbatim(quote! {
            ::drystone::workflow::block(async move {
                #typed
                #statements
            })
        })];
        signature.asyncness = None;
        signature.output = syn::parse_quote! {
            -> ::drystone::workflow::Block<
                impl ::core::future::Future<Output = #output> + ::core::marker::Send
            >
        };
    }
}

/// Expands `#[durable] async fn`.
pub(crate) fn durable(attribute: &TokenStream, item: &TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    if !attribute.is_empty() {
        mistakes.at(attribute, "`#[durable]` has no options");
    }
    let mut function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            let first = item.clone().into_iter().next();
            mistakes.at(first, "`#[durable]` goes on a function: `#[durable] async fn wait(flow: &Flow<Checkout>)`");
            return quote!(#item #mistakes);
        }
    };
    if function.sig.asyncness.is_none() {
        let message = format!("a durable function is async: write `async fn {}`", function.sig.ident);
        mistakes.at(function.sig.fn_token, message);
        return quote!(#function #mistakes);
    }
    let mut bodies = Bodies { are_kept: true, mistakes };
    bodies.make_helper(&mut function.attrs, &mut function.sig, &mut function.block);
    let mistakes = bodies.mistakes;
    quote!(#function #mistakes)
}

/// Tells the compiler the return type of the block before its statements, because `?` needs to know it.
fn typed(output: &Type) -> Option<TokenStream> {
    let is_named = !has_impl(output.to_token_stream());
    let returned = types::local("returned");
    is_named.then(|| {
        quote! {
            #[allow(unreachable_code, clippy::diverging_sub_expression)]
            if let ::core::option::Option::Some(#returned) = ::core::option::Option::None::<#output> {
                return #returned;
            }
        }
    })
}

fn has_impl(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Ident(word) => word == "impl",
        proc_macro2::TokenTree::Group(group) => has_impl(group.stream()),
        _ => false,
    })
}

fn verbatim(tokens: TokenStream) -> Stmt {
    Stmt::Expr(Expr::Verbatim(tokens), None)
}

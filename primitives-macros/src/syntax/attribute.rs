//! `#[primitive(kind, option = literal, option = CONSTANT, flag)]`, parsed.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Expr, ExprLit, ExprPath, Lit, Path, Token,
    parse::{ParseStream, Parser},
};

use super::{diagnostics::Mistakes, kinds::Known, types};

/// The parsed attribute.
pub(crate) struct Attribute {
    pub(crate) kind: Kind,
    pub(crate) options: Vec<Setting>,
}

/// The kind: a built-in one, a module from elsewhere, or a name that is neither.
pub(crate) enum Kind {
    Ours(&'static Known, Ident),
    Outside(Path),
    Unknown,
}

/// One option, with an optional value.
pub(crate) struct Setting {
    pub(crate) name: Ident,
    pub(crate) value: Option<Given>,
    /// Whether the value was a mistake, which has been reported.
    pub(crate) is_refused: bool,
}

/// The value of an option.
pub(crate) enum Given {
    Literal(Lit),
    /// The path of a constant. Only the compiler sees its value.
    Constant(ExprPath),
}

impl ToTokens for Given {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Literal(literal) => literal.to_tokens(tokens),
            Self::Constant(path) => path.to_tokens(tokens),
        }
    }
}

impl Kind {
    /// The module of the kind, with generated names located at `at`. An unknown kind is expanded like
    /// `object`.
    pub(crate) fn module(&self, at: Span) -> TokenStream {
        let module = match self {
            Self::Ours(known, _) => Ident::new(known.name, Span::call_site()),
            Self::Outside(path) => return path.to_token_stream(),
            Self::Unknown => Ident::new("object", Span::call_site()),
        };
        types::located(quote!(::drystone::kinds::#module), at)
    }

    /// The place of the kind in the attribute.
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Ours(_, written) => written.span(),
            Self::Outside(path) => types::end_of(path),
            Self::Unknown => Span::call_site(),
        }
    }

    pub(crate) fn ours(&self) -> Option<&'static Known> {
        match self {
            Self::Ours(known, _) => Some(known),
            _ => None,
        }
    }
}

impl Attribute {
    pub(crate) fn parse(tokens: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut attribute = Self { kind: Kind::Unknown, options: Vec::new() };
        let parse = |input: ParseStream<'_>| {
            attribute.read(input, mistakes).or_else(|error| {
                mistakes.add(error);
                input.parse::<TokenStream>().map(drop)
            })
        };
        if let Err(error) = parse.parse2(tokens) {
            mistakes.add(error);
        }
        attribute
    }

    fn read(&mut self, input: ParseStream<'_>, mistakes: &mut Mistakes) -> syn::Result<()> {
        if input.is_empty() || input.peek2(Token![=]) {
            let at = if input.is_empty() { Span::call_site() } else { input.span() };
            let names = Known::names().join(", ");
            return Err(syn::Error::new(at, format!("the kind is missing: write it first; it is one of: {names}")));
        }
        self.kind = kind(input.call(Path::parse_mod_style)?, mistakes);
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            self.option(input, mistakes)?;
        }
        Ok(())
    }

    fn option(&mut self, input: ParseStream<'_>, mistakes: &mut Mistakes) -> syn::Result<()> {
        self.options.push(setting(input, &self.options, mistakes)?);
        Ok(())
    }
}

/// Reads one option. `before` are the options read so far, to find duplicates.
pub(crate) fn setting(input: ParseStream<'_>, before: &[Setting], mistakes: &mut Mistakes) -> syn::Result<Setting> {
    let name: Ident = input.parse()?;
    if before.iter().any(|option| option.name == name) {
        mistakes.at(&name, format!("`{name}` is set twice"));
    }
    let mut is_refused = false;
    let value = match input.parse::<Option<Token![=]>>()? {
        None => None,
        Some(_) => match ungrouped(input.parse()?) {
            Expr::Lit(ExprLit { lit, .. }) => Some(Given::Literal(lit)),
            Expr::Path(path) => Some(Given::Constant(path)),
            other => {
                let message =
                    format!("`{name}` is set to a literal or the path of a constant, which can be checked here");
                mistakes.at(other, message);
                is_refused = true;
                None
            }
        },
    };
    Ok(Setting { name, value, is_refused })
}

/// Removes the invisible group that `macro_rules!` puts around an expression.
fn ungrouped(expression: Expr) -> Expr {
    match expression {
        Expr::Group(group) => ungrouped(*group.expr),
        other => other,
    }
}

/// Finds the kind by its path. A name near to a built-in kind is reported, and then treated as that kind, so
/// that the rest can be checked.
fn kind(path: Path, mistakes: &mut Mistakes) -> Kind {
    let Some(name) = path.get_ident().cloned() else { return Kind::Outside(path) };
    if let Some(known) = Known::named(&name.to_string()) {
        return Kind::Ours(known, name);
    }
    let (names, near) = (Known::names().join(", "), Known::near(&name.to_string()));
    let meant = near.map_or_else(String::new, |known| format!(" (did you mean `{}`?)", known.name));
    mistakes.at(&name, format!("unknown kind of primitive `{name}`; expected one of: {names}{meant}"));
    near.map_or(Kind::Unknown, |known| Kind::Ours(known, name))
}

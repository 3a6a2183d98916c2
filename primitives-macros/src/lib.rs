//! The macros of Drystone. Use them through the `drystone` crate.

mod app;
mod primitive;
mod services;
mod syntax;
#[cfg(feature = "cron")]
mod time_zones;
mod workflow;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Turns a struct into a primitive, from the `impl` block with its functions.
///
/// ```text
/// #[primitive(object)]
/// impl Cart {
///     /// Adds an item and returns the number of items.
///     async fn put(&mut self, item: String) -> usize {
///         self.items.push(item);
///         self.items.len()
///     }
/// }
/// ```
///
/// The first word is the kind: `object`, `continuous`, `buffer`, `queue` or `semaphore`, or the path of a
/// module that defines another kind. Options follow, as literals or constants. The values below are the
/// defaults unless noted otherwise; "(none)" marks an example of an option that is unset by default.
///
/// - `object`: `max_attempts = 3`, `retry = "1m"`, `timeout = "30s"` (none). They apply to its `#[alarm]`.
/// - `continuous`: one schedule, which is required: `every = "59m"` (fixed rate), `after = "59m"` (fixed
///   delay) or, with the feature `cron`, `cron = "0 3 * * *"`. Beside `cron`: `zone = "UTC"` and
///   `missed = "once"` (or `"skip"`, `"backfill"`). `first = "now"` (none) runs the first tick at once
///   instead of after one interval. `max_attempts = 3`, `retry = "1m"`, `on_exhausted = "stop"` (or
///   `"continue"`, `"destroy"`), `timeout = "30s"` (none).
/// - `buffer`: `max_items = 100`, `max_wait = "5s"`, `reset_on_add` (none), `max_attempts = 5`,
///   `backoff = "1s..1m"`, `strict_order` (none), `timeout = "30s"` (none), `max_stored = 100000`,
///   `max_stored_bytes = 67108864`.
/// - `queue`: `concurrency = 1`, `max_attempts = 5`, `backoff = "1s..5m"`, `strict_order` (none),
///   `timeout = "30s"` (none), `heartbeat = "10s"` (none), `max_depth = 1000000`.
/// - `semaphore`: `permits = 10`, which is required, and `lease = "30s"` (a guard that is renewed) or instead
///   `window = "1s"` (a rate limit). The attribute goes on a struct without fields, or on an `impl` block.
///
/// `retry` and `backoff` set the pause before the next attempt. `"1m"` is a constant pause; `"1s..1m"`
/// starts at the first value and doubles up to the last.
///
/// A constant is written as its path. `max_items = MAX` takes a `u64`, `every = INTERVAL` a `Duration`,
/// `cron = NIGHTLY` a `Cron`, and `retry = SLOWLY` a `Retry` with pauses of any form. A `Retry` has its own
/// limit of attempts; beside `max_attempts` the smaller limit counts.
///
/// Every `async fn` with `&self` or `&mut self` is an **action**: a method of the handle that callers hold.
/// Owned parameters are its input and travel with the call. `&T` is a service of the app, `&Context` tells
/// when and for which entity the action runs, and `&Client<P>` calls another primitive of the app. The
/// return value is stored, so its type must implement serde's traits.
///
/// Attributes give a function another role:
///
/// - `#[tick]`, `#[flush]`, `#[process]`, `#[alarm]`, `#[hook(name)]`: the hook of the kind. It is `async`
///   and returns a `Result` with any error.
/// - `#[action(transaction)]`: an action that writes the author's own tables. It is a plain `fn` with
///   `&self` or `&mut self` that takes a `&mut Transaction<'_>`.
/// - `#[create]`: a constructor, and a method of the handle. It makes the state of an unbound key from its
///   input: `async fn open(owner: String) -> Result<Self, E>`.
/// - `#[init]`: makes the state of an unbound key when a call brings none, from services and `&Context`:
///   `async fn init() -> Self`.
/// - `#[destroy]`: runs before the entity ends.
/// - `#[reduce]`: folds an item of a buffer into a total: `fn fold(total: &mut Total, item: Item)`.
/// - `#[apply]`: puts the value of a hook that takes `&self` into the state:
///   `fn apply(&mut self, value: V)`.
///
/// The options for the hook (`max_attempts`, `retry` or `backoff`, `timeout`, `heartbeat`) may be written on
/// the hook instead: `#[process(max_attempts = 1, timeout = "5s")]`. With `transaction`, a hook (also
/// `#[destroy(transaction)]`) is a plain `fn` that takes a `&mut Transaction<'_>` and writes the author's
/// own tables in the same file, exactly once.
///
/// All other functions stay plain Rust.
#[proc_macro_attribute]
pub fn primitive(attribute: TokenStream, item: TokenStream) -> TokenStream {
    primitive::primitive(attribute.into(), item.into()).into()
}

/// Turns a struct into a workflow, from the `impl` block with its body and its steps. The struct is the
/// state of a run, which queries and people see. It must implement serde's traits and `Default`.
///
/// ```text
/// #[workflow(events(Approved), retention = "30d")]
/// impl Checkout {
///     async fn run(flow: &Flow<Self>, order: Order) -> Result<Receipt, CheckoutError> {
///         let charge = flow.charge(order.card, order.total).await?;
///         let approved = flow.wait_for::<Approved>().timeout("24h").await?;
///         Self::thank(flow, &order.email, &approved).await?;
///         Ok(Receipt { charge })
///     }
///
///     async fn thank(flow: &Flow<Self>, to: &str, approved: &Approved) -> Result<(), MailError> {
///         flow.email(format!("{to}, {}", approved.by)).await
///     }
///
///     #[step(max_attempts = 5, backoff = "1s..1m", timeout = "30s", retry_if = PayError::is_temporary)]
///     async fn charge(card: Card, total: Money, payments: &Payments) -> Result<Charge, PayError> {
///         payments.charge(card, total).await
///     }
///
///     async fn stage(&self) -> Stage {
///         self.stage
///     }
/// }
/// ```
///
/// The role of a function follows from its attribute and its signature:
///
/// - `async fn run(flow: &Flow<Self>, ..)` is the **body**. Its owned parameters are those of `start(..)`,
///   and its return value is the result of the run.
/// - `#[step] async fn` without `self` is a **step**. The body calls it as `flow.name(..)` with its owned
///   parameters. `&T` is a service of the app, `&Context` and `&Client<P>` are as in a primitive. Outside
///   the body it is a plain function.
/// - Any other `async fn` without `self` is a **helper** of the body, called as `Self::name(flow, ..)` and
///   checked like the body.
/// - `async fn` with `&self` is a **query**: a method of the handle that reads the stored state.
/// - `async fn` with `&mut self` is an **update**: a method of the handle that changes the state, without
///   services and without waiting. An `Err` changes nothing.
/// - `#[cancelled] async fn cleanup(flow: &Flow<Self>)` is the body of a run that was cancelled. It may use
///   steps.
///
/// All other functions stay plain Rust.
///
/// Options of the workflow:
///
/// - `events(..)`: the events that it accepts.
/// - `retention = "7d"`: how long a run is kept after it has ended.
/// - `cron = "0 9 * * MON"`, with the feature `cron`: starts a run at each time. The body then takes a
///   `Tick`. Beside it: `zone = "UTC"`, `missed = "once"` (or `"skip"`, `"backfill"`), `overlap = "skip"`
///   (or `"queue"`, `"parallel"`).
///
/// Options of a step, with their defaults; "(none)" marks an example of an option that is unset by default:
///
/// - `max_attempts = 3`, `backoff = "1s..1m"`.
/// - `timeout = "30s"` (none): the limit of one attempt. `give_up_after = "1h"` (none): the limit of all
///   attempts together.
/// - `retry_if = PayError::is_temporary` (none): tells which errors are worth another attempt. By default
///   all are.
/// - `undo = refund` (none): the step that undoes this one when the run fails or is cancelled.
/// - `heartbeat = "30s"` (none): how long the step may be silent. It reports that it is alive by
///   `beat: &Heartbeat<T>`.
/// - `transaction` (none): the step is a plain `fn` that takes a `&mut Transaction<'_>` and writes the
///   author's own tables in the same file, exactly once.
///
/// A constant is written as its path, as in `#[primitive]`.
///
/// # What a body may do
///
/// After a crash, a body is replayed on its recorded journal. So it can await only durable futures: steps,
/// `flow.sleep("24h")`, `flow.wait_for::<E>()`, `flow.run("name", async move { .. })`, helpers,
/// [`#[durable]`](macro@durable) functions, `async` blocks, and several of them at once by `select!`,
/// `join!` and `join_all`. In a body, `select!` and `join!` are Drystone's without an import.
///
/// Clocks, random values and `spawn` are refused by name, with what to write instead. A call that hides
/// behind another name is only noticed when the body runs. Literals in `.sleep("24h")`,
/// `.timeout("24h")`, `.within("24h")` and `.backoff("1s..1m")` are checked at compile time. The arguments
/// of `.run(..)` are not checked, because that code runs outside the body.
#[proc_macro_attribute]
pub fn workflow(attribute: TokenStream, item: TokenStream) -> TokenStream {
    workflow::workflow(attribute.into(), item.into()).into()
}

/// Turns an `async fn` outside a workflow's `impl` block into one that bodies can await. It is checked like
/// a body and may await only durable futures.
///
/// ```text
/// #[durable]
/// async fn reminded(flow: &Flow<Checkout>, times: u32) -> Option<Approved> {
///     for _ in 0..times {
///         select! {
///             approved = flow.wait_for::<Approved>() => return Some(approved),
///             () = flow.sleep("1d") => flow.remind().await,
///         }
///     }
///     None
/// }
/// ```
///
/// The result is a plain function that returns a `Block<impl Future + Send>`.
#[proc_macro_attribute]
pub fn durable(attribute: TokenStream, item: TokenStream) -> TokenStream {
    workflow::durable(&attribute.into(), &item.into()).into()
}

/// Waits for the first of several durable futures. The other futures are dropped before the winner's
/// expression runs.
///
/// ```text
/// let approved = select! {
///     approved = flow.wait_for::<Approved>() => approved,
///     rejected = flow.wait_for::<Rejected>() => return Err(CheckoutError::Rejected(rejected.why)),
///     () = flow.sleep("24h") => {
///         flow.remind().await;
///         continue;
///     }
/// };
/// ```
///
/// Each arm is `pattern = future => expression`. All expressions have one type; in a statement of its own,
/// the type is `()`. `return`, `break`, `continue`, `?` and `.await` in an expression act on the code around
/// the `select!`. The pattern must fit every value of the future. `&mut step` keeps a step for the next
/// iteration of a loop. The winning arm is recorded, and is the same in every replay.
///
/// In the body of a workflow a bare `select!` is this macro, whatever was imported.
#[proc_macro]
pub fn select(input: TokenStream) -> TokenStream {
    workflow::select(input.into()).into()
}

/// Waits for all of several durable futures and returns their outputs as a tuple.
///
/// ```text
/// let (charge, stock) = join!(flow.charge(card, total), flow.reserve(items));
/// let (charge, stock) = (charge?, stock?);
/// ```
///
/// In the body of a workflow a bare `join!` is this macro, whatever was imported. For many futures of one
/// type use `join_all`.
#[proc_macro]
pub fn join(input: TokenStream) -> TokenStream {
    workflow::join(input.into()).into()
}

/// Turns a struct or an enum into an event that can be sent to runs. It must implement serde's traits.
///
/// ```text
/// #[derive(Event, Serialize, Deserialize)]
/// #[event(name = "approved", keep = "latest", key = order_id)]
/// struct Approved { order_id: u64, by: String }
/// ```
///
/// Options, shown with their default values; "(none)" marks an example of an option that is unset by
/// default:
///
/// - `name = "approved"`: the stored name. Default: the name of the type.
/// - `keep = "all"`: the events that a run queues. `"all"` queues each in order; `"latest"` and `"first"`
///   keep a single one. An event with a topic always keeps all.
/// - `max_queued = 10000`: how many events may be queued for one run.
/// - `expires = "7d"`: how long an event stays queued if no wait takes it.
/// - `key = order_id` (none): the field by which a wait selects an event:
///   `flow.wait_for::<Approved>().key(7)`. Several fields are a tuple: `key = (tenant, order_id)` and
///   `.key((tenant, 7))`, of the types of the fields.
/// - `on_terminated = "dead_letter"`: what happens to queued events when their run ends. `"discard"` drops
///   and counts them; `"publish"` publishes them, for an event with a topic.
/// - `topic` (none): the event can be published to every run that waits for it: `client.publish(event)`.
///   With a `key` each key has its own topic.
/// - `deliver = "all"`, of a topic: an event goes to all waits. With `"one"` it goes only to the longest
///   waiting.
/// - `from = "wait"`, of a topic for all: a wait takes events published after it. With `"created"` it takes
///   events published after its run began, with `"start"` it begins at the oldest kept event.
/// - `keep_for = "7d"`, of a topic: how long an event is kept. Then it is dropped and counted. With
///   `deliver = "one"`, an event not taken by then becomes a dead letter.
/// - `max_pending = 10000`, of a topic: how many events are kept. With `deliver = "one"`, publishing beyond
///   the limit is refused; otherwise the oldest event goes.
#[proc_macro_derive(Event, attributes(event))]
pub fn event(input: TokenStream) -> TokenStream {
    workflow::event(input.into()).into()
}

/// Turns a struct into an app. Each field is a primitive, stored under the name of the field.
///
/// `App` gets an `AppClient` with one method per field, which takes a key and returns the handle of that
/// key.
#[proc_macro_derive(Primitives)]
pub fn primitives(input: TokenStream) -> TokenStream {
    app::app(input.into()).into()
}

/// Turns the fields of a struct into services: code that takes a `&T` gets the field of type `T`.
///
/// An `Arc<T>` or a `Box<T>` provides its `T` too, so that `mail: Box<dyn Mail>` can be taken as
/// `&dyn Mail`.
#[proc_macro_derive(Services)]
pub fn services(input: TokenStream) -> TokenStream {
    services::services(input.into()).into()
}

/// A [`Duration`](std::time::Duration) from a literal that is checked at compile time: `d!("1h 30m")`.
///
/// The literal is one or more pairs of a number and a unit: `ms`, `s`, `m`, `h`, `d`, or their full names.
#[proc_macro]
pub fn d(input: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Literal(literal)] => match parse(literal) {
            Ok(millis) => from_millis(millis),
            Err(message) => error(&message, literal.span()),
        },
        [] => error("a duration is missing; write for example d!(\"5s\")", Span::call_site()),
        [first, ..] => error("only a text literal can be checked here; write for example d!(\"5s\")", first.span()),
    }
}

/// The names of all time zones, for `drystone` alone.
#[cfg(feature = "cron")]
#[doc(hidden)]
#[proc_macro]
pub fn __time_zone_names(_: TokenStream) -> TokenStream {
    time_zones::names().into()
}

fn parse(literal: &Literal) -> Result<u64, String> {
    let source = literal.to_string();
    let text = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let text = text.ok_or_else(|| format!("`{source}` has no unit; write for example \"5s\""))?;
    syntax::options::millis(text)
}

/// Generates `::core::time::Duration::from_millis(millis)`.
fn from_millis(millis: u64) -> TokenStream {
    let mut path = Vec::new();
    for name in ["core", "time", "Duration", "from_millis"] {
        path.extend([Spacing::Joint, Spacing::Alone].map(|spacing| TokenTree::from(Punct::new(':', spacing))));
        path.push(Ident::new(name, Span::call_site()).into());
    }
    let number = TokenTree::from(Literal::u64_suffixed(millis));
    path.push(Group::new(Delimiter::Parenthesis, number.into()).into());
    path.into_iter().collect()
}

/// Generates `::core::compile_error!("message")`, located at `span`.
fn error(message: &str, span: Span) -> TokenStream {
    let mut tokens = Vec::new();
    for name in ["core", "compile_error"] {
        tokens.extend([Spacing::Joint, Spacing::Alone].map(|spacing| TokenTree::from(Punct::new(':', spacing))));
        tokens.push(Ident::new(name, span).into());
    }
    tokens.push(Punct::new('!', Spacing::Alone).into());
    let text = TokenTree::from(Literal::string(message));
    tokens.push(Group::new(Delimiter::Brace, text.into()).into());
    for token in &mut tokens {
        token.set_span(span);
    }
    tokens.into_iter().collect()
}

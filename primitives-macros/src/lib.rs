//! The macros of Drystone. Use them through the `drystone` crate.

mod app;
mod duration;
mod known;
mod mistakes;
mod primitive;
mod services;
mod suggest;
mod transaction;
mod types;
mod workflow;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a primitive of a struct, from the `impl` block with its functions.
///
/// ```text
/// #[primitive(object)]
/// impl Cart {
///     /// Puts an item in; how many there are then.
///     async fn put(&mut self, item: String) -> usize {
///         self.items.push(item);
///         self.items.len()
///     }
/// }
/// ```
///
/// The first word is the kind: `object`, `continuous`, `buffer`, `queue` or `semaphore`, or the path of a module anywhere else. Its options
/// follow, as literals or constants:
///
/// | kind | options, with their defaults |
/// |---|---|
/// | `object` | `max_attempts = 3`, `retry = "1m"`, `timeout = "30s"` (none): of its `#[alarm]` |
/// | `continuous` | `every = "59m"` (fixed rate), `after = "59m"` (fixed delay) or, with the feature `cron`, `cron = "0 3 * * *"` with `zone = "UTC"`, `missed = "once"` (or `"skip"`, `"backfill"`); `first = "now"`; `max_attempts = 3`, `retry = "1m"`; `on_exhausted = "stop"` (or `"continue"`, `"destroy"`); `timeout = "30s"` (none) |
/// | `buffer` | `max_items = 100`, `max_wait = "5s"`, `reset_on_add`; `max_attempts = 5`, `backoff = "1s..1m"`, `strict_order`, `timeout = "30s"` (none); `max_stored = 100000`, `max_stored_bytes = 67108864` |
/// | `queue` | `concurrency = 1`; `max_attempts = 5`, `backoff = "1s..5m"`, `strict_order`, `timeout = "30s"` (none), `heartbeat = "10s"` (none); `max_depth = 1000000` |
/// | `semaphore` | `permits = 10`, always; `lease = "30s"` (a guard that is renewed) or `window = "1s"` (a rate limit). On a struct without fields, or on an `impl` |
///
/// A pause is `"1m"`, always the same, or `"1s..1m"`, which doubles from the first to the last.
///
/// A constant is written by its path: `max_items = MAX`, a `u64`; `every = INTERVAL`, a `Duration`; `cron = NIGHTLY`, a `Cron`; `retry = SLOWLY`, a
/// `Retry` with pauses of any form. `max_attempts` holds beside the attempts of such a `Retry`: the smaller one counts.
///
/// Every `async fn` with `&self` or `&mut self` is an **action**, and a method of the handle that callers hold. Owned
/// parameters are its input and travel with the call; `&T` is a service of the app; `&Context` says when and for whom it
/// runs; `&Client<P>` calls another primitive of the app. What it returns is stored, so it is serde.
///
/// | attribute | what it is |
/// |---|---|
/// | `#[tick]`, `#[flush]`, `#[process]`, `#[alarm]`, `#[hook(name)]` | the hook of the kind: `async`, and returns a `Result` with any error |
/// | `#[action(transaction)]` | an action that writes tables of the author's own: a plain `fn` with `&self` or `&mut self` that takes a `&mut Transaction<'_>` |
/// | `#[create]` | a constructor, and a method of the handle: makes the state of a key that has none from its input: `async fn open(owner: String) -> Result<Self, E>` |
/// | `#[init]` | makes the state of a key that has none for a call that brings none, from services and `&Context`: `async fn init() -> Self` |
/// | `#[destroy]` | runs before the entity ends |
/// | `#[reduce]` | folds an item of a buffer into a total: `fn fold(total: &mut Total, item: Item)` |
/// | `#[apply]` | puts the value of a hook that takes `&self` into the state: `fn apply(&mut self, value: V)` |
///
/// The options that speak of the hook (`max_attempts`, `retry` or `backoff`, `timeout`, `heartbeat`) may stand on the hook instead:
/// `#[process(max_attempts = 1, timeout = "5s")]`. With `transaction` a hook (also `#[destroy(transaction)]`) is a plain `fn` that takes a
/// `&mut Transaction<'_>`, and writes tables of the author's own in the same file, exactly once.
///
/// All other functions stay plain Rust.
#[proc_macro_attribute]
pub fn primitive(attribute: TokenStream, item: TokenStream) -> TokenStream {
    primitive::primitive(attribute.into(), item.into()).into()
}

/// Makes a workflow of a struct, from the `impl` block with its body and its steps. The struct is the state of a run that queries
/// and people see: it is serde and `Default`.
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
/// | function | what it is |
/// |---|---|
/// | `async fn run(flow: &Flow<Self>, ..)` | the **body**: its owned parameters are those of `start(..)`, and what it returns is the result |
/// | `#[step] async fn` without `self` | a **step**: the body calls it as `flow.name(..)` with its owned parameters; `&T` is a service of the app, `&Context` and `&Client<P>` as in a primitive. Elsewhere it is a plain function |
/// | any other `async fn` without `self` | a **helper** of the body, checked like it: `Self::name(flow, ..)` |
/// | `async fn` with `&self` | a **query**: a method of the handle, on the stored state |
/// | `async fn` with `&mut self` | an **update**: a method of the handle that changes the state, without services and without waiting; an `Err` changes nothing |
/// | `#[cancelled] async fn cleanup(flow: &Flow<Self>)` | the body of a run that was cancelled: it may use steps |
///
/// All other functions stay plain Rust.
///
/// Options of the workflow: `events(..)`, the events that it accepts; `retention = "7d"`, how long a run is kept after it has ended; with the
/// feature `cron`, `cron = "0 9 * * MON"` with `zone = "UTC"`, `missed = "once"` (or `"skip"`, `"backfill"`), `overlap = "skip"` (or `"queue"`, `"parallel"`), and
/// a body that takes a `Tick`. Options
/// of a step, with their defaults: `max_attempts = 3`, `backoff = "1s..1m"`, `timeout = "30s"` (none, per attempt), `give_up_after = "1h"`
/// (none, in all), `retry_if = PayError::is_temporary` (always): which errors are worth another attempt, `undo = refund` (none): the step
/// that undoes it when the run fails or is cancelled, `heartbeat = "30s"` (none): how long it may be silent, which says it is alive by `beat: &Heartbeat<T>`. With `transaction` it is
/// a plain `fn` that takes a `&mut Transaction<'_>`, and writes tables of the author's own in the same file, exactly once. A constant is written by its path, as
/// in `#[primitive]`.
///
/// # What a body may do
///
/// A body is replayed after a crash on what was recorded. So it can await only what is durable: steps, `flow.sleep("24h")`,
/// `flow.wait_for::<E>()`, `flow.run("name", async move { .. })`, helpers, [`#[durable]`](macro@durable) functions, `async` blocks, and several of
/// them at once by `select!`, `join!` and `join_all`. In a body `select!` and `join!` are ours without an import. Clocks, chance and `spawn`
/// are refused by their names, with what to write instead; what hides behind another name is noticed when it happens. Literals
/// in `.sleep("24h")`, `.timeout("24h")`, `.within("24h")` and `.backoff("1s..1m")` are checked where they stand. The arguments of `.run(..)` are left
/// alone: that code runs outside of the body.
#[proc_macro_attribute]
pub fn workflow(attribute: TokenStream, item: TokenStream) -> TokenStream {
    workflow::workflow(attribute.into(), item.into()).into()
}

/// Makes an `async fn` outside of a workflow's `impl` one that bodies can await: it is checked like a body, and awaits only what is
/// durable.
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
/// It becomes a plain function that returns a `Block<impl Future + Send>`.
#[proc_macro_attribute]
pub fn durable(attribute: TokenStream, item: TokenStream) -> TokenStream {
    workflow::durable(&attribute.into(), &item.into()).into()
}

/// Waits for the first of several durable futures; the others are dropped before what follows it runs.
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
/// Each arm is `pattern = future => expression`, and the expressions have one type: as a statement of its own that is `()`. `return`,
/// `break`, `continue`, `?` and `.await` in an expression mean what they mean around it. The pattern takes whatever the future
/// gives. `&mut step` keeps a step for the next turn of a loop. Which arm wins is recorded, and the same in every replay.
///
/// In the body of a workflow a bare `select!` is this one, whatever was imported.
#[proc_macro]
pub fn select(input: TokenStream) -> TokenStream {
    workflow::select(input.into()).into()
}

/// Waits for all of several durable futures: what they come to, as a tuple.
///
/// ```text
/// let (charge, stock) = join!(flow.charge(card, total), flow.reserve(items));
/// let (charge, stock) = (charge?, stock?);
/// ```
///
/// In the body of a workflow a bare `join!` is this one, whatever was imported. For many of one type there is `join_all`.
#[proc_macro]
pub fn join(input: TokenStream) -> TokenStream {
    workflow::join(input.into()).into()
}

/// Makes a struct or an enum an event that can be sent to runs. It is serde.
///
/// ```text
/// #[derive(Event, Serialize, Deserialize)]
/// #[event(name = "approved", keep = "latest", key = order_id)]
/// struct Approved { order_id: u64, by: String }
/// ```
///
/// | option | what it says |
/// |---|---|
/// | `name = "approved"` | its name, as it is stored: that of the type unless said |
/// | `keep = "all"` | which are kept until one is taken: all in order, or the `"latest"` or the `"first"` alone, of an event without a topic |
/// | `max_queued = 10000` | how many may be queued for one run |
/// | `expires = "7d"` | how long one is kept that nobody takes |
/// | `key = order_id` | the field by which a wait can tell one from another: `flow.wait_for::<Approved>().key(7)`. Several are a tuple: `key = (tenant, order_id)` and `.key((tenant, 7))`, of the types of the fields |
/// | `on_terminated = "dead_letter"` | what becomes of those that nobody took when their run ends; or `"discard"`: they are gone, and counted; or `"publish"`, of an event with a topic |
/// | `topic` | it can be published, to whoever waits: `client.publish(event)`. With a `key` there is a topic for each |
/// | `deliver = "all"` | of a topic: to all who wait; or to `"one"`, who waits longest |
/// | `from = "wait"` | of a topic for all: a wait takes what is published after it; or after its run began, `"created"`; or the oldest that is kept, `"start"` |
/// | `keep_for = "7d"` | of a topic: how long an event is kept. Then it is gone, and counted; one that was for one, and that nobody took, is a dead letter |
/// | `max_pending = 10000` | of a topic for one: how many may wait to be taken; then publishing is refused. For all: how many are kept |
#[proc_macro_derive(Event, attributes(event))]
pub fn event(input: TokenStream) -> TokenStream {
    workflow::event(input.into()).into()
}

/// Makes an app of a struct: each field is a primitive, and its name is how the primitive is stored.
///
/// `App` gets an `AppClient` with one method per field, which takes a key and gives that key's handle.
#[proc_macro_derive(Primitives)]
pub fn primitives(input: TokenStream) -> TokenStream {
    app::app(input.into()).into()
}

/// Makes the fields of a struct services: code that takes a `&T` gets the field of type `T`.
///
/// An `Arc<T>` or a `Box<T>` provides its `T` too, so that `mail: Box<dyn Mail>` is taken as `&dyn Mail`.
#[proc_macro_derive(Services)]
pub fn services(input: TokenStream) -> TokenStream {
    services::services(input.into()).into()
}

/// A [`Duration`](std::time::Duration) from a literal that is checked where it stands: `d!("1h 30m")`.
///
/// A number and a unit, once or several times: `ms`, `s`, `m`, `h`, `d`, or their full names.
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

fn parse(literal: &Literal) -> Result<u64, String> {
    let source = literal.to_string();
    let text = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let text = text.ok_or_else(|| format!("`{source}` has no unit; write for example \"5s\""))?;
    duration::parse(text)
}

/// `::core::time::Duration::from_millis(millis)`.
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

/// `::core::compile_error!("message")`, at `span`.
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

//! Running the author's code: the code is lent the state, and the state that it leaves is checked and kept.

use std::{borrow::Cow, pin::Pin};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Change, Cx, Entity, Hot, Mark, MessageId, Millis, Name, Outcome, Produced, Refusal, Ticket, Work, key_after,
};

use super::{
    Author, Record,
    head::{Applying, Head},
    memory::Memory,
    transacting,
    turning::shown,
};
use crate::{
    Acts, Context, Env, OfKind, Timestamp,
    context::{Past, ScheduledFor},
    decode,
    kind::{Input, Items, Kind, row_in},
    primitive::{Action, Create, Given, HookRun, Thrown},
};

/// The rows that one read brings for a hook.
const ITEMS_PAGE: u32 = 1_000;

/// A piece of work, parsed from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piecework<'a> {
    /// An action that a caller asked for: `action:put/1-7`.
    Action(&'a str),
    /// The making of a state, for a verb of the kind: `init:add/1-7`.
    Init(&'a str),
    /// A constructor of the author's, for its caller: `create:subscribe/1-7`.
    Create(&'a str),
    /// A value to be applied: `apply/7`.
    Apply(u64),
    /// The `#[destroy]` of the entity: `destroy/1`.
    Destroy,
    /// A hook of the kind: `flush/7`.
    Hook(&'a str, u64),
}

impl<'a> Piecework<'a> {
    /// Parses the name of a piece of work. Calls are frequent, so their names come first, each recognized by
    /// its prefix.
    pub(super) fn parse(name: &'a str) -> Self {
        if let Some(action) = name.strip_prefix("action:") {
            return Self::Action(before_number(action));
        }
        if let Some(verb) = name.strip_prefix("init:") {
            return Self::Init(before_number(verb));
        }
        if let Some(create) = name.strip_prefix("create:") {
            return Self::Create(before_number(create));
        }
        let (code, number) = name.rsplit_once('/').unwrap_or((name, ""));
        match (code, number.parse()) {
            ("destroy", _) => Self::Destroy,
            ("apply", Ok(number)) => Self::Apply(number),
            (hook, Ok(number)) => Self::Hook(hook, number),
            (_, Err(_)) => Self::Action(name),
        }
    }

    fn is_asked_for(self) -> bool {
        matches!(self, Self::Action(_) | Self::Init(_) | Self::Create(_))
    }
}

/// Returns the name of a function, which has no slash, before the number of the asker.
fn before_number(text: &str) -> &str {
    text.bytes().position(|byte| byte == b'/').map_or(text, |slash| &text[..slash])
}

/// Whether a call or a message asks for a piece of work, by its name.
pub(crate) fn is_asked_for(work: &str) -> bool {
    Piecework::parse(work).is_asked_for()
}

/// The call or message that asks for code to run. Its number is a part of the work's name: no other work has
/// that name, and a message that is retried has the same name (E14).
#[derive(Clone, Copy)]
pub(super) enum Asker {
    Call(Ticket),
    Message(MessageId),
}

impl Asker {
    /// Returns the work for this asker. Every call needs its name, so the name is put together without the
    /// formatter of the standard library, which takes ten times as long.
    fn work(self, code: &str, name: &str) -> Work {
        Work::new(Name::from(self.name(code, name)))
    }

    pub(super) fn name(self, code: &str, name: &str) -> String {
        let mut text = String::with_capacity(code.len() + name.len() + WORK_NUMBER_BYTES);
        text.push_str(code);
        text.push_str(name);
        match self {
            Self::Call(ticket) => {
                text.push('/');
                push_decimal(&mut text, u64::from(ticket.epoch.0));
                text.push('-');
                push_decimal(&mut text, ticket.number);
            }
            Self::Message(id) => text.push_str(&format!("/m{:x}-{}", id.version.0, id.index)),
        }
        text
    }

    /// Returns the caller that waits for the answer.
    pub(super) fn ticket(self) -> Option<Ticket> {
        match self {
            Self::Call(ticket) => Some(ticket),
            Self::Message(_) => None,
        }
    }
}

/// Room for a slash and two numbers.
const WORK_NUMBER_BYTES: usize = 42;

fn push_decimal(text: &mut String, mut number: u64) {
    let (mut digits, mut from) = ([b'0'; 20], 20);
    while from == 20 || number > 0 {
        from -= 1;
        digits[from] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    text.extend(digits[from..].iter().copied().map(char::from));
}

/// Returns the work of an action.
pub(super) fn action(action: &Action, asker: Asker, body: &Bytes) -> Work {
    let borrow = if action.writes { Borrow::Exclusive } else { Borrow::Shared };
    Work { borrow, pure: action.pure, input: body.clone(), ..asker.work("action:", action.name) }
}

/// Returns the work that makes a state, for a verb of the kind.
pub(super) fn init<T: OfKind>(verb: &str, asker: Asker, body: &Bytes) -> Work {
    Work { pure: T::CODE.init.unwrap_or_default(), input: body.clone(), ..asker.work("init:", verb) }
}

/// Returns the work of a constructor. It borrows nothing, because there is no state yet.
pub(super) fn create(create: &Create, asker: Asker, body: &Bytes) -> Work {
    Work { pure: create.pure, input: body.clone(), ..asker.work("create:", create.name) }
}

/// Returns the work that applies a value.
pub(super) fn apply(applying: &Applying) -> Work {
    let input = Bytes::copy_from_slice(applying.value.get().as_bytes());
    let name = Name::from(format!("apply/{}", applying.number));
    let (attempt, mark) = (applying.attempt, applying.mark);
    Work { attempt, borrow: Borrow::Exclusive, input, mark, ..Work::new(name) }
}

/// How code runs: with which access to the struct.
enum Task {
    /// `&mut self`.
    Write,
    /// `&self`.
    Read,
    /// No struct yet: the code only makes a state.
    Make,
}

impl<T, D, A> Author<T, D, A>
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    pub(super) fn start(
        &self,
        hot: &mut Hot,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let piece = Piecework::parse(work.id.as_str());
        let is_hook = matches!(piece, Piecework::Hook(..));
        let past = entity.map(|entity| Past {
            head: entity.head.clone(),
            run_count: run_count::<T>,
            // Only a hook stands for a time. Calls are frequent, so nothing more is kept for them.
            hook: is_hook.then(|| (Box::new(entity.clone()), scheduled_for::<T> as ScheduledFor)),
        });
        let env = Env::<D, A>::new(self.services.clone(), Context::new(cx, self.is_shared, past));
        if let Some(entity) = entity.filter(|_| work.goes_first || transacting::is_transactional::<T>(piece)) {
            let head = head_of::<T>(&entity.head);
            let limit = head.and_then(|head| self.transaction_limit(&head, entity, work, env.context().now().into()));
            let Some(limit) = limit else {
                return Box::pin(std::future::ready(Outcome::Refused(Refusal::NotClaimed)));
            };
            return Box::pin(transacting::transacted::<T, D, A>(entity.state.clone(), limit, work.clone(), env));
        }
        let mut memory = hot.take_boxed::<Memory<T, Record<T>>>().unwrap_or_default();
        let task = task_of(piece, work.borrow);
        let lent = match (&task, entity) {
            (Task::Make, _) | (_, None) => Ok(None),
            (_, Some(entity)) => memory.take_state(&entity.state).map(|state| Some((entity.state.clone(), state))),
        };
        match lent {
            Ok(lent) => Box::pin(run(memory, lent, task, work.clone(), env)),
            Err(reason) => Box::pin(std::future::ready(Outcome::refused(reason))),
        }
    }
}

/// Returns how often the hook has succeeded.
fn run_count<T: OfKind>(head: &[u8]) -> u64 {
    head_of::<T>(head).map_or(0, |head| T::kind().run_count(&head.record))
}

/// Returns the time that a hook of the kind stands for.
fn scheduled_for<T: OfKind>(entity: &Entity, now: Millis) -> Option<Timestamp> {
    let head = head_of::<T>(&entity.head)?;
    T::kind().scheduled_for(&shown(&head.record, entity, now))
}

fn head_of<T: OfKind>(head: &[u8]) -> Option<Head<Record<T>>> {
    decode(head).ok()
}

fn task_of(piece: Piecework<'_>, borrow: Borrow) -> Task {
    match piece {
        Piecework::Init(_) | Piecework::Create(_) => Task::Make,
        _ if borrow == Borrow::Exclusive => Task::Write,
        _ => Task::Read,
    }
}

/// Returns the name of the code that a piece of work runs, as the macro names the author's functions.
pub(super) fn code_of(piece: Piecework<'_>) -> Cow<'_, str> {
    match piece {
        Piecework::Action(name) | Piecework::Init(name) | Piecework::Create(name) => name.into(),
        Piecework::Apply(_) => "#apply".into(),
        Piecework::Destroy => "#destroy".into(),
        Piecework::Hook(hook, _) => format!("#{hook}").into(),
    }
}

async fn run<T, D, A>(
    mut memory: Box<Memory<T, Record<T>>>,
    lent: Option<(Bytes, T)>,
    task: Task,
    work: Work,
    env: Env<D, A>,
) -> Outcome
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    let piece = Piecework::parse(work.id.as_str());
    let (before, mut state) = match lent {
        Some((bytes, state)) => (Some(bytes), state),
        None => match make(piece, &work.input, &env).await {
            Ok(state) => (None, state),
            Err(thrown) => return failed(thrown),
        },
    };
    let name = code_of(piece);
    let returned = match &task {
        // The verb of the kind gets its own input back; a constructor is answered by the turn that binds.
        Task::Make => Ok(work.input.clone()),
        Task::Write => match given(piece, &work, &env, <T::Kind as Kind>::mark_in).await {
            Ok(given) => state.write(&name, given, &env).await,
            Err(reason) => return Outcome::refused(reason),
        },
        Task::Read => match given(piece, &work, &env, <T::Kind as Kind>::mark_in).await {
            Ok(given) => state.read(&name, given, &env).await,
            Err(reason) => return Outcome::refused(reason),
        },
    };
    let value = match returned {
        Ok(value) => value,
        Err(thrown) => return failed(thrown),
    };
    if matches!(task, Task::Read) && piece.is_asked_for() && env.context().has_said_anything() {
        return Outcome::refused(UNHEARD);
    }
    let left = match task {
        Task::Read => None,
        Task::Write | Task::Make => match left(&mut *memory, before.as_ref(), &state) {
            Ok(left) => left,
            Err(reason) => return Outcome::refused(reason),
        },
    };
    // Code that does not write was lent a memory of its own, which is dropped. The memory of the entity
    // stays in use.
    let hot = if matches!(task, Task::Read) { Hot::default() } else { Hot::boxed(memory) };
    said::<T, D, A>(&env, Produced { value, state: left, hot, ..Produced::default() })
}

/// A read makes no commit that its messages could be a part of, and they must not be lost silently.
const UNHEARD: &str = "code with `&self` commits nothing, so what it says would be lost: take `&mut self` to send a \
                       message, tell listeners or set the alarm";

/// Makes a state that no caller has given: by the `#[create]` that was called, by `#[init]`, or by
/// `Default`.
async fn make<T: Acts<D, A>, D, A>(piece: Piecework<'_>, input: &Bytes, env: &Env<D, A>) -> Result<T, Thrown> {
    match (piece, T::CODE.init) {
        (Piecework::Create(name), _) => T::make(name, Given { body: input.clone(), ..Given::default() }, env).await,
        (_, Some(_)) => T::make("#init", Given::default(), env).await,
        (_, None) => T::initial().ok_or(Thrown::Unknown),
    }
}

/// A function that returns the mark in a row.
type MarkIn = fn(&[u8]) -> Option<Mark>;

/// Returns the input of the code: of an action its parameters, of a hook what its kind says, and its items.
pub(super) async fn given<D, A>(
    piece: Piecework<'_>,
    work: &Work,
    env: &Env<D, A>,
    mark_in: MarkIn,
) -> Result<Given, String> {
    match piece {
        // Boxed: this future is large, and would otherwise lie in the future of every call.
        Piecework::Hook(_, number) => Box::pin(given_to_hook(number, work, env, mark_in)).await,
        _ => Ok(Given { body: work.input.clone(), ..Given::default() }),
    }
}

async fn given_to_hook<D, A>(number: u64, work: &Work, env: &Env<D, A>, mark_in: MarkIn) -> Result<Given, String> {
    let run = |env: &Env<D, A>| Some(HookRun { id: env.context().work_id(), number, attempt: work.attempt });
    if let Some(row) = row_in(&work.input) {
        return Ok(Given { rows: vec![row], run: run(env), ..Given::default() });
    }
    let input: Input = decode(&work.input)?;
    let body = input.told.map_or_else(Bytes::new, |told| Bytes::copy_from_slice(told.get().as_bytes()));
    let rows = match input.items {
        Some(items) => read_items(&items, env.context()).await.map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    // Only the row, which has been read now, may say which mark the piece has.
    if let (None, [row]) = (work.mark, rows.as_slice()) {
        env.context().set_mark(mark_in(row));
    }
    Ok(Given { body, rows, run: run(env) })
}

async fn read_items(items: &Items, context: &Context) -> Result<Vec<Bytes>, crate::Error> {
    if let Some(key) = &items.row {
        let row = context.rows(items.page(Some(key.clone().into()), 1)).await?;
        return Ok(row.into_iter().filter(|row| row.key == *key).map(|row| row.body).collect());
    }
    let (mut rows, mut from) = (Vec::new(), None);
    loop {
        let page = context.rows(items.page(from, ITEMS_PAGE)).await?;
        let Some(last) = page.last().map(|row| row.key.clone()) else { return Ok(rows) };
        let is_last = page.len() < ITEMS_PAGE as usize;
        rows.extend(page.into_iter().map(|row| row.body));
        if is_last {
            return Ok(rows);
        }
        from = Some(key_after(&last));
    }
}

/// Encodes the state that code left, and decodes it again at once, so that no unreadable state is stored.
/// Returns `None` if the state is unchanged.
pub(super) fn left<T: OfKind>(
    memory: &mut Memory<T, Record<T>>,
    before: Option<&Bytes>,
    state: &T,
) -> Result<Option<Bytes>, String> {
    let (bytes, read) = read_back(state)?;
    memory.set_state(bytes.clone(), read);
    Ok((before != Some(&bytes)).then_some(bytes))
}

/// Encodes the state that code left. Returns the bytes, and the state as they decode.
fn read_back<T: OfKind>(state: &T) -> Result<(Bytes, T), String> {
    let bytes = T::codec().write(state).map_err(|reason| format!("the state it left cannot be written: {reason}"))?;
    let read = T::codec().read(&bytes).map_err(|reason| format!("the state it left cannot be read back: {reason}"))?;
    Ok((bytes, read))
}

/// Encodes the state that code left, and checks that it can be decoded.
pub(super) fn written<T: OfKind>(state: &T) -> Result<Bytes, String> {
    read_back(state).map(|(bytes, _)| bytes)
}

fn said<T: OfKind, D, A>(env: &Env<D, A>, produced: Produced) -> Outcome {
    let said = env.context().take_said();
    if let Some(reason) = said.error {
        return Outcome::refused(reason);
    }
    if said.alarm != Change::Keep && !T::Kind::AUTHOR_SETS_ALARM {
        return Outcome::refused(format!("the alarm of a {} is its kind's own: it cannot be set", T::Kind::NAME));
    }
    if matches!(said.alarm, Change::Set(_)) && T::CODE.hooks.is_empty() {
        let reason = "it sets the alarm, and there is no hook for it to ring: write an `#[alarm]`";
        return Outcome::refused(reason);
    }
    Outcome::Ok(Produced { alarm: said.alarm, send: said.send, emit: said.emit, ..produced })
}

pub(super) fn failed(thrown: Thrown) -> Outcome {
    match thrown {
        Thrown::Failed(error) => Outcome::Failed(error),
        Thrown::Malformed(reason) | Thrown::Unwritable(reason) => Outcome::refused(reason),
        Thrown::Unknown => Outcome::Refused(Refusal::NoSuchCode),
    }
}

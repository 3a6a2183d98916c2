//! An errand: a workflow whose body walks a plan. The result tells everything that the body got on the way.

use std::{pin::Pin, time::Duration};

use drystone::{
    Client, Context, Event, Fault, Flow, Retry, Timestamp, Transaction, durable, join_all, workflow,
    workflow::{Durable, EventOf, Said},
};
use serde::{Deserialize, Serialize};

use super::{Enqueued, Till, gate::Gate, queues::mail::Mail};
use crate::sim::{
    drawing::roster::Role,
    faults::panics::on_purpose,
    handlers::Stage,
    recording::outbox::{Posted, SENT},
    workflows::{self, Booking, CODE_ATTEMPTS, Does, Kind, PAUSE, Plan, Sends, Task, Told, Trip, Wanted, Way},
};

/// The statement that writes the row of a booking.
pub const BOOK: &str = "INSERT INTO booked VALUES (?1, ?2)";

/// The state of a run, as people see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Errand {
    /// The marks that the body and updates have left.
    pub marks: Vec<u64>,
    /// The plan that runs if the run is cancelled.
    pub cleanup: Option<Plan>,
}

/// An event that is queued in order.
#[derive(Debug, Event, Serialize, Deserialize)]
pub(super) struct Note {
    number: u64,
}

/// An event type whose queue keeps only the latest event.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(keep = "latest")]
pub(super) struct Price {
    number: u64,
}

/// An event type whose queue keeps only the first event.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(keep = "first", on_terminated = "discard")]
pub(super) struct Bid {
    number: u64,
}

/// An event with a key. Only a few are queued, for a short while.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = shelf, max_queued = 3, expires = "1s")]
pub(super) struct Parcel {
    number: u64,
    shelf: u8,
}

#[workflow(events(Note, Price, Bid, Parcel))]
impl Errand {
    async fn run(
        flow: &Flow<Self>,
        trip: Trip,
        _errands: &Client<Errand>,
        _tills: &Client<Till>,
        _gates: &Client<Gate>,
    ) -> Result<Told, String> {
        flow.update(|errand| errand.cleanup = Some(trip.cleanup));
        let told = walk(flow.clone(), trip.plan).await;
        if trip.fails { Err("as drawn".to_owned()) } else { Ok(told) }
    }

    #[cancelled]
    async fn tidy(flow: &Flow<Self>) -> Result<(), String> {
        let cleanup = flow.look(|errand| errand.cleanup.clone()).unwrap_or(Plan::Seq(Vec::new()));
        walk(flow.clone(), cleanup).await;
        Ok(())
    }

    #[step(max_attempts = 3, backoff = "20ms..80ms", timeout = "300ms", undo = unwork)]
    async fn work(id: u64, load: String, stage: &Stage, cx: &Context) -> Result<u64, String> {
        let _ = load;
        act(id, stage, cx).await
    }

    #[step(max_attempts = 1, timeout = "300ms", undo = unonce)]
    async fn once(id: u64, load: String, stage: &Stage, cx: &Context) -> Result<u64, String> {
        let _ = load;
        act(id, stage, cx).await
    }

    /// The undo of `work`. It takes the step's input, so it is also due if the outcome of the step is
    /// unknown. The undo returns the given output, or 0.
    #[step(max_attempts = 2, backoff = "20ms", timeout = "300ms")]
    async fn unwork(id: u64, load: String, done: Option<u64>, stage: &Stage, cx: &Context) -> Result<u64, String> {
        let _ = (id, load);
        stage.act(cx).await.map(|()| done.unwrap_or(0))
    }

    /// The undo of `once`. It takes the output of the step and returns it.
    #[step(max_attempts = 2, backoff = "20ms", timeout = "300ms")]
    async fn unonce(done: u64, stage: &Stage, cx: &Context) -> Result<u64, String> {
        stage.act(cx).await.map(|()| done)
    }

    /// Writes a row and sends messages before it fails or panics.
    #[step(transaction, max_attempts = 2, backoff = "20ms")]
    fn book(
        id: u64,
        does: Booking,
        sends: Vec<Sends>,
        mails: &Client<Mail>,
        errands: &Client<Errand>,
        sql: &mut Transaction<'_>,
    ) -> Result<u64, String> {
        let world = workflows::world();
        world.recorder.acted.begins(id);
        let value = world.recorder.acted.returns(id);
        sql.execute(BOOK, (id, value)).map_err(|error| error.to_string())?;
        post(value, &sends, mails, errands, sql)?;
        match does {
            Booking::Well => Ok(value),
            Booking::Fails => Err("as drawn".to_owned()),
            Booking::Panics => on_purpose("as drawn"),
        }
    }

    /// An update that leaves a mark. It returns an error for one number in five, after it has left the
    /// mark.
    fn mark(&mut self, number: u64) -> Result<u64, String> {
        self.marks.push(number);
        if number.is_multiple_of(5) { Err("as drawn".to_owned()) } else { Ok(self.marks.len() as u64) }
    }
}

/// The code of every step: it acts outside, and returns a value that no other execution returns.
async fn act(id: u64, stage: &Stage, cx: &Context) -> Result<u64, String> {
    stage.world.recorder.acted.begins(id);
    stage.act(cx).await?;
    Ok(stage.world.recorder.acted.returns(id))
}

/// Sends messages in the transaction that writes this value, and notes each message.
pub(super) fn post(
    value: u64,
    all: &[Sends],
    mails: &Client<Mail>,
    errands: &Client<Errand>,
    sql: &mut Transaction<'_>,
) -> Result<(), String> {
    for (place, sends) in (0..).zip(all) {
        let posted = Posted { transaction: value, place };
        let number = posted.number();
        note(*sends, posted);
        let written = sql.execute(SENT, (number,)).and_then(|_| match sends {
            Sends::Item => sql.send(mails.get("mail-0").enqueue(number)),
            Sends::Note => sql.send(errands.get("errand-0").send(Note { number })),
        });
        written.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Notes a message before the transaction sends it.
fn note(sends: Sends, posted: Posted) {
    let (world, number) = (workflows::world(), posted.number());
    let role = if sends == Sends::Item { Role::Mail } else { Role::Errand };
    let member = world.cast.with(role)[0];
    world.outbox.sends(posted, member);
    if sends == Sends::Item {
        let from = world.chronicle.moment();
        let enqueued = Enqueued { member, priority: 0, delay_ms: 0, from, until: None };
        world.recorder.queued.asks(&[number], &enqueued);
    } else {
        world.recorder.acted.sends(number, Kind::Note);
    }
}

type Walk = Pin<Box<dyn Durable<Output = Told> + Send>>;

/// Walks a part of a plan. The future is boxed because plans are nested.
fn walk(flow: Flow<Errand>, plan: Plan) -> Walk {
    Box::pin(part(flow, plan))
}

#[durable]
async fn part(flow: Flow<Errand>, plan: Plan) -> Told {
    match plan {
        Plan::Step { task, once, heavy } => step(&flow, task, once, heavy).await,
        Plan::Code { task, does } => code(&flow, task, does).await,
        Plan::Patient { task, sleep_ms, rounds } => patient(&flow, task, sleep_ms, rounds).await,
        Plan::Sleep(millis) => {
            flow.sleep(Duration::from_millis(millis)).await;
            Told::Woke { at: now(&flow) }
        }
        Plan::Until(millis) => {
            flow.sleep_until(Timestamp::from_millis(now(&flow) + millis)).await;
            Told::Woke { at: now(&flow) }
        }
        Plan::Wait(wanted) => match wanted.kind {
            Kind::Note => wait::<Note>(&flow, wanted).await,
            Kind::Price => wait::<Price>(&flow, wanted).await,
            Kind::Bid => wait::<Bid>(&flow, wanted).await,
            Kind::Parcel => wait::<Parcel>(&flow, wanted).await,
        },
        Plan::Mark(mark) => Told::Marked(flow.update(|errand| {
            errand.marks.push(mark);
            errand.marks.len() as u64
        })),
        Plan::Chance => Told::Chance(flow.random()),
        Plan::Panic => on_purpose("as drawn"),
        Plan::Seq(parts) => {
            let mut told = Vec::new();
            for part in parts {
                told.push(walk(flow.clone(), part).await);
            }
            Told::Seq(told)
        }
        Plan::Race(arms) => first(&flow, arms).await,
        Plan::Join(arms) => Told::All(both(&flow, arms).await),
        Plan::All(arms) => Told::All(join_all(arms.into_iter().map(|arm| walk(flow.clone(), arm))).await),
        Plan::Again(trip) => {
            let never: Result<Told, String> = flow.continue_as(*trip).await;
            never.unwrap_or(Told::Failed { at: 0 })
        }
        Plan::Child { trip, way } => child(&flow, *trip, way).await,
        Plan::Ring { task, fails } => ring(&flow, task, fails).await,
        Plan::Permit(held) => {
            let permit = flow.permit(flow.client::<Gate>().get("gate-0").acquire()).await;
            let told = walk(flow.clone(), *held).await;
            drop(permit);
            Told::Held(Box::new(told))
        }
        Plan::Book { task: Task { id, caught }, does, sends } => {
            let book = flow.book(id, does, sends);
            let ended = if caught { book.catch().await } else { Ok(book.await) };
            stepped(&flow, ended)
        }
    }
}

#[durable]
async fn child(flow: &Flow<Errand>, trip: Trip, way: Way) -> Told {
    let name = format!("{:x}", trip.number);
    let child = flow.child(flow.client::<Errand>().get(name).execute(trip));
    let ended = match way {
        Way::Awaited => child.await,
        Way::Abandoned => child.abandon().await,
        Way::Detached => return Told::Began { key: child.detached().await, at: now(flow) },
    };
    Told::Child { ended: ended.map(Box::new), at: now(flow) }
}

#[durable]
async fn ring(flow: &Flow<Errand>, task: Task, fails: bool) -> Told {
    let call = flow.try_call(flow.client::<Till>().get("till-0").ring(task.id, fails));
    let ended = if task.caught { call.catch().await } else { Ok(call.await) };
    match ended {
        Ok(Ok(count)) => Told::Rung { count, at: now(flow) },
        other => stepped(flow, other),
    }
}

fn now(flow: &Flow<Errand>) -> i64 {
    flow.now().as_millis()
}

/// Returns an input so long that it is stored in a row of its own, or an empty input.
fn load(heavy: bool) -> String {
    if heavy { "x".repeat(1_100) } else { String::new() }
}

#[durable]
async fn step(flow: &Flow<Errand>, task: Task, once: bool, heavy: bool) -> Told {
    let Task { id, caught } = task;
    let step = if once { flow.once(id, load(heavy)) } else { flow.work(id, load(heavy)) };
    let ended = if caught { step.catch().await } else { Ok(step.await) };
    stepped(flow, ended)
}

fn stepped(flow: &Flow<Errand>, ended: Result<Result<u64, String>, Fault>) -> Told {
    match ended {
        Ok(Ok(value)) => Told::Done { value, at: now(flow) },
        Ok(Err(_)) => Told::Failed { at: now(flow) },
        Err(fault) => Told::Fault(fault),
    }
}

#[durable]
async fn code(flow: &Flow<Errand>, task: Task, does: Does) -> Told {
    let Task { id, caught } = task;
    let code = flow.run("code", errand_code(id, does)).max_attempts(CODE_ATTEMPTS);
    let code = code.backoff(Retry::constant(PAUSE)).timeout(Duration::from_millis(300));
    let ended = if caught { code.catch().await } else { Ok(code.await) };
    stepped(flow, ended.map(Ok))
}

/// The code of a `flow.run`, executed outside the turn.
async fn errand_code(id: u64, does: Does) -> u64 {
    let world = workflows::world();
    world.recorder.acted.begins(id);
    match does {
        Does::Well(millis) => world.executor.sleep(Duration::from_millis(millis)).await,
        Does::Panics => on_purpose("as drawn"),
        Does::Hangs => std::future::pending().await,
    }
    world.recorder.acted.returns(id)
}

#[durable]
async fn patient(flow: &Flow<Errand>, task: Task, sleep_ms: u64, most: u32) -> Told {
    let mut work = flow.work(task.id, String::new()).catch();
    for rounds in 0..most {
        select! {
            ended = &mut work => return Told::Patient { rounds, told: Box::new(stepped(flow, ended)) },
            _ = flow.sleep(Duration::from_millis(sleep_ms)) => {}
        }
    }
    let ended = work.await;
    Told::Patient { rounds: most, told: Box::new(stepped(flow, ended)) }
}

#[durable]
async fn first(flow: &Flow<Errand>, arms: Vec<Plan>) -> Told {
    let mut arms = arms.into_iter().map(|arm| walk(flow.clone(), arm));
    match (arms.next(), arms.next(), arms.next()) {
        (Some(one), Some(two), Some(three)) => select! {
            told = one => Told::Won(0, Box::new(told)),
            told = two => Told::Won(1, Box::new(told)),
            told = three => Told::Won(2, Box::new(told)),
        },
        (Some(one), Some(two), None) => select! {
            told = one => Told::Won(0, Box::new(told)),
            told = two => Told::Won(1, Box::new(told)),
        },
        _ => unreachable!("a race has two arms or three"),
    }
}

#[durable]
async fn both(flow: &Flow<Errand>, arms: Vec<Plan>) -> Vec<Told> {
    let mut arms = arms.into_iter().map(|arm| walk(flow.clone(), arm));
    match (arms.next(), arms.next(), arms.next()) {
        (Some(one), Some(two), Some(three)) => {
            let (one, two, three) = join!(one, two, three);
            vec![one, two, three]
        }
        (Some(one), Some(two), None) => {
            let (one, two) = join!(one, two);
            vec![one, two]
        }
        _ => unreachable!("a join has two arms or three"),
    }
}

/// An event with a number, which every event of an errand has.
trait Numbered {
    fn number(&self) -> u64;
}

macro_rules! numbered {
    ($($event:ident)*) => {
        $(impl Numbered for $event {
            fn number(&self) -> u64 {
                self.number
            }
        })*
    };
}
numbered!(Note Price Bid Parcel);

#[durable]
async fn wait<E: EventOf<Errand> + Event<Asks = Said> + Numbered>(flow: &Flow<Errand>, wanted: Wanted) -> Told {
    let limit = wanted.timeout_ms.map(Duration::from_millis);
    let wait = flow.wait_for::<E>();
    let wait = if let Some(key) = wanted.key { wait.key(key) } else { wait };
    let taken = match (wanted.times, limit) {
        (1, None) => Ok(vec![wait.await]),
        (1, Some(limit)) => wait.timeout(limit).await.map(|event| vec![event]),
        (times, None) => Ok(wait.times(times).await),
        (times, Some(limit)) => wait.times(times).timeout(limit).await,
    };
    match taken {
        Ok(events) => {
            let acted = &workflows::world().recorder.acted;
            events.iter().for_each(|event| acted.hears(event.number()));
            Told::Events { numbers: events.iter().map(Numbered::number).collect(), at: now(flow) }
        }
        Err(timeout) => Told::TimedOut { after_ms: timeout.after.as_millis() as u64, at: now(flow) },
    }
}

//! The work of a run: which steps should run, and how they run.

use std::{cell::OnceCell, pin::Pin};

use bytes::Bytes;
use drystone_runtime::{Cx, Entity, Millis, Name, Needed, Outcome, Produced, Refusal, Rows, Work};

use super::{
    end::policy,
    heartbeat::{beats, begin},
    inputs::{given, handed},
    transaction::{self, transacted, transactional},
    work::RunWork,
};
use crate::{
    Context, Env, decode,
    primitive::Thrown,
    workflow::{
        Flows, Heart,
        engine::{Engine, generations::continue_as::work_name, memory::Memory, revive::revived, turn::is_of},
        record::{
            Record,
            pending::{Code, Pending, Stepping},
        },
        replay::{journal, live, live::Identity, op_id::OpId},
    },
};

/// The reason that a query ends with if it sends or emits something.
const UNHEARD: &str = "a query commits nothing, so what it says would be lost: say it in a step";

impl<W, D, A> Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    pub(in crate::workflow::engine) fn listed(
        &self,
        memory: &mut Memory,
        entity: &Entity,
        rows: &Rows,
        now: Millis,
    ) -> Needed<Vec<Work>> {
        #[cfg(feature = "cron")]
        if crate::workflow::record::schedule::is_plan(&entity.head) {
            return Needed::Ready(Vec::new());
        }
        let record = match memory.take_record(&entity.head) {
            Ok(record) => record,
            // The kernel parks the entity with this message, so the run is not lost silently (E10).
            Err(reason) => panic!("its record cannot be read: {reason}"),
        };
        if record.end.is_some() {
            self.parcels.forget(entity.id);
        } else if record.generation > 1 {
            self.parcels.forget_others(entity.id, |work| RunWork::is_of(work, record.generation));
        }
        if W::SCRIPT.steps.iter().any(|code| code.beats) {
            let is_its = |generation, op: &OpId| generation == record.generation && record.position(op).is_some();
            self.hearts.keep(entity.id, is_its);
        }
        let listed = self.listed_of(memory, entity, rows, &record, now);
        memory.set_record(entity.head.clone(), record);
        listed
    }

    fn listed_of(
        &self,
        memory: &mut Memory,
        entity: &Entity,
        rows: &Rows,
        record: &Record,
        now: Millis,
    ) -> Needed<Vec<Work>> {
        let mut listed = Vec::new();
        let is_woken = |live: &live::Live| is_of(live, record) && live.was_woken();
        if !record.holds_timers() && record.goes_on() && memory.live.as_ref().is_some_and(is_woken) {
            listed.push(RunWork::look("woken"));
        }
        let may_claim = OnceCell::new();
        for (pending, step) in record.steps_due(now) {
            let is_unclaimed = !step.claimed && transactional::<W>(&pending.op).is_some();
            if is_unclaimed && !*may_claim.get_or_init(|| transaction::may_claim(record)) {
                // The step gets its row when another transactional step has ended.
                continue;
            }
            if let Code::Body(_) = &step.code
                && !record.winds_down()
            {
                match self.made(memory, entity, rows, record, pending) {
                    Ok(true) => {}
                    Ok(false) => {
                        listed.push(RunWork::look(record.entries));
                        continue;
                    }
                    Err(range) => return Needed::Read(vec![range]),
                }
            }
            listed.push(work::<W>(record, pending, step));
        }
        Needed::Ready(listed)
    }

    /// Whether code that only the body can make is available. The error is the range of rows that a replay
    /// needs, if the body must make the code anew.
    fn made(
        &self,
        memory: &mut Memory,
        entity: &Entity,
        rows: &Rows,
        record: &Record,
        pending: &Pending,
    ) -> Result<bool, drystone_runtime::Range> {
        let op = &pending.op;
        let work = work_name(record.generation, op);
        if self.parcels.has(entity.id, &work) {
            return Ok(true);
        }
        if !memory.live.as_ref().is_some_and(|live| is_of(live, record)) {
            let entries = record.entries_in(rows)?;
            memory.live = entries.ok().and_then(|entries| self.replayed(entity, record, &entries));
        }
        let Some(live) = &mut memory.live else { return Ok(false) };
        // Code that was handed over before is running already.
        if let Some(code) = live.codes.remove(op) {
            self.parcels.put(entity.id, &work, code);
        }
        Ok(true)
    }

    fn replayed(&self, entity: &Entity, record: &Record, entries: &[journal::Entry]) -> Option<live::Live> {
        let who = Identity::in_kernel(&entity.key, record, &self.nudge);
        revived::<W>(&who, record, entries).ok()
    }

    pub(in crate::workflow::engine) fn start(
        &self,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let (generation, op) = match RunWork::parse(work.id.as_str()) {
            RunWork::Look => return Box::pin(std::future::ready(Outcome::Ok(Produced::default()))),
            RunWork::Query(query) => return self.query(entity, query.to_owned(), work.input.clone(), cx),
            RunWork::Step { generation, op } => (generation, op),
        };
        if op.is_code() {
            return self.code(work.id.as_str(), &cx);
        }
        if op.is_call() {
            return self.call(entity, (work, &op), cx);
        }
        if let Some(code) = transactional::<W>(&op) {
            let is_claimed = entity.is_some_and(|entity| is_claimed(entity, &op));
            let (input, claim) = (work.input.clone(), (generation, op, is_claimed));
            let is_shared = self.is_shared;
            return Box::pin(async move {
                let context = Context::of_step(cx.clone(), is_shared, None);
                match given(input, &context).await {
                    Ok(input) => transacted::<W, D, A>(code, input, claim, (cx, context.desk())).await,
                    Err(outcome) => outcome,
                }
            });
        }
        let generation = beats::<W>(&op).then_some(generation);
        let heart = generation.map(|generation| self.hearts.of(&cx, (generation, &op)));
        let beating = heart.clone().zip(generation).map(|(heart, generation)| (heart, generation, op.clone()));
        let env = Env::new(self.services.clone(), Context::of_step(cx, self.is_shared, heart));
        let (name, input) = (op.label().to_owned(), work.input.clone());
        // Two futures: one for both would be as large as the larger of them, and most steps send no
        // heartbeat.
        match beating {
            Some(beating) => Box::pin(beating_step::<W, D, A>(name, input, env, beating)),
            None => Box::pin(step::<W, D, A>(name, input, env)),
        }
    }

    fn code(&self, work: &str, cx: &Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let code = cx.id.and_then(|id| self.parcels.take(id, work));
        Box::pin(async move {
            match code {
                Some(code) => match code.await {
                    Ok(Ok(value)) => Outcome::Ok(Produced { value, ..Produced::default() }),
                    Ok(Err(error)) => Outcome::Failed(error),
                    Err(reason) => Outcome::refused(reason),
                },
                None => Outcome::refused("the code of the body is gone, for its run is on its way out"),
            }
        })
    }

    fn query(
        &self,
        entity: Option<&Entity>,
        name: String,
        input: Bytes,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let state = entity.map(|entity| entity.state.clone()).unwrap_or_default();
        let env = Env::new(self.services.clone(), Context::new(cx, self.is_shared, None));
        Box::pin(async move {
            let state = match W::codec().read(&state) {
                Ok(state) => state,
                Err(reason) => return Outcome::refused(format!("its state cannot be read: {reason}")),
            };
            let returned = state.query(&name, input, &env).await;
            if env.context().has_said_anything() {
                return Outcome::refused(UNHEARD);
            }
            ended(returned)
        })
    }
}

/// Returns the work of a step.
fn work<W: crate::workflow::Workflow>(record: &Record, pending: &Pending, step: &Stepping) -> Work {
    let input = handed(record.generation, &step.code);
    let policy = policy::<W>(&pending.op, step);
    // The store times a transaction from when its code starts. A timeout here would leave unknown whether it
    // happened.
    let timeout = policy.time_limit().filter(|_| transactional::<W>(&pending.op).is_none());
    let silence = policy.silence();
    let name = Name::from(work_name(record.generation, &pending.op));
    Work { attempt: step.attempt, input, timeout, silence, mark: record.mark, ..Work::new(name) }
}

/// Whether a transactional step has its row.
fn is_claimed(entity: &Entity, op: &OpId) -> bool {
    let Ok(record) = decode::<Record>(&entity.head) else { return false };
    let step = record.position(op).and_then(|index| record.pending[index].step());
    step.is_some_and(|step| step.claimed)
}

async fn beating_step<W, D, A>(
    name: String,
    input: Bytes,
    env: Env<D, A>,
    (heart, generation, op): (Heart, u32, OpId),
) -> Outcome
where
    W: Flows<D, A>,
{
    match begin(&heart, generation, &op, env.context()).await {
        Ok(()) => step::<W, D, A>(name, input, env).await,
        Err(error) => Outcome::Refused(Refusal::Unavailable(error.to_string())),
    }
}

#[expect(clippy::manual_async_fn, reason = "the future of an `async fn` holds what it is given twice")]
fn step<W, D, A>(name: String, input: Bytes, env: Env<D, A>) -> impl Future<Output = Outcome>
where
    W: Flows<D, A>,
{
    async move {
        let input = match given(input, env.context()).await {
            Ok(input) => input,
            Err(outcome) => return outcome,
        };
        match ended(W::step(&name, input, &env).await) {
            Outcome::Ok(produced) => with_what_it_said(produced, &env),
            outcome => outcome,
        }
    }
}

fn with_what_it_said<D, A>(produced: Produced, env: &Env<D, A>) -> Outcome {
    let said = env.context().take_said();
    match said.error {
        Some(reason) => Outcome::refused(reason),
        None if said.alarm != drystone_runtime::Change::Keep => {
            Outcome::refused("the alarm of a workflow is its own: write `flow.sleep(..)` in the body")
        }
        None => Outcome::Ok(Produced { send: said.send, emit: said.emit, ..produced }),
    }
}

pub(in crate::workflow::engine) fn ended(returned: Result<Bytes, Thrown>) -> Outcome {
    match returned {
        Ok(value) => Outcome::Ok(Produced { value, ..Produced::default() }),
        Err(Thrown::Failed(error)) => Outcome::Failed(error),
        Err(Thrown::Malformed(reason)) => Outcome::Refused(Refusal::Unreadable(reason)),
        Err(Thrown::Unwritable(reason)) => Outcome::refused(reason),
        Err(Thrown::Unknown) => Outcome::Refused(Refusal::NoSuchCode),
    }
}

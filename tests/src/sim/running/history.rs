//! One history from seed to verdict: first chaos, in which every step is checked, then calm, in which
//! everything must finish.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{Call, Millis, kernel::Wait};

use super::{client::Client, executor::End, process::Processes, world::World};
use crate::sim::{
    apps::{heads, queues::queueing::Queueing},
    check,
    drawing::{drawn::Drawn, parameters::Swarm, roster::Role},
    faults::{nemesis, panics},
    handlers::{
        Queue,
        codec::{Record, pack},
    },
    recording::{
        log::{Class, Violation},
        sometimes::Sometimes,
    },
    workflows,
};

/// The result of a history.
pub struct Told {
    /// The seed of the history.
    pub seed: u64,
    /// The parameters drawn from the seed.
    pub swarm: Swarm,
    /// The violations of laws.
    pub violations: Vec<Violation>,
    /// A hash of the course of events. Equal histories have equal hashes.
    pub hash: u64,
    /// The number of polls.
    pub steps: u64,
    /// The virtual time that passed.
    pub lasted: Duration,
    /// The rare paths that were taken.
    pub sometimes: Sometimes,
    /// The trace, empty unless it was requested.
    pub trace: Vec<String>,
}

/// The limit of polls. A history that needs more has a task that spins.
const STEPS_MAX: u64 = 600_000;

/// The time after which everything must have finished once the faults have stopped.
const CALM_MAX: Duration = Duration::from_secs(90);

/// The same limit for a history with an entity that kills its process: it is held only after several
/// controls, which run one after another.
const CALM_OF_THE_GUILTY_MAX: Duration = Duration::from_secs(600);

/// Runs the history of a seed.
pub fn tell(seed: u64, tracing: bool) -> Told {
    tell_drawn(Drawn::of(seed), tracing)
}

/// Runs a history from its draw.
pub fn tell_drawn(drawn: Drawn, tracing: bool) -> Told {
    panics::quiet();
    let seed = drawn.seed;
    let world = World::new(drawn, tracing);
    workflows::enter(&world);
    let done = Arc::new(AtomicBool::new(false));
    let director = {
        let (world, done) = (world.clone(), done.clone());
        async move {
            direct(&world).await;
            done.store(true, Ordering::Relaxed);
        }
    };
    world.executor.spawn(world.outside, "director", Box::pin(director));
    let end = world.executor.run(STEPS_MAX, || done.load(Ordering::Relaxed) || world.chronicle.failed());
    judge(&world, end);
    world.processes.clear();
    world.executor.clear();
    Told {
        seed,
        swarm: world.swarm.clone(),
        violations: world.chronicle.violations(),
        hash: world.executor.hash(),
        steps: world.executor.steps(),
        lasted: world.executor.monotonic(),
        sometimes: world.chronicle.paths(),
        trace: world.chronicle.lines(),
    }
}

fn judge(world: &World, end: End) {
    match end {
        End::Finished => {}
        End::Idle => world.chronicle.violation(Class::Stuck, "R7", "nothing runs and nothing sleeps"),
        End::Spinning(name) => {
            world.chronicle.violation(Class::Stuck, "R8", format!("something spins, `{name}` perhaps"));
        }
        End::Panicked(name, message) => {
            world.chronicle.violation(Class::Broken, "E6", format!("the task `{name}` panicked: {message}"));
        }
    }
}

async fn direct(world: &Arc<World>) {
    Processes::start(world);
    let spawn = |name, task| world.executor.spawn(world.outside, name, task);
    spawn("supervisor", Box::pin(nemesis::supervise(world.clone())));
    spawn("nemesis", Box::pin(nemesis::strike(world.clone())));
    for name in 1..=world.swarm.traffic.clients {
        spawn("client", Box::pin(Client::new(world.clone(), name as u64).run()));
    }
    world.executor.sleep(world.swarm.chaos).await;
    world.calm_down();
    if rest(world).await {
        finish(world).await;
    }
}

/// Waits until everything has finished. Returns `false` if that takes too long.
async fn rest(world: &Arc<World>) -> bool {
    let traffic = &world.swarm.traffic;
    let calm_max = if traffic.guilty || traffic.doom { CALM_OF_THE_GUILTY_MAX } else { CALM_MAX };
    let until = world.executor.monotonic() + calm_max;
    let mut quiet = 0;
    // The history must be at rest twice in a row, because the answer of the last store call may start more
    // work.
    while quiet < 2 {
        if world.executor.monotonic() > until {
            stuck(world).await;
            return false;
        }
        // 97 ms is in step with nothing else: a task that runs five times a second would
        // otherwise be under way at every check.
        world.executor.sleep(Duration::from_millis(97)).await;
        empty_lines(world).await;
        stop_ticks(world).await;
        resume_queues(world).await;
        resume_errands(world).await;
        quiet = if at_rest(world) { quiet + 1 } else { 0 };
    }
    true
}

fn at_rest(world: &World) -> bool {
    let still = Processes::are_open(world) && world.weather.is_still() && world.clients_left() == 0;
    still && nemesis::held(world).is_none() && check::unfinished(world).is_empty()
}

/// Reports everything that does not finish, and what the kernels say about it.
async fn stuck(world: &Arc<World>) {
    let explained = explain(world).await;
    let mut why = check::unfinished(world);
    why.extend(world.ledger.waiting().map(|asked| format!("a caller waits for an answer to {asked}")));
    for number in 0..world.processes.count() {
        if world.processes.kernel(number).is_none() {
            why.push(format!("k{number} does not open"));
        }
    }
    if !world.weather.is_still() {
        why.push("a call of the store is under way".to_owned());
    }
    if world.clients_left() > 0 {
        why.push(format!("{} callers are not done", world.clients_left()));
    }
    why.extend(explained);
    for why in why {
        world.chronicle.violation(Class::Stuck, "R7", why);
    }
}

/// Removes callers from lines. A caller that gave up may be let in later without knowing it; a real line
/// has leases for that.
async fn empty_lines(world: &Arc<World>) {
    if world.clients_left() > 0 {
        return;
    }
    for line in world.cast.with(Role::Line) {
        let head = world.witness.entity(line).map(|entity| entity.head);
        let inside = head.and_then(|head| Queue::decode(&head)).and_then(|queue| queue.inside);
        let Some(inside) = inside else { continue };
        let key = world.cast.member(line).key.key.clone();
        for process in 0..world.processes.count() {
            let call = Call::new("line", key.clone(), "leave", pack(&[inside])).deadline(Duration::from_secs(1));
            let _ = Processes::call(world, process, call, |_| {}).await;
        }
    }
}

/// Stops the continuous primitives, which would otherwise tick forever.
async fn stop_ticks(world: &Arc<World>) {
    if world.clients_left() > 0 {
        return;
    }
    for (number, member) in world.cast.iter().filter(|(_, member)| member.role.is_continuous()) {
        let Some(entity) = world.witness.entity(number).filter(|entity| entity.status.word == "running") else {
            continue;
        };
        for process in 0..world.processes.count() {
            let call = Call::new(entity.definition.clone(), member.key.key.clone(), "stop", Bytes::from_static(b"[]"));
            let span = world.calls.asks(world, number, "stop", 0);
            let answer = Processes::call(world, process, call.deadline(Duration::from_secs(1)), |_| {}).await;
            world.chronicle.note(|| format!("the director stops {} in k{process} -> {answer:?}", member.key));
            world.calls.answered(world, span, answer.ok());
        }
    }
}

/// Resumes paused queues: a paused queue never finishes, and a caller may wait until it is empty.
async fn resume_queues(world: &Arc<World>) {
    for (number, member) in world.cast.iter().filter(|(_, member)| member.role.is_queue()) {
        let record = world.witness.entity(number).and_then(|entity| heads::record::<Queueing>(&entity.head));
        if record.is_none_or(|record| !record.paused) {
            continue;
        }
        for process in 0..world.processes.count() {
            let (definition, body) = (member.role.definition(), Bytes::from_static(b"[]"));
            let call = Call::new(definition, member.key.key.clone(), "resume", body).deadline(Duration::from_secs(1));
            let span = world.calls.asks(world, number, "resume", 0);
            let answer = Processes::call(world, process, call, |_| {}).await;
            world.calls.answered(world, span, answer.ok());
        }
    }
}

/// Resumes paused runs, which would never finish either.
async fn resume_errands(world: &Arc<World>) {
    let is_run = |role| matches!(role, Role::Errand | Role::Listener);
    for (number, member) in world.cast.iter().filter(|(_, member)| is_run(member.role)) {
        let record = world.witness.entity(number).and_then(|entity| serde_json::from_slice(&entity.head).ok());
        if record.is_none_or(|record: workflows::Record| record.paused.is_none()) {
            continue;
        }
        for process in 0..world.processes.count() {
            let (definition, body) = (member.role.definition(), Bytes::from_static(b"[]"));
            let call = Call::new(definition, member.key.key.clone(), "resume", body).deadline(Duration::from_secs(1));
            let _ = Processes::call(world, process, call, |_| {}).await;
        }
    }
}

async fn finish(world: &Arc<World>) {
    let explained = explain(world).await;
    check::finish(world);
    check::readable(world).await;
    for why in explained {
        let stuck = why.ends_with(&Wait::Stuck.to_string());
        world.chronicle.check(!stuck, Class::Stuck, "R7", || why);
    }
    for number in 0..world.processes.count() {
        let counts = world.processes.kernel(number).map(|kernel| kernel.counts()).unwrap_or_default();
        let stuck = counts.stuck;
        world.chronicle.check(stuck == 0, Class::Stuck, "R7", || format!("k{number} counts {stuck} stuck entities"));
        if counts.left > 0 {
            world.chronicle.sometimes("a key left memory because nothing used it");
        }
    }
    if world.chance().permille(250) {
        close_and_open(world).await;
    }
}

/// Shuts all processes down, then opens one kernel, which must find nothing left to do (R1, R2).
async fn close_and_open(world: &Arc<World>) {
    // A process notices a jump of the store's clock when it renews its leases. After this wait the alarms
    // that became due by the jump have rung.
    world.executor.sleep(world.swarm.processes.lease).await;
    let closed_at = world.executor.latest_wall();
    for number in 0..world.processes.count() {
        let limit = Duration::from_secs(1);
        let end = Processes::ask(world, number, move |kernel| async move { kernel.shutdown(limit).await }).await;
        let ended = matches!(end, Ok(Ok(())));
        world.chronicle.check(ended, Class::Broken, "R2", || format!("k{number} ended with {end:?}"));
    }
    let alarm_of = |number| world.witness.durable().story(number).entity.as_ref().and_then(|entity| entity.alarm);
    let alarms: Vec<Millis> = world.cast.iter().filter_map(|(number, _)| alarm_of(number)).collect();
    let report = match Processes::open_again(world).await {
        Ok(report) => report,
        Err(error) => {
            return world.chronicle.violation(Class::Broken, "R1", format!("it does not open again: {error}"));
        }
    };
    let parked = world.cast.iter().filter(|(number, _)| world.witness.durable().story(*number).is_parked()).count();
    // Alarms that became due after the shutdown, while no process was open, do not count.
    let rung_meanwhile = alarms.iter().filter(|at| **at >= closed_at && **at <= world.executor.latest_wall()).count();
    let clean = report.overdue <= rung_meanwhile && report.unfinished == 0 && report.parked <= parked;
    world.chronicle.check(clean, Class::Broken, "R2", || format!("opened again, it found {report:?}"));
}

/// Asks every open kernel what each key waits for (R7).
async fn explain(world: &Arc<World>) -> Vec<String> {
    let mut all = Vec::new();
    for (_, member) in world.cast.iter() {
        for number in 0..world.processes.count() {
            let Some(kernel) = world.processes.kernel(number) else { continue };
            let asking = kernel.explain(&member.key);
            let Some(Ok(explained)) = world.executor.within(Duration::from_secs(1), asking).await else { continue };
            all.push(format!("k{number}: {explained}"));
        }
    }
    all
}

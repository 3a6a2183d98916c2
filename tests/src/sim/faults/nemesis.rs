//! Strikes the processes and the store during the chaos, and starts dead processes again.

use std::{sync::Arc, time::Duration};

use drystone_runtime::Parked;

use crate::sim::{
    drawing::{
        random::Chance,
        roster::{Member, Role},
    },
    running::{process::Processes, world::World},
};

#[derive(Clone, Copy, Debug)]
enum Blow {
    Crash,
    Shutdown,
    Drop,
    Freeze,
    FreezeThread,
    Jump,
    Full,
    Outage,
}

/// Strikes at random times until the chaos is over.
pub async fn strike(world: Arc<World>) {
    let mut chance = world.chance();
    for (at, blow) in plan(&world, &mut chance) {
        world.executor.sleep_until(at).await;
        if world.is_calm() {
            return;
        }
        land(&world, blow, &mut chance);
    }
}

/// Restarts dead processes, forever.
pub async fn supervise(world: Arc<World>) {
    let mut chance = world.chance();
    loop {
        world.executor.sleep(Duration::from_millis(chance.between(20, 400))).await;
        Processes::revive(&world);
        mend(&world).await;
    }
}

/// Returns the guilty entity while it is held and waits for a person. The doomed entity does not count:
/// nobody mends it.
pub fn held(world: &World) -> Option<Arc<Member>> {
    let is_held = |number| {
        let entity = world.witness.entity(number);
        entity.is_some_and(|entity| matches!(entity.parked, Some(Parked::Held(_))))
    };
    let held = world.cast.iter().find(|(number, member)| member.role != Role::Doomed && is_held(*number));
    held.map(|(_, member)| member)
}

/// Plays the person who mends a held guilty entity and unparks it. The doomed entity stays held forever.
async fn mend(world: &Arc<World>) {
    let Some(member) = held(world) else { return };
    world.chronicle.sometimes("a guilty entity was held and mended");
    world.mend();
    for number in 0..world.processes.count() {
        let Some(kernel) = world.processes.kernel(number) else { continue };
        let _ = world.executor.within(Duration::from_secs(1), kernel.unpark(&member.key)).await;
    }
}

fn plan(world: &World, chance: &mut Chance) -> Vec<(Duration, Blow)> {
    let (blows, faults) = (&world.swarm.blows, &world.swarm.faults);
    let counts = [
        (Blow::Crash, blows.crashes),
        (Blow::Shutdown, blows.shutdowns),
        (Blow::Drop, blows.drops),
        (Blow::Freeze, blows.freezes),
        (Blow::FreezeThread, blows.thread_freezes),
        (Blow::Jump, blows.jumps),
        (Blow::Full, faults.full),
        (Blow::Outage, faults.outages),
    ];
    let chaos = world.swarm.chaos.as_millis() as u64;
    let mut plan = Vec::new();
    for (blow, count) in counts {
        let span = blows.burst_ms.filter(|_| matches!(blow, Blow::Crash)).unwrap_or(chaos).min(chaos);
        let begin = chance.below(chaos - span + 1);
        plan.extend((0..count).map(|_| (Duration::from_millis(begin + chance.below(span)), blow)));
    }
    plan.sort_by_key(|(at, _)| *at);
    plan
}

fn land(world: &Arc<World>, blow: Blow, chance: &mut Chance) {
    let process = chance.index(world.processes.count());
    let group = world.processes.group(process);
    let lease_ms = world.swarm.processes.lease.as_millis() as u64;
    let span = Duration::from_millis(chance.between(1, 2 * lease_ms));
    let until = world.executor.monotonic() + span;
    world.chronicle.note(|| format!("{blow:?} of k{process}, {span:?}"));
    match blow {
        Blow::Crash if world.may_crash() => Processes::kill(world, process),
        Blow::Crash => {}
        Blow::Shutdown => shut_down(world, process),
        Blow::Drop => drop_kernel(world, process),
        Blow::Freeze => {
            world.chronicle.sometimes("a process was frozen");
            world.executor.freeze(group, span);
        }
        Blow::FreezeThread => {
            world.chronicle.sometimes("a thread was frozen");
            let name = world.executor.freeze_thread(group, span);
            world.chronicle.note(|| format!("it was {name:?}"));
        }
        Blow::Jump => jump(world, process, chance),
        Blow::Full => world.weather.fill(until),
        Blow::Outage => world.weather.cut(until),
    }
}

fn shut_down(world: &Arc<World>, process: usize) {
    let nemesis = world.clone();
    let task = async move { Processes::restart_in_order(&nemesis, process).await };
    world.executor.spawn(world.outside, "shutdown", Box::pin(task));
}

fn drop_kernel(world: &Arc<World>, process: usize) {
    let nemesis = world.clone();
    let task = async move { Processes::restart_by_drop(&nemesis, process).await };
    world.executor.spawn(world.outside, "drop", Box::pin(task));
}

fn jump(world: &World, process: usize, chance: &mut Chance) {
    world.chronicle.sometimes("a clock jumped");
    let by_ms = chance.between(1, world.swarm.blows.jump_ms) as i64;
    if chance.coin() {
        world.executor.jump(world.store, by_ms);
    } else {
        let sign = if chance.coin() { 1 } else { -1 };
        world.executor.jump(world.processes.group(process), sign * by_ms);
    }
}

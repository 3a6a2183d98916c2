//! C3: after the answer of a stop no tick begins, except one in flight, until a call starts, resumes or
//! triggers the entity.

use super::Span;
use crate::sim::{apps::Execution, recording::log::Class, running::world::World};

/// Checks every continuous member of a history.
pub(super) fn finish(world: &World) {
    for (number, member) in world.cast.iter().filter(|(_, member)| member.role.is_continuous()) {
        // After a jump of the store's clock a lease may have ended without its owner knowing.
        if !world.clocks_are_honest() {
            continue;
        }
        let (calls, ticks) = (world.calls.of(number), world.recorder.ticks_of(number));
        for stop in calls.iter().filter(|span| span.verb == "stop" && span.told.as_deref() == Some(b"true")) {
            let begun = after(stop, &calls, &ticks);
            let one = begun.windows(2).all(|pair| key(pair[0]) == key(pair[1]));
            world.chronicle.check(one, Class::Broken, "C3", || {
                format!("{} was stopped ({stop:?}), and then began {begun:?}", member.key)
            });
        }
    }
}

/// The executions that began after a stop and before any call that may have ended the stop.
fn after<'a>(stop: &Span, calls: &[Span], ticks: &'a [Execution]) -> Vec<&'a Execution> {
    let wakes = |span: &&Span| matches!(span.verb, "start" | "resume" | "trigger" | "destroy") && !span.refused;
    let woken = calls.iter().filter(wakes).filter(|span| span.until > stop.from).map(|span| span.from).min();
    let until = woken.unwrap_or(u64::MAX);
    ticks.iter().filter(|tick| tick.from > stop.until && tick.from < until).collect()
}

fn key(tick: &Execution) -> (drystone_runtime::Version, u64, u32) {
    (tick.id, tick.number, tick.attempt)
}

//! Code that kills the process: the deaths are limited, the guilty entity is found, and no innocent entity
//! is held.
//!
//! - `innocents`: entities that were merely there when the process died (C).
//! - `guilty`: work, turns and messages that kill the process are held (C).
//! - `trials`: the order in which suspects run after a crash (C).

mod guilty;
mod innocents;
mod trials;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drystone_runtime::{
    Borrow, Change, Commit, Conviction, Entity, Error, Input, Next, Outcome, Parked, Range, Registry, Work, WorkId,
    kernel::Wait,
};
use drystone_tests::world::{
    Executor, Latch, Log, World, key,
    toys::{Toy, add, adder, alarm_in, call, done, letters, message, ok, registry, settles, text},
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// The means to kill a world, set once there is a world.
#[derive(Clone, Default)]
struct Bomb {
    executor: Arc<OnceLock<Executor>>,
    is_defused: Arc<AtomicBool>,
}

impl Bomb {
    fn explode(&self) {
        self.executor.get().expect("the world is there").kill_current();
    }

    fn defuse(&self) {
        self.is_defused.store(true, Ordering::Relaxed);
    }
}

/// `work` lists `bomb` for the guilty and `job` for the others; each end of work goes to the log.
fn workers(bomb: &Bomb, latch: &Latch, log: &Log) -> Toy {
    let (bomb, latch, begins, ends) = (bomb.clone(), latch.clone(), log.clone(), log.clone());
    adder()
        .own("work", |turn| Next::Commit(Commit { head: Some(turn.body().into()), ..turn.says("") }))
        .lists(|entity, _| text(&entity.head).split_whitespace().map(|id| Work::new(id.to_owned())).collect())
        .runs(move |_, work, cx| {
            let (bomb, latch, log, id) = (bomb.clone(), latch.clone(), begins.clone(), work.id.clone());
            Box::pin(async move {
                if id.as_str() == "bomb" && !bomb.is_defused.load(Ordering::Relaxed) {
                    log.say("boom");
                    bomb.explode();
                    std::future::pending::<()>().await;
                }
                latch.wait().await;
                drop(cx);
                done()
            })
        })
        .otherwise(move |turn| {
            let Input::Done { work, outcome, .. } = turn.input else { return settles(turn) };
            let entity = turn.entity.expect("only existing entities have work");
            let outcome = if let Outcome::Ok(_) = outcome { "ok".to_owned() } else { format!("{outcome:?}") };
            ends.say(format!("{} {work}: {outcome}", text(&entity.key.key)));
            let left: Vec<_> =
                text(&entity.head).split(' ').filter(|id| *id != work.as_str()).map(str::to_owned).collect();
            Next::Commit(Commit { head: Some(left.join(" ").into()), ..Commit::default() })
        })
}

fn world(registry: Registry, bomb: &Bomb) -> World {
    let world = World::of(registry);
    bomb.executor.set(world.executor.clone()).expect("one world per bomb");
    world
}

fn crashes(world: &World, key: &str) -> u8 {
    world.entity(key).expect("it is bound").crashes.deaths()
}

//! Opening a store, shutting down, losing the store, and losing a lease.
//!
//! - `lifecycle`: opening, shutting down and resuming (R).
//! - `ownership`: two workers and one key (R).
//! - `outages`: a store that is down, full, or whose answer is lost (R).

mod lifecycle;
mod outages;
mod ownership;

use std::time::Duration;

use drystone_runtime::{Commit, DropLane, Error, Next, Range, Row, To, Work, kernel::Report, store::StoreErrorKind};
use drystone_tests::world::{
    Fault, Latch, Log, Moment, World,
    toys::{Toy, add, adder, alarm_in, call, done, message},
};

const SECOND: Duration = Duration::from_secs(1);

/// Works as long as its record says so; has alarms and messages.
fn busy(latch: &Latch, log: &Log) -> Toy {
    let (latch, log) = (latch.clone(), log.clone());
    adder()
        .own("work", |turn| Next::Commit(Commit { head: Some("work".into()), ..turn.says("") }))
        .own("alarm", |turn| {
            Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), head: Some("".into()), ..turn.says("") })
        })
        .own("park", |_| Next::Park("as asked".to_owned()))
        .own("send", |turn| {
            Next::Commit(Commit {
                send: vec![message("adder", "to", "hang", "")],
                head: Some("".into()),
                ..turn.says("")
            })
        })
        .action("hang", |_| Next::Run(Work::new("hang")))
        .lists(|entity, _| if entity.head == "work" { vec![Work::new("job/1")] } else { Vec::new() })
        .runs(move |_, work, _| {
            let (latch, log, id) = (latch.clone(), log.clone(), work.id.clone());
            log.say(format!("{id} begins"));
            Box::pin(async move {
                latch.wait().await;
                done()
            })
        })
        .otherwise(|turn| match turn.input {
            drystone_runtime::Input::Done { .. } => {
                Next::Commit(Commit { head: Some("done".into()), ..Commit::default() })
            }
            drystone_runtime::Input::Alarm { .. } => {
                Next::Commit(Commit { alarm: drystone_runtime::Change::Clear, ..Commit::default() })
            }
            _ => Next::nothing(),
        })
}

fn world() -> (World, Latch, Log) {
    let (latch, log) = (Latch::default(), Log::default());
    (World::of(busy(&latch, &log).alone()), latch, log)
}

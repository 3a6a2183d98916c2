//! Work and rows: the work that follows from the stored state runs, ends once, and keeps its limits.
//!
//! - `listing`: listed work starts, ends and is dropped (W).
//! - `timeouts`: timeouts and silence of work (W).
//! - `rows`: work that is listed by rows (W).

mod listing;
mod rows;
mod timeouts;

use std::{future::poll_fn, task::Poll, time::Duration};

use drystone_runtime::{Borrow, Change, Commit, Input, Needed, Next, Outcome, Range, Row, Work};
use drystone_tests::world::{
    Latch, Log, World,
    toys::{Toy, add, adder, alarm_in, call, done, key, number, settles},
};

const SECOND: Duration = Duration::from_secs(1);

/// Lists the words of its record as work. The end of work removes its word and goes to the log.
fn jobs(latch: &Latch, log: &Log, shape: impl Fn(Work) -> Work + Send + Sync + 'static) -> Toy {
    let (latch, begins, ends) = (latch.clone(), log.clone(), log.clone());
    adder()
        .own("list", |turn| Next::Commit(Commit { head: Some(turn.body().into()), ..turn.says("") }))
        .lists(move |entity, _| {
            let head = String::from_utf8_lossy(&entity.head).into_owned();
            head.split_whitespace().map(|id| shape(Work::new(id.to_owned()))).collect()
        })
        .runs(move |_, work, cx| {
            let (latch, id) = (latch.clone(), work.id.clone());
            begins.say(format!("{id} begins"));
            Box::pin(async move {
                latch.wait().await;
                cx.heartbeat();
                done()
            })
        })
        .otherwise(move |turn| {
            let Input::Done { work, outcome, .. } = turn.input else { return settles(turn) };
            let outcome = match outcome {
                Outcome::Ok(_) => "ok".to_owned(),
                other => format!("{other:?}"),
            };
            ends.say(format!("{work} ends: {outcome}"));
            let head =
                String::from_utf8_lossy(&turn.entity.expect("only existing entities have work").head).into_owned();
            let left: Vec<_> = head.split_whitespace().filter(|word| *word != work.as_str()).collect();
            Next::Commit(Commit { head: Some(left.join(" ").into()), ..Commit::default() })
        })
}

//! The log lines about failures: they name the guilty code, and are not repeated too often.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use drystone_runtime::{Driver, Error, Kernel, Next, Options, Work, driver::TokioDriver, store::Memory};
use drystone_tests::{
    log_lines::log_lines,
    world::{
        Fault, World,
        toys::{add, adder, call, done},
    },
};

const SECOND: Duration = Duration::from_secs(1);

/// Blocks the current thread until the test opens the gate.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn block(&self) {
        let (is_open, opened) = &*self.0;
        drop(opened.wait_while(is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
    }

    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

/// Opens the gate even if the test fails, because a runtime waits for its threads.
struct OpenedAtTheEnd(Gate);

impl Drop for OpenedAtTheEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// R4
#[test]
fn a_store_that_is_down_is_one_log_line_a_minute() {
    let lines = log_lines();
    let said = || lines.with(&["the store does not answer"]).len();
    let world = World::of(adder().alone());
    world.call(add("a", 1)).unwrap();
    world.store.breaks(Some(Fault::Down));
    let _waiting = world.ask(add("a", 1));
    world.advance(59 * SECOND);
    assert_eq!(said(), 1, "however often it is tried");
    world.advance(120 * SECOND);
    assert_eq!(said(), 3);
    world.store.breaks(None);
    world.advance(10 * SECOND);
    world.call(add("b", 1)).unwrap();
    world.advance(120 * SECOND);
    assert_eq!(said(), 3, "nothing is said of a store that answers");
}

/// E6
#[test]
fn a_turn_that_panics_is_logged_with_its_key_and_its_message() {
    let lines = log_lines();
    let world = World::of(adder().alone());
    let panicked = world.call(call("adder", "panics", "panic", ""));
    assert!(matches!(panicked, Err(Error::Panicked { .. })));
    let said = lines.with(&["a turn panicked", "app/panics", "as asked"]);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("ERROR"), "{said:?}");
}

/// E6: With the key and the action.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_blocks_a_thread_is_named_in_the_log() {
    let lines = log_lines();
    let gate = Gate::default();
    let _opened = OpenedAtTheEnd(gate.clone());
    let (in_a_turn, in_work) = (gate.clone(), gate.clone());
    let toy = adder()
        .action("block", move |turn| {
            in_a_turn.block();
            Next::Commit(turn.sets(1))
        })
        .action("run", |_| Next::Run(Work::new("job")))
        .runs(move |_, _, _| {
            let gate = in_work.clone();
            Box::pin(async move {
                gate.block();
                done()
            })
        });
    let driver = Arc::new(TokioDriver::new().unwrap());
    let clock = driver.clone();
    let store = Arc::new(Memory::new(move || clock.now(), 1));
    let mut options = Options::default();
    options.blocked_after = Duration::from_millis(20);
    let (kernel, _) = Kernel::open(store, toy.alone(), driver, options).await.unwrap();
    let ask = |key: &'static str, verb| {
        let kernel = kernel.clone();
        tokio::spawn(async move { kernel.call(call("adder", key, verb, "")).await })
    };
    let asked = [ask("blocks-a-hand", "block"), ask("blocks-a-worker", "run")];
    let hand = lines.wait_for(&["the code blocks a thread of the kernel", "blocks-a-hand"]);
    assert!(hand.starts_with("ERROR") && hand.contains("block\""), "{hand}");
    let worker = lines.wait_for(&["the code blocks its thread", "blocks-a-worker"]);
    assert!(worker.starts_with("ERROR") && worker.contains("job"), "{worker}");
    gate.open();
    for asked in asked {
        asked.await.unwrap().unwrap();
    }
}

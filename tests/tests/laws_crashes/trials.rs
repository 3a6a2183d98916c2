//! The order in which suspects run after a crash (C).

use super::*;

/// W6, W2: Also while that work is held back.
#[test]
fn a_call_waits_for_work_that_goes_first() {
    let latch = Latch::default();
    let listed = || Work { goes_first: true, borrow: Borrow::Exclusive, ..Work::new("script") };
    let waiting = latch.clone();
    let toy = adder()
        .own("work", |turn| Next::Commit(Commit { head: Some("script".into()), ..turn.says("") }))
        .lists(move |entity, _| if entity.head.is_empty() { Vec::new() } else { vec![listed()] })
        .runs(move |_, _, _| {
            let latch = waiting.clone();
            Box::pin(async move {
                latch.wait().await;
                // The code used the state from before the call.
                ok(1)
            })
        })
        .otherwise(|turn| match settles(turn) {
            Next::Commit(commit) => Next::Commit(Commit { head: Some("".into()), ..commit }),
            other => other,
        });
    let world = World::of(toy.alone());
    world.call(call("adder", "a", "work", "")).unwrap();
    for _ in 0..3 {
        world.restart();
    }
    assert_eq!(world.waits("a"), [Wait::HeldBack]);
    latch.open();
    let added = world.ask(add("a", 10).deadline(60 * MINUTE));
    world.settle();
    assert!(added.waits());
    world.advance(30 * MINUTE);
    assert_eq!((added.text().unwrap(), world.state("a")), ("11".to_owned(), "11".to_owned()));
}

/// W2: Afterwards the suspect is held back.
#[test]
fn the_suspect_is_named_in_the_store_before_it_runs_alone() {
    let (bomb, log) = (Bomb::default(), Log::default());
    let latch = Latch::default();
    latch.open();
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    drop(world.ask(call("adder", "guilty", "work", "bomb")));
    for deaths in 1..=3 {
        world.restart();
        assert_eq!(world.is_dead(), deaths < 3);
        let suspect = world.entity("guilty").unwrap().suspect.map(|suspect| suspect.to_string());
        assert_eq!((crashes(&world, "guilty"), suspect.as_deref()), (deaths, (deaths >= 2).then_some("bomb")));
    }
    assert_eq!(world.waits("guilty"), [Wait::HeldBack]);
    assert_eq!(log.take().len(), 3);
}

/// Two entities run during three crashes, then the process shuts down. Returns how many of them run at once
/// afterwards.
fn run_after_an_end_in_order() -> usize {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    let keys = ["a", "b"];
    for key in keys {
        world.call(call("adder", key, "work", "job")).expect("it is the owner");
    }
    for _ in 0..3 {
        world.restart();
    }
    let run = || keys.iter().filter(|key| matches!(world.waits(key)[..], [Wait::Work(_)])).count();
    let run_when_one_does = || {
        let minutes = 0..11 * 60;
        minutes.map(|_| (world.advance(SECOND), run()).1).find(|count| *count > 0).expect("controls end")
    };
    assert_eq!((run(), run_when_one_does()), (0, 1), "both are held back, then one waits for the other");
    world.shut_down(SECOND);
    assert_eq!(world.restart().unclean, 0);
    let run_at_once = run_when_one_does();
    assert_eq!(keys.map(|key| crashes(&world, key)), [3, 3]);
    latch.open();
    world.advance(20 * MINUTE);
    assert_eq!((keys.map(|key| crashes(&world, key)), log.take().len()), ([0, 0], 2));
    run_at_once
}

/// W2, R2
#[test]
fn suspects_run_one_at_a_time_also_after_an_orderly_end() {
    assert_eq!(run_after_an_end_in_order(), 1);
}

/// W2
#[cfg(feature = "planted")]
#[test]
fn it_is_found_if_an_orderly_end_clears_suspects() {
    drystone_runtime::plant(Some(drystone_runtime::Bug::DoubtForgotten));
    let run_at_once = run_after_an_end_in_order();
    drystone_runtime::plant(None);
    assert_eq!(run_at_once, 2);
}

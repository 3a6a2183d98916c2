//! Entities that were merely there when the process died (C).

use super::*;

/// Lets 20 innocent entities work until the process has died this often. Returns how many of them succeed.
fn succeed(deaths: usize, apart: Duration) -> usize {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    let keys: Vec<String> = (0..20).map(|number| format!("i{number}")).collect();
    for key in &keys {
        world.call(call("adder", key, "work", "job")).expect("it is the owner");
    }
    for _ in 0..deaths {
        world.advance(apart);
        world.restart();
    }
    latch.open();
    world.advance(60 * MINUTE);
    assert!(keys.iter().all(|key| world.entity(key).is_some_and(|entity| entity.parked.is_none())));
    log.take().iter().filter(|line| line.ends_with("job: ok")).count()
}

/// W2: Also if it dies regularly.
#[test]
fn innocents_succeed_however_often_the_process_dies() {
    let rows = [
        (6, 1),
        (6, 30),
        (12, 1),
        (12, 30),
        (30, 1),
        (60, 1),
        (60, 10),
        (60, 59),
        (120, 1),
        (60, 61),
        // Longer than the shortest control, and a little longer than the longest one.
        (60, 90),
        (60, 150),
        (60, 330),
        (30, 605),
        (30, 655),
    ];
    for (deaths, apart_s) in rows {
        let succeeded = succeed(deaths, apart_s * SECOND);
        assert_eq!(succeeded, 20, "{deaths} deaths, {apart_s} s apart");
    }
}

/// W2
#[cfg(feature = "planted")]
#[test]
fn it_is_found_if_suspects_are_convicted_by_their_deaths_alone() {
    drystone_runtime::plant(Some(drystone_runtime::Bug::NoControl));
    let succeeded = std::panic::catch_unwind(|| succeed(60, SECOND));
    drystone_runtime::plant(None);
    assert!(succeeded.is_err(), "an innocent is held");
}

/// W2: The crash loop ends while an entity is held back.
#[test]
fn one_survived_control_convicts_nobody() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    world.call(call("adder", "a", "work", "job")).unwrap();
    for _ in 0..3 {
        world.restart();
    }
    // The crash loop is over. After the control come one more death and then no more.
    while !matches!(world.waits("a")[..], [Wait::Work(_)]) {
        world.advance(SECOND);
    }
    world.restart();
    assert_eq!(crashes(&world, "a"), 4);
    world.advance(20 * MINUTE);
    assert_eq!((crashes(&world, "a"), world.waits("a")), (0, vec![Wait::Work(WorkId::new("job"))]));
}

/// W2, M4: The process dies of something else.
#[test]
fn a_message_to_an_unbound_key_survives_any_number_of_deaths() {
    for apart_s in [1, 30, 61, 200] {
        let (bomb, latch) = (Bomb::default(), Latch::default());
        let waits = latch.clone();
        let toy = adder()
            .own("take", |_| Next::Run(Work::new("take")))
            .own("send", |turn| Next::Commit(Commit { send: vec![message("adder", "to", "take", "")], ..turn.sets(1) }))
            .runs(move |_, _, _| {
                let latch = waits.clone();
                Box::pin(async move {
                    latch.wait().await;
                    ok(2)
                })
            });
        let world = world(registry([toy, letters()]).dead_letters("letters", key("dead")), &bomb);
        drop(world.ask(call("adder", "s", "send", "")));
        for _ in 0..40 {
            world.advance(apart_s * SECOND);
            world.restart();
        }
        assert_eq!(world.inbox("to"), 1);
        latch.open();
        world.advance(60 * MINUTE);
        assert_eq!((world.inbox("to"), world.state("to").as_str(), world.state("dead").as_str()), (0, "2", ""));
    }
}

/// W2
#[test]
fn crashes_of_others_are_forgotten_when_work_gets_on() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    world.call(call("adder", "a", "work", "job")).unwrap();
    for _ in 0..3 {
        world.restart();
    }
    assert_eq!(crashes(&world, "a"), 3);
    world.advance(12 * MINUTE);
    assert_eq!(crashes(&world, "a"), 0, "it has run long enough");
    world.restart();
    latch.open();
    world.settle();
    assert_eq!((crashes(&world, "a"), log.take()), (0, vec!["a job: ok".to_owned()]));
}

/// W2
#[test]
fn a_death_before_any_code_of_an_entity_does_not_count() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    for number in 0..40 {
        world.call(call("adder", &format!("i{number}"), "work", "job")).unwrap();
    }
    let all = || (0..40).map(|number| crashes(&world, &format!("i{number}"))).collect::<Vec<_>>();
    for _ in 0..2 {
        world.restart();
    }
    let counted = |deaths| all().iter().filter(|found| **found == deaths).count();
    assert_eq!((counted(1), counted(2)), (8, 32), "32 run at once, and 8 wait in line");
    world.restart();
    assert_eq!((counted(1), counted(2), counted(3)), (0, 8, 32), "nothing of the 8 had begun in the life that ended");
}

/// W2
#[test]
fn an_entity_with_progress_is_cleared_although_a_read_came_last() {
    let (bomb, dies) = (Bomb::default(), Arc::new(AtomicBool::new(true)));
    let kills = bomb.clone();
    let toy = adder()
        .action("take", move |turn| {
            if dies.swap(false, Ordering::Relaxed) {
                kills.explode();
            }
            Next::Commit(turn.sets(2))
        })
        .own("send", |turn| Next::Commit(Commit { send: vec![message("adder", "to", "take", "")], ..turn.sets(1) }))
        .own("rows", |turn| match turn.rows.get(&Range::first("items", 9)) {
            Some(rows) => Next::Commit(turn.says(rows.len())),
            None => Next::Read(vec![Range::first("items", 9)]),
        });
    let world = world(toy.alone(), &bomb);
    world.call(add("to", 1)).unwrap();
    drop(world.ask(call("adder", "s", "send", "")));
    assert!(world.is_dead());
    // The count of the crash is being written when the call comes. The message goes first, and the call
    // waits for rows when the message is taken.
    world.store.stall();
    world.restart();
    let asked = world.ask(call("adder", "to", "rows", ""));
    world.store.go_on();
    world.settle();
    assert_eq!((asked.text().unwrap().as_str(), world.state("to").as_str()), ("0", "2"));
    assert_eq!(crashes(&world, "to"), 0);
}

/// W2
#[test]
fn an_entity_at_rest_is_not_counted_when_the_process_dies() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    world.call(add("a", 1)).unwrap();
    let before = world.entity("a").unwrap();
    for _ in 0..3 {
        world.restart();
    }
    assert_eq!(world.call(call("adder", "a", "get", "")).unwrap(), "1");
    assert_eq!(world.entity("a").unwrap(), before);
}

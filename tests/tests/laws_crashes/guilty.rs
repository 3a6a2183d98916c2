//! Work, turns and messages that kill the process are held (C).

use super::*;

/// The deaths until a guilty entity is held, whatever runs beside it: three that narrow the suspects down,
/// and six that each follow a control.
const DEATHS_UNTIL_HELD: usize = 9;

/// Restarts the world until it has lived for an hour. Returns the number of restarts.
fn restart_until_it_lives(world: &World) -> usize {
    for restarts in 0..60 {
        world.advance(60 * MINUTE);
        if !world.is_dead() {
            return restarts;
        }
        world.restart();
    }
    panic!("it dies for ever");
}

fn conviction(entity: &Entity) -> Option<&Conviction> {
    match &entity.parked {
        Some(Parked::Held(conviction)) => Some(conviction),
        _ => None,
    }
}

/// W2
#[test]
fn work_that_kills_the_process_is_held_and_innocents_complete() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    for number in 1..20 {
        world.call(call("adder", &format!("i{number}"), "work", "job")).unwrap();
    }
    let kernel = world.kernel();
    drop(world.ask(call("adder", "guilty", "work", "bomb")));
    assert!(world.is_dead());
    drop(kernel);
    latch.open();
    restart_until_it_lives(&world);
    let mut said = log.take();
    assert_eq!(said.iter().filter(|line| *line == "boom").count(), DEATHS_UNTIL_HELD);
    said.retain(|line| line != "boom");
    assert_eq!(said.len(), 19, "all innocents: {said:?}");
    let entity = world.entity("guilty").unwrap();
    let expected = Conviction { work: Some(WorkId::new("bomb")), deaths: 9, controls: 6, build: 0 };
    assert_eq!(conviction(&entity), Some(&expected));
    let explained = world.explain("guilty").to_string();
    assert!(explained.contains("`bomb` is suspected") && explained.contains("died 9 times with it"), "{explained}");
    assert!(matches!(world.call(add("guilty", 1)), Err(Error::Parked { .. })));
    // A restart alone does not try the held entity again: it would kill the process once more.
    world.restart();
    world.advance(60 * MINUTE);
    assert!(!world.is_dead() && log.take().is_empty());
    bomb.defuse();
    assert!(world.unpark("guilty"));
    world.settle();
    assert_eq!(log.take(), ["guilty bomb: ok"]);
}

/// W2, E15
#[test]
fn listeners_are_told_of_an_entity_that_is_held() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    drop(world.ask(call("adder", "guilty", "work", "bomb")));
    for deaths in 1..DEATHS_UNTIL_HELD {
        world.restart();
        world.advance(20 * MINUTE);
        assert!(world.is_dead(), "{deaths}");
    }
    world.store.stall();
    world.restart();
    let mut events = world.kernel().listen();
    world.store.go_on();
    world.settle();
    let told = world.now(async move { events.next().await }).expect("the kernel lives");
    assert_eq!((told.key, told.lifecycle.name.as_str()), (key("guilty"), "entity.held"));
    let fields = ["work", "deaths", "controls"].map(|name| text(&told.lifecycle.fields[name]));
    assert_eq!(fields, ["\"bomb\"", "9", "6"]);
}

/// W2
#[test]
fn another_build_or_other_options_try_what_is_held_once_more() {
    for new_build in [true, false] {
        let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
        latch.open();
        let toy = || workers(&bomb, &latch, &log);
        let world = world(toy().alone(), &bomb);
        drop(world.ask(call("adder", "guilty", "work", "bomb")));
        restart_until_it_lives(&world);
        log.take();
        bomb.defuse();
        let registry = if new_build { toy().alone() } else { toy().config("other").alone() };
        world.open(registry, |options| options.build = u64::from(new_build));
        assert_eq!(log.take(), ["guilty bomb: ok"]);
    }
}

/// W2: Two guilty ones are held after twice as many.
#[test]
fn one_guilty_among_a_thousand_is_held_after_few_deaths() {
    for (innocents, guilty) in [(1_000, 1), (20, 2)] {
        let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
        let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
        let guilty: Vec<String> = (0..guilty).map(|number| format!("guilty{number}")).collect();
        for number in 0..innocents {
            world.call(call("adder", &format!("i{number}"), "work", "job")).unwrap();
        }
        world.store.stall();
        let asked: Vec<_> = guilty.iter().map(|key| world.ask(call("adder", key, "work", "bomb"))).collect();
        world.store.go_on();
        drop(asked);
        latch.open();
        restart_until_it_lives(&world);
        let mut said = log.take();
        let booms = said.iter().filter(|line| *line == "boom").count();
        assert!(booms <= guilty.len() * DEATHS_UNTIL_HELD, "{booms}");
        // A turn is repeated if the process dies before its commit.
        said.sort();
        said.dedup();
        assert_eq!(said.len() - 1, innocents);
        assert!(guilty.iter().all(|key| world.entity(key).is_some_and(|entity| conviction(&entity).is_some())));
    }
}

/// W2: They begin at different times.
#[test]
fn two_guilty_ones_do_not_acquit_each_other_for_ever() {
    for lives in 1..=6 {
        let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
        latch.open();
        let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
        world.call(call("adder", "late", "work", "job")).unwrap();
        drop(world.ask(call("adder", "early", "work", "bomb")));
        for _ in 0..lives {
            world.restart();
            world.advance(20 * MINUTE);
        }
        // A restart without a death. The second entity begins when the first is at some stage.
        world.store.stall();
        world.restart();
        let asked = world.ask(call("adder", "late", "work", "bomb"));
        world.store.go_on();
        world.settle();
        drop(asked);
        assert!(restart_until_it_lives(&world) <= 40, "{lives}");
        let held = |key| world.entity(key).is_some_and(|entity| conviction(&entity).is_some());
        assert!(held("early"), "{lives}");
    }
}

/// W2
#[test]
fn a_turn_that_kills_the_process_is_held() {
    let bomb = Bomb::default();
    let kills = bomb.clone();
    let toy = adder()
        .own("alarm", |turn| Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), ..turn.sets(7) }))
        .otherwise(move |turn| {
            if let Input::Alarm { .. } = turn.input {
                kills.explode();
            }
            Next::Commit(Commit { alarm: Change::Clear, ..Commit::default() })
        });
    let world = world(toy.alone(), &bomb);
    world.call(call("adder", "guilty", "alarm", "")).unwrap();
    world.call(add("innocent", 1)).unwrap();
    world.advance(SECOND);
    assert!(world.is_dead());
    // At the first ring no commit had stored the time, so the alarm may ring once more often.
    assert!(restart_until_it_lives(&world) <= DEATHS_UNTIL_HELD + 1);
    let entity = world.entity("guilty").unwrap();
    let held = conviction(&entity).map(|held| (held.work.clone(), held.deaths));
    assert_eq!((held, &entity.state[..], entity.alarm.is_some()), (Some((None, 9)), &b"7"[..], true));
    assert!(matches!(world.call(add("guilty", 1)), Err(Error::Parked { .. })));
    assert_eq!(world.call(add("innocent", 1)).unwrap(), "2");
}

/// W2, M4
#[test]
fn a_message_that_kills_the_process_is_held_in_the_inbox() {
    for is_bound in [true, false] {
        let bomb = Bomb::default();
        let kills = bomb.clone();
        let toy = adder()
            .action("kill", move |turn| {
                if !kills.is_defused.load(Ordering::Relaxed) {
                    kills.explode();
                }
                Next::Commit(turn.sets(3))
            })
            .own("send", |turn| {
                Next::Commit(Commit { send: vec![message("adder", "to", "kill", "")], ..turn.sets(1) })
            });
        let world = world(registry([toy, letters()]).dead_letters("letters", key("dead")), &bomb);
        if is_bound {
            world.call(add("to", 1)).unwrap();
        }
        drop(world.ask(call("adder", "s", "send", "")));
        assert!(world.is_dead());
        assert_eq!(restart_until_it_lives(&world), DEATHS_UNTIL_HELD);
        assert_eq!((world.inbox("to"), world.state("dead").as_str()), (1, ""), "it is no dead letter");
        if is_bound {
            assert!(conviction(&world.entity("to").unwrap()).is_some());
        } else {
            assert_eq!(world.waits("to"), [Wait::HeldMessages(1)]);
        }
        world.restart();
        world.advance(60 * MINUTE);
        assert!(!world.is_dead());
        bomb.defuse();
        assert!(world.unpark("to"));
        world.settle();
        assert_eq!((world.inbox("to"), world.state("to").as_str()), (0, "3"));
        assert!(!world.unpark("to"));
    }
}

/// Yields `count` times to the remaining tasks.
async fn turns(count: u32) {
    let mut left = count;
    std::future::poll_fn(|cx| {
        left -= 1;
        cx.waker().wake_by_ref();
        if left == 0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

/// W2
#[test]
fn work_that_kills_is_held_although_its_entitys_other_work_proceeds() {
    let (bomb, log) = (Bomb::default(), Log::default());
    let (runs, ends) = (bomb.clone(), log.clone());
    let toy = adder()
        .own("work", |turn| Next::Commit(Commit { head: Some(turn.body().into()), ..turn.says("") }))
        .lists(|entity, _| text(&entity.head).split_whitespace().map(|id| Work::new(id.to_owned())).collect())
        .runs(move |_, work, _| {
            let (bomb, id) = (runs.clone(), work.id.clone());
            Box::pin(async move {
                if id.as_str() == "bomb" {
                    // The delay lets the remaining work end before the crash.
                    turns(100).await;
                    bomb.explode();
                    std::future::pending::<()>().await;
                }
                done()
            })
        })
        .otherwise(move |turn| {
            let Input::Done { work, outcome, .. } = turn.input else { return settles(turn) };
            let head = text(&turn.entity.expect("only existing entities have work").head);
            let left = head.split(' ').filter(|id| *id != work.as_str());
            let next = work.as_str().strip_prefix("job-").and_then(|number| number.parse::<u64>().ok());
            let next = next.map(|number| if number < 2_000 { format!("job-{}", number + 1) } else { String::new() });
            if next.is_none() {
                ends.say(format!("{work}: {outcome:?}"));
            }
            let left: Vec<_> = left.map(str::to_owned).chain(next).collect();
            Next::Commit(Commit { head: Some(left.join(" ").into()), ..Commit::default() })
        });
    let world = world(toy.alone(), &bomb);
    world.call(add("a", 1)).unwrap();
    let _ = world.ask(call("adder", "a", "work", "bomb job-1"));
    let restarts = restart_until_it_lives(&world);
    assert!(restarts <= 16, "{restarts}");
    assert!(conviction(&world.entity("a").unwrap()).is_some_and(|held| held.work == Some(WorkId::new("bomb"))));
    assert_eq!(log.take().len(), 0);
}

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::*;

fn executor(seed: u64) -> Executor {
    Executor::new(Chance::new(seed), Pace::default())
}

#[test]
fn time_jumps_to_the_next_sleeper() {
    let executor = executor(1);
    let group = executor.group();
    let sleep = executor.sleep(Duration::from_secs(3600));
    executor.spawn(group, "sleeper", Box::pin(sleep));
    assert_eq!(executor.run(100, || false), End::Idle);
    assert_eq!(executor.monotonic(), Duration::from_secs(3600));
}

#[test]
fn a_killed_group_runs_no_further_and_drops_everything() {
    let executor = executor(1);
    let group = executor.group();
    let held = Arc::new(AtomicU32::new(0));
    let task = {
        let (executor, held) = (executor.clone(), held.clone());
        async move {
            held.fetch_add(1, Ordering::Relaxed);
            executor.kill(group);
            executor.sleep(Duration::from_secs(1)).await;
            held.fetch_add(1, Ordering::Relaxed);
        }
    };
    executor.spawn(group, "task", Box::pin(task));
    assert_eq!(executor.run(100, || false), End::Idle);
    assert_eq!((held.load(Ordering::Relaxed), Arc::strong_count(&held)), (1, 1));
    assert!(executor.spawn(group, "late", Box::pin(async {})).is_none());
}

#[test]
fn a_frozen_group_waits() {
    let executor = executor(1);
    let group = executor.group();
    executor.freeze(group, Duration::from_secs(5));
    executor.spawn(group, "task", Box::pin(async {}));
    assert_eq!(executor.run(100, || false), End::Idle);
    assert_eq!(executor.monotonic(), Duration::from_secs(5));
}

#[test]
fn a_wall_clock_jumps_and_the_monotonic_one_does_not() {
    let executor = executor(1);
    let (one, other) = (executor.group(), executor.group());
    executor.jump(one, -1000);
    assert_eq!(executor.wall(other).0 - executor.wall(one).0, 1000);
    assert_eq!(executor.monotonic(), Duration::ZERO);
}

#[test]
fn the_same_seed_takes_the_same_path() {
    let hash = |seed| {
        let executor = executor(seed);
        let group = executor.group();
        for _ in 0..20 {
            let sleep = executor.sleep(Duration::from_millis(executor.random() % 50));
            executor.spawn(group, "sleeper", Box::pin(sleep));
        }
        executor.run(1000, || false);
        executor.hash()
    };
    assert_eq!(hash(3), hash(3));
    assert_ne!(hash(3), hash(4));
}

//! The test kit, tested (X1).

use drystone::{
    Context, Primitives, Services, d, primitive,
    runtime::kernel::Wait,
    testing::{Clock, Fault, Latch, Log, Moment, World, block_on},
};
use serde::{Deserialize, Serialize};

/// Rings every hour, and counts.
#[derive(Default, Serialize, Deserialize)]
struct Bell {
    rung: u32,
}

#[primitive(object)]
impl Bell {
    async fn set(&mut self, cx: &Context) {
        cx.alarm_in(d!("1h"));
        cx.emit("bell.set", &());
    }
    async fn add(&mut self) -> u32 {
        self.rung += 1;
        self.rung
    }
    async fn read(&self) -> u32 {
        self.rung
    }
    async fn slow(&self, clock: &Clock) -> u32 {
        clock.sleep(d!("3s")).await;
        self.rung
    }
    async fn held(&mut self, latch: &Latch, log: &Log) {
        log.say("held");
        latch.clone().wait().await;
        log.say("let go");
    }
    async fn yields(&self, log: &Log) {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        log.say("yielded");
    }
    async fn spins(&self) {
        loop {
            tokio::task::yield_now().await;
        }
    }
    #[alarm]
    async fn rings(&mut self, log: &Log, cx: &Context) -> Result<(), std::io::Error> {
        self.rung += 1;
        log.say(format!("{} rings", cx.key_text()));
        cx.alarm_in(d!("1h"));
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    bell: Bell,
}

#[derive(Services)]
struct Fakes {
    log: Log,
    latch: Latch,
    clock: Clock,
}

async fn world() -> (World<App>, Log) {
    let (world, log, _) = in_a(World::memory()).await;
    (world, log)
}

async fn in_a(setup: drystone::testing::Setup<()>) -> (World<App>, Log, Latch) {
    let (log, latch, clock) = (Log::default(), Latch::default(), setup.clock());
    let fakes = Fakes { log: log.clone(), latch: latch.clone(), clock };
    (setup.services(fakes).start::<App>().await, log, latch)
}

/// X1
#[tokio::test]
async fn time_moves_only_by_advance() {
    let (world, log) = world().await;
    let start = world.now();
    world.client().bell("a").set().await.unwrap();
    world.settle().await;
    assert_eq!((world.now(), log.take()), (start, vec![]));
    world.advance(d!("59m 59s")).await;
    assert_eq!(log.take().len(), 0);
    world.advance(d!("1s")).await;
    assert_eq!((world.now().since(start), log.take()), (d!("1h"), vec!["a rings".to_owned()]));
}

/// X1, A2
#[tokio::test]
async fn a_year_of_alarms_passes_exactly() {
    let (world, log) = world().await;
    world.client().bell("a").set().await.unwrap();
    world.advance(d!("365d")).await;
    assert_eq!(log.take().len(), 365 * 24);
    assert_eq!(world.client().bell("a").read().await.unwrap(), 365 * 24);
}

/// X1: the kernel's own chores cost next to nothing.
#[tokio::test]
async fn ten_years_pass_with_nothing_in_them() {
    let (world, log) = world().await;
    let start = world.now();
    world.advance(d!("3650d")).await;
    assert_eq!((world.now().since(start), log.take()), (d!("3650d"), vec![]));
    assert_eq!(world.client().bell("a").add().await.unwrap(), 1);
}

/// X1
#[tokio::test]
async fn a_crash_before_a_commit_loses_it_and_one_after_does_not() {
    for (moment, kept) in [(Moment::Before, 1), (Moment::After, 2)] {
        let (world, _) = world().await;
        let bell = world.client().bell("a");
        bell.add().await.unwrap();
        world.crash_at_commit(1, moment);
        assert!(bell.add().await.unwrap_err().is_retryable());
        assert!(world.is_dead());
        let report = world.restart().await;
        assert_eq!((report.unclean, world.is_dead()), (1, false));
        assert_eq!(world.client().bell("a").read().await.unwrap(), kept, "{moment:?}");
    }
}

/// X1: every commit of a story, in turn.
#[tokio::test]
async fn an_alarm_rings_on_whatever_commit_the_process_dies_at() {
    let mut deaths = 0;
    for n in 1.. {
        let (world, log) = world().await;
        world.crash_at_commit(n, if n % 2 == 0 { Moment::Before } else { Moment::After });
        let set = world.client().bell("a").set().idempotency_key("set").await;
        world.advance(d!("2h 30m")).await;
        if !world.is_dead() {
            set.unwrap();
            assert_eq!(log.take().len(), 2);
            break;
        }
        deaths += 1;
        world.restart().await;
        world.client().bell("a").set().idempotency_key("set").await.unwrap();
        world.advance(d!("2h 30m")).await;
        assert!(log.take().len() >= 2, "died at {n}");
        assert!(world.client().bell("a").read().await.unwrap() >= 2, "died at {n}");
    }
    assert!(deaths >= 3, "{deaths}");
}

/// X1
#[tokio::test]
async fn a_crash_ends_what_runs_and_a_restart_resumes_it() {
    let (world, log, latch) = in_a(World::memory()).await;
    let bell = world.client().bell("a");
    bell.add().await.unwrap();
    world.client().bell("b").set().await.unwrap();
    let held = tokio::spawn(bell.held().into_future());
    world.settle().await;
    world.crash().await;
    assert!(held.await.unwrap().is_err());
    assert!(bell.read().await.is_err());
    world.advance(d!("3h")).await;
    assert_eq!(log.take(), ["held"]);
    latch.open();
    assert_eq!(world.restart().await.overdue, 1);
    assert_eq!(log.take(), ["b rings"]);
    // A handle asks the process that runs now.
    assert_eq!(bell.read().await.unwrap(), 1);
    world.advance(d!("1h")).await;
    assert_eq!(log.take(), ["b rings"]);
}

/// X1
#[tokio::test]
async fn a_store_that_fails_is_waited_for() {
    let (world, log) = world().await;
    let bell = world.client().bell("a");
    bell.set().await.unwrap();
    world.store_fails(Fault::Down);
    world.advance(d!("90m")).await;
    let (refused, ()) = tokio::join!(bell.add().into_future(), world.advance(d!("1m")));
    assert!(refused.unwrap_err().is_retryable());
    world.store_works();
    world.advance(d!("1m")).await;
    assert_eq!(bell.read().await.unwrap(), 2);
    assert_eq!(log.take().last().unwrap(), "a rings");
}

/// X1
#[tokio::test]
async fn an_answer_that_is_lost_is_found_out() {
    let (world, _) = world().await;
    for fault in [Fault::LostAnswer, Fault::LostCommit] {
        let before = world.client().bell("a").add().await.unwrap();
        world.store_fails(fault);
        let bell = world.client().bell("a");
        let (answer, ()) = tokio::join!(bell.add().into_future(), world.advance(d!("1m")));
        assert_eq!(answer.unwrap(), before + 1);
    }
}

/// X1: It goes with the world.
#[tokio::test]
async fn the_worlds_own_file_survives_a_restart() {
    let (world, log, _) = in_a(World::sqlite()).await;
    world.client().bell("a").set().await.unwrap();
    world.client().bell("a").add().await.unwrap();
    world.crash_at_commit(1, Moment::After);
    assert!(world.client().bell("a").add().await.is_err());
    world.restart().await;
    assert_eq!(world.client().bell("a").read().await.unwrap(), 2);
    world.advance(d!("1d")).await;
    assert_eq!(log.take().len(), 24);
}

/// X1
#[tokio::test]
async fn a_file_that_is_named_stays_for_the_next_world() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let (world, ..) = in_a(World::sqlite_at(&path)).await;
    world.client().bell("a").add().await.unwrap();
    drop(world);
    let (world, ..) = in_a(World::sqlite_at(&path)).await;
    assert_eq!(world.client().bell("a").read().await.unwrap(), 1);
}

/// X1
#[tokio::test]
async fn code_that_hangs_does_not_keep_time_from_passing() {
    let (world, log, latch) = in_a(World::memory()).await;
    world.client().bell("b").set().await.unwrap();
    world.client().bell("a").add().await.unwrap();
    let bell = world.client().bell("a");
    let held = tokio::spawn(bell.held().deadline(d!("1d")).into_future());
    world.advance(d!("90m")).await;
    assert_eq!(log.take(), ["held", "b rings"]);
    assert!(matches!(world.explain("bell", "a").await.unwrap().waits[..], [Wait::Work(_), ..]));
    assert!(!held.is_finished());
    latch.let_one_through();
    held.await.unwrap().unwrap();
    assert_eq!(log.take(), ["let go"]);
}

/// X1
#[tokio::test]
async fn time_does_not_pass_while_code_yields_to_its_runtime() {
    let (world, log) = world().await;
    let bell = world.client().bell("a");
    bell.set().await.unwrap();
    let yields = tokio::spawn(bell.yields().into_future());
    world.advance(d!("1h")).await;
    assert_eq!(log.take(), ["yielded", "a rings"]);
    yields.await.unwrap().unwrap();
}

/// X1
#[tokio::test]
async fn two_worlds_know_nothing_of_each_other() {
    let ((one, one_log), (other, other_log)) = tokio::join!(world(), world());
    let (a, b) = (one.client().bell("a"), other.client().bell("a"));
    let (first, second) = tokio::join!(a.set().into_future(), b.set().into_future());
    first.and(second).unwrap();
    tokio::join!(one.advance(d!("5h")), other.advance(d!("2h")));
    assert_eq!((one_log.take().len(), other_log.take().len()), (5, 2));
    one.crash().await;
    assert_eq!(b.read().await.unwrap(), 2);
    assert_eq!(one.clock().now().since(other.clock().now()), d!("3h"));
}

/// X1: whoever gets an answer while time passes goes on at that time.
#[tokio::test]
async fn calls_are_answered_at_their_time_while_time_passes() {
    let (world, _) = world().await;
    let (bell, start) = (world.client().bell("a"), world.now());
    bell.add().await.unwrap();
    let clock = world.clock();
    let caller = tokio::spawn(async move {
        let mut times = Vec::new();
        for _ in 0..3 {
            bell.slow().await.unwrap();
            times.push(clock.now().since(start).as_secs());
            clock.sleep(d!("1s")).await;
        }
        times
    });
    world.advance(d!("1h")).await;
    assert_eq!(caller.await.unwrap(), [3, 7, 11]);
}

/// X1, A5
#[tokio::test]
async fn a_clock_that_jumps_loses_and_doubles_nothing() {
    let (world, log) = world().await;
    world.client().bell("a").set().await.unwrap();
    world.jump_clock(-7_200_000).await;
    assert_eq!(log.take().len(), 0);
    world.advance(d!("1h")).await;
    assert_eq!(log.take().len(), 1);
    world.jump_clock(10 * 86_400_000).await;
    assert_eq!(log.take().len(), 1);
    world.advance(d!("1h")).await;
    assert_eq!(log.take().len(), 1);
}

/// X1: what an operation costs can be asserted.
#[tokio::test]
async fn commits_are_counted_and_events_written_down() {
    let (world, _) = world().await;
    let before = world.counts();
    world.client().bell("a").set().await.unwrap();
    let spent = world.counts().since(before);
    assert_eq!((spent.commits, spent.applied), (1, 1));
    assert_eq!(world.events().len(), 1);
    assert_eq!(world.events(), []);
    assert_eq!(world.view("bell", "a").await.unwrap().unwrap().name, "bell");
}

/// X1, R2
#[tokio::test]
async fn a_shutdown_takes_the_time_it_takes_and_ends_in_order() {
    let (world, _, latch) = in_a(World::memory()).await;
    world.client().bell("a").add().await.unwrap();
    let held = tokio::spawn(world.client().bell("a").held().into_future());
    world.settle().await;
    world.shutdown(d!("5s")).await.unwrap();
    assert!(held.await.unwrap().is_err() && world.is_dead());
    latch.open();
    assert_eq!(world.restart().await.unclean, 0);
}

/// X1
#[tokio::test]
async fn another_version_goes_on_with_the_same_store() {
    let (world, ..) = in_a(World::memory()).await;
    world.client().bell("a").add().await.unwrap();
    let (log, latch, clock) = (Log::default(), Latch::default(), world.clock());
    let world = world.restart_as::<App, _>(Fakes { log: log.clone(), latch, clock }).await.unwrap();
    assert_eq!(world.client().bell("a").read().await.unwrap(), 1);
    world.client().bell("a").set().await.unwrap();
    world.advance(d!("1h")).await;
    assert_eq!(log.take(), ["a rings"]);
}

/// X1
#[tokio::test]
#[should_panic(expected = "the world spins")]
async fn a_world_that_spins_says_so() {
    let (world, ..) = in_a(World::memory().polls_max(10_000)).await;
    world.client().bell("a").add().await.unwrap();
    let _ = world.client().bell("a").spins().await;
}

/// X1
#[tokio::test]
#[should_panic(expected = "nothing moves")]
async fn a_test_that_would_wait_for_ever_is_told_so() {
    let (world, ..) = in_a(World::memory().patience(d!("20ms"))).await;
    world.client().bell("a").add().await.unwrap();
    let _ = world.client().bell("a").held().await;
}

/// X1: no runtime is needed.
#[test]
fn a_plain_test_blocks() {
    block_on(async {
        let (world, log) = world().await;
        world.client().bell("a").set().await.unwrap();
        world.advance(d!("3h")).await;
        assert_eq!(log.take().len(), 3);
    });
}

/// X1: nothing but the test decides what happens.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_threads_may_ask_one_world() {
    let (world, _) = world().await;
    let calls: Vec<_> = (0..64).map(|_| tokio::spawn(world.client().bell("a").add().into_future())).collect();
    let ticking = world.advance(d!("1d"));
    ticking.await;
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap().unwrap());
    }
    answers.sort_unstable();
    assert_eq!(answers, (1..=64).collect::<Vec<u32>>());
}

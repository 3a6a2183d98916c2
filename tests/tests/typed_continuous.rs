//! Continuous primitives: the times of ticks, the ends of ticking, and the stored state.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Context, Error, Failure, Primitives, Retry, Services, Started, d,
    kinds::continuous::{Standing, Status, Triggered},
    primitive,
    testing::{Clock, Latch, Log, Setup, World},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The services of a test.
#[derive(Clone, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
    clock: Clock,
}

/// The beats of a heart, the number of failures to come, and the length of a beat.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
struct Beat {
    beats: u32,
    failures: u32,
    takes_ms: u64,
    waits: bool,
}

impl Beat {
    async fn once(&mut self, fakes: (&Log, &Latch, &Clock), cx: &Context) -> Result<(), Failure> {
        let (log, latch, clock) = fakes;
        log.say(format!("{} at {}", cx.attempt(), clock.now().as_millis() % 1_000_000));
        if self.waits {
            latch.clone().wait().await;
        }
        clock.sleep(std::time::Duration::from_millis(self.takes_ms)).await;
        self.beats += 1;
        if self.failures > 0 && cx.attempt() <= self.failures {
            return Err("out of step".into());
        }
        Ok(())
    }
}

macro_rules! hearts {
    ($($name:ident($($options:tt)+))+) => {$(
        #[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
        struct $name(Beat);

        #[primitive(continuous, $($options)+)]
        impl $name {
            async fn spare(&mut self) {
                self.0.failures = 0;
            }

            #[tick]
            async fn beat(&mut self, log: &Log, latch: &Latch, clock: &Clock, cx: &Context) -> Result<(), Failure> {
                self.0.once((log, latch, clock), cx).await
            }
        }
    )+};
}

/// Two short delays, followed by longer and longer delays.
const SLOWLY: Retry = Retry::constant(d!("1s")).attempts(2).then(Retry::linear(d!("5s")));
const ATTEMPTS: u64 = 5;

hearts! {
    Heart(every = "10s", retry = "2s")
    Eager(every = "10s", first = "now")
    Patient(after = "10s")
    Stubborn(every = "10s", retry = "2s", on_exhausted = "continue")
    Mortal(every = "10s", retry = "2s", on_exhausted = "destroy")
    Composed(every = "1m", retry = SLOWLY, max_attempts = ATTEMPTS)
    Hasty(every = "10s", retry = "2s", max_attempts = 1, timeout = "3s")
}

/// A primitive that cannot make its state, because the token comes from outside.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Token {
    access: String,
}

#[primitive(continuous, every = "10s", max_attempts = 1)]
impl Token {
    #[tick]
    async fn refresh(&mut self) -> Result<(), Failure> {
        if self.access.is_empty() { Err("no token".into()) } else { Ok(()) }
    }
}

/// Makes its state by `#[init]`.
#[derive(Serialize, Deserialize)]
struct Counter(u32);

#[primitive(continuous, every = "1h")]
impl Counter {
    #[init]
    async fn seven(log: &Log) -> Self {
        log.say("init");
        Self(7)
    }

    #[tick]
    async fn count(&mut self) -> Result<(), Failure> {
        self.0 += 1;
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    token: Token,
    counter: Counter,
    heart: Heart,
    eager: Eager,
    patient: Patient,
    stubborn: Stubborn,
    mortal: Mortal,
    composed: Composed,
    hasty: Hasty,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes { log: Log::default(), latch: Latch::default(), clock: setup.clock() };
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// The attempt and the time, in seconds since the start of the world, of every new execution.
fn runs(fakes: &Fakes) -> Vec<(u32, u32)> {
    let read = |line: String| {
        let (attempt, at) = line.split_once(" at ").unwrap();
        (attempt.parse().unwrap(), at.parse::<u32>().unwrap() / 1_000)
    };
    fakes.log.take().into_iter().map(read).collect()
}

fn slow(seconds: u64) -> Beat {
    Beat { takes_ms: seconds * 1_000, ..Beat::default() }
}

fn failing(failures: u32) -> Beat {
    Beat { failures, ..Beat::default() }
}

fn waiting() -> Beat {
    Beat { waits: true, ..Beat::default() }
}

async fn heart(world: &World<App>) -> Status {
    world.client().heart("a").status().await.unwrap().unwrap()
}

/// C1, C2
#[tokio::test]
async fn a_fixed_rate_keeps_its_grid_and_counts_the_points_it_skips() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        assert_eq!(world.client().heart("a").start_with(Heart(slow(25))).await.unwrap(), Started::Started);
        world.advance(d!("99s")).await;
        assert_eq!(runs(&fakes), [(1, 10), (1, 40), (1, 70)]);
        let status = heart(&world).await;
        assert_eq!((status.run_count, status.skipped), (3, 6));
    }
}

/// C1
#[tokio::test]
async fn a_fixed_delay_is_counted_from_the_end_of_a_tick() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().patient("a").start_with(Patient(slow(25))).await.unwrap();
        world.advance(d!("100s")).await;
        assert_eq!(runs(&fakes), [(1, 10), (1, 45), (1, 80)]);
        let status = world.client().patient("a").status().await.unwrap().unwrap();
        assert_eq!((status.run_count, status.skipped), (2, 0));
    }
}

/// C2
#[tokio::test]
async fn the_first_tick_is_after_one_interval_or_at_once() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().eager("a").start().await.unwrap();
        assert_eq!(runs(&fakes), [(1, 0)]);
        world.client().heart("b").start().await.unwrap();
        world.advance(d!("9999ms")).await;
        assert_eq!(runs(&fakes), []);
        world.advance(d!("1ms")).await;
        assert_eq!(runs(&fakes), [(1, 10), (1, 10)]);
    }
}

/// C2
#[tokio::test]
async fn start_never_overwrites_it_resumes_what_was_stopped_and_replace_sets_the_state() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let heart = world.client().heart("a");
        heart.start().await.unwrap();
        world.advance(d!("10s")).await;
        let before = world.view("heart", "a").await.unwrap();
        assert_eq!(heart.start_with(Heart(failing(9))).await.unwrap(), Started::AlreadyRunning);
        assert_eq!(heart.start().await.unwrap(), Started::AlreadyRunning);
        assert!(!heart.resume().await.unwrap());
        assert_eq!(world.view("heart", "a").await.unwrap(), before);
        assert!(heart.stop().await.unwrap());
        assert!(!heart.stop().await.unwrap());
        let stopped = world.view("heart", "a").await.unwrap();
        let kept = fault(heart.start_with(Heart(failing(9))).await).to_string();
        assert!(kept.contains("`start` is refused") && kept.contains("`replace(state)`"), "{kept}");
        assert_eq!(world.view("heart", "a").await.unwrap(), stopped, "a refused start changes nothing");
        assert_eq!(heart.start().await.unwrap(), Started::Resumed);
        assert_eq!(heart.state().await.unwrap().unwrap().0.beats, 1);
        heart.stop().await.unwrap();
        heart.replace(Heart(Beat { beats: 50, ..Beat::default() })).await.unwrap();
        assert_eq!(heart.status().await.unwrap().unwrap().status, Standing::Stopped);
        heart.start().await.unwrap();
        runs(&fakes);
        world.advance(d!("10s")).await;
        assert_eq!((heart.state().await.unwrap().unwrap().0.beats, runs(&fakes)), (51, vec![(1, 20)]));
    }
}

/// C2
#[tokio::test]
async fn a_failed_entity_refuses_a_state_and_resumes_with_its_own() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let token = world.client().token("t");
        token.start_with(Token { access: String::new() }).await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(token.status().await.unwrap().unwrap().status, Standing::Error);
        let another = Token { access: "another".into() };
        let kept = fault(token.start_with(another.clone()).await);
        assert!(matches!(&kept, Error::KeepsState { status, .. } if status == "error"), "{kept}");
        token.replace(another).await.unwrap();
        assert!(token.resume().await.unwrap());
        assert!(!token.resume().await.unwrap());
        world.advance(d!("10s")).await;
        let status = token.status().await.unwrap().unwrap();
        assert_eq!((status.status, status.run_count), (Standing::Running, 1));
    }
}

/// E1, C2
#[tokio::test]
async fn start_makes_the_state_by_default_or_by_init() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (heart, counter) = (world.client().heart("a"), world.client().counter("c"));
        assert_eq!(heart.start().await.unwrap(), Started::Started);
        assert_eq!(heart.state().await.unwrap().unwrap(), Heart::default());
        let counts = world.counts();
        assert_eq!(counter.start().await.unwrap(), Started::Started);
        assert_eq!((counter.state().await.unwrap().unwrap().0, world.counts().since(counts).applied), (7, 1));
        assert_eq!(fakes.log.take(), ["init"]);
        assert_eq!(counter.start().await.unwrap(), Started::AlreadyRunning);
        counter.stop().await.unwrap();
        assert_eq!(counter.start().await.unwrap(), Started::Resumed);
        assert_eq!(fakes.log.take(), Vec::<String>::new(), "a bound key needs no other state");
    }
}

/// E1, C2
#[tokio::test]
async fn of_two_starts_at_once_one_binds() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let counter = world.client().counter("c");
        let (one, other) =
            tokio::join!(async { counter.start().await.unwrap() }, async { counter.start().await.unwrap() });
        let mut answers = [format!("{one:?}"), format!("{other:?}")];
        answers.sort();
        assert_eq!(answers, ["AlreadyRunning", "Started"]);
        assert!(!fakes.log.take().is_empty());
    }
}

/// E1, C3
#[tokio::test]
async fn trigger_binds_a_key_where_a_state_can_be_made() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        assert_eq!(world.client().heart("a").trigger().await.unwrap(), Triggered::Now);
        world.settle().await;
        assert_eq!(runs(&fakes), [(1, 0)]);
        world.advance(d!("10s")).await;
        assert_eq!(runs(&fakes), [(1, 10)], "it is started, and keeps to its schedule");
        assert_eq!(world.client().counter("c").trigger().await.unwrap(), Triggered::Now);
        world.settle().await;
        assert_eq!(world.client().counter("c").state().await.unwrap().unwrap().0, 8);
        assert!(matches!(fault(world.client().token("t").trigger().await), Error::NotBound { .. }));
        assert!(matches!(fault(world.client().token("t").resume().await), Error::NotBound { .. }));
        assert!(matches!(fault(world.client().heart("b").stop().await), Error::NotBound { .. }));
    }
}

/// E9, C2
#[tokio::test]
async fn an_untyped_start_takes_a_state_or_none() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let state = json!([{ "access": "given" }]);
        let refused = world.call("token", "t", "start", json!([])).await.unwrap_err().to_string();
        assert!(refused.contains("give `start` the state"), "{refused}");
        assert_eq!(world.call("token", "t", "start", state.clone()).await.unwrap(), "Started");
        assert_eq!(world.call("token", "t", "start", json!([])).await.unwrap(), "AlreadyRunning");
        world.call("token", "t", "stop", json!([])).await.unwrap();
        assert!(matches!(world.call("token", "t", "start", state).await, Err(Error::KeepsState { .. })));
        assert_eq!(world.call("token", "t", "start", json!([])).await.unwrap(), "Resumed");
        assert!(world.call("heart", "h", "start", json!([1, 2])).await.is_err());
        assert_eq!(world.call("heart", "h", "start", json!([])).await.unwrap(), "Started");
    }
}

/// C2, C3, E3
#[tokio::test]
async fn stop_is_answered_while_a_tick_runs_which_ends_and_is_kept_and_replace_waits_for_it() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let heart = world.client().heart("a");
        heart.start_with(Heart(waiting())).await.unwrap();
        world.advance(d!("10s")).await;
        assert!(heart.stop().await.unwrap());
        assert_eq!(heart.status().await.unwrap().unwrap().status, Standing::Stopped);
        assert_eq!(heart.state().await.unwrap().unwrap().0.beats, 0);
        let (replaced, ()) = tokio::join!(heart.replace(Heart(Beat { beats: 7, ..Beat::default() })), async {
            world.settle().await;
            assert_eq!(heart.status().await.unwrap().unwrap().run_count, 0);
            fakes.latch.open();
        });
        replaced.unwrap();
        world.advance(d!("1h")).await;
        let status = heart.status().await.unwrap().unwrap();
        assert_eq!((status.status, status.run_count, status.next_run_at), (Standing::Stopped, 1, None));
        assert_eq!((heart.state().await.unwrap().unwrap().0.beats, runs(&fakes)), (7, vec![(1, 10)]));
    }
}

/// C3
#[tokio::test]
async fn trigger_runs_at_once_or_once_more_after_a_tick_in_flight_and_once_when_stopped() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let heart = world.client().heart("a");
        heart.start_with(Heart(waiting())).await.unwrap();
        world.advance(d!("3s")).await;
        assert_eq!(heart.trigger().await.unwrap(), Triggered::Now);
        for _ in 0..3 {
            assert_eq!(heart.trigger().await.unwrap(), Triggered::Next);
        }
        assert_eq!(runs(&fakes), [(1, 3)]);
        fakes.latch.open();
        world.settle().await;
        assert_eq!(runs(&fakes), [(1, 3)]);
        world.advance(d!("7s")).await;
        assert_eq!(runs(&fakes), [(1, 10)]);
        heart.stop().await.unwrap();
        heart.trigger().await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(runs(&fakes), [(1, 10)]);
        let status = heart.status().await.unwrap().unwrap();
        assert_eq!((status.status, status.run_count), (Standing::Stopped, 4));
    }
}

/// C4, C5
#[tokio::test]
async fn attempts_are_counted_in_all_and_the_last_failure_stops_it_with_its_state_kept() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let client = world.client().heart("a");
        client.start_with(Heart(failing(9))).await.unwrap();
        world.advance(d!("11s")).await;
        let once = heart(&world).await;
        assert_eq!((once.status, once.consecutive_failures, once.run_count), (Standing::Running, 1, 0));
        assert_eq!(once.next_run_at.unwrap().since(once.last_run_at.unwrap()), d!("2s"));
        world.advance(d!("1h")).await;
        assert_eq!(runs(&fakes), [(1, 10), (2, 12), (3, 14)]);
        let status = heart(&world).await;
        assert_eq!((status.status, status.consecutive_failures, status.next_run_at), (Standing::Error, 3, None));
        assert_eq!(status.errors.len(), 3);
        assert_eq!((status.errors[2].error.message(), Some(status.errors[2].at)), ("out of step", status.last_run_at));
        assert_eq!(client.state().await.unwrap().unwrap(), Heart(failing(9)));
        let view = world.view("heart", "a").await.unwrap().unwrap();
        assert_eq!((view.meta.status.as_str(), view.meta.is_failing, view.meta.alarm), ("error", true, None));
        assert_eq!(client.start().await.unwrap(), Started::Resumed);
        let resumed = heart(&world).await;
        assert_eq!((resumed.consecutive_failures, resumed.errors.len()), (0, 0));
    }
}

/// C5
#[tokio::test]
async fn the_pauses_of_a_composed_plan_come_one_after_the_other_up_to_max_attempts() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().composed("a").start_with(Composed(failing(9))).await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(runs(&fakes), [(1, 60), (2, 61), (3, 62), (4, 67), (5, 77)]);
        let status = world.client().composed("a").status().await.unwrap().unwrap();
        assert_eq!((status.status, status.consecutive_failures), (Standing::Error, 5));
    }
}

/// C5
#[tokio::test]
async fn a_success_resets_the_count_of_failures() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().heart("a").start_with(Heart(failing(2))).await.unwrap();
        world.advance(d!("25s")).await;
        assert_eq!(runs(&fakes), [(1, 10), (2, 12), (3, 14), (1, 20), (2, 22), (3, 24)]);
        let status = heart(&world).await;
        assert_eq!((status.status, status.consecutive_failures, status.run_count), (Standing::Running, 0, 2));
        assert_eq!(world.client().heart("a").state().await.unwrap().unwrap().0.beats, 2);
    }
}

/// C5, A3
#[tokio::test]
async fn exhausted_it_goes_on_or_is_destroyed_with_a_letter_of_its_last_state() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let client = world.client();
        client.stubborn("s").start_with(Stubborn(failing(9))).await.unwrap();
        world.advance(d!("30s")).await;
        assert_eq!(runs(&fakes), [(1, 10), (2, 12), (3, 14), (1, 20), (2, 22), (3, 24), (1, 30)]);
        client.stubborn("s").destroy().await.unwrap();
        client.mortal("m").start_with(Mortal(failing(9))).await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!((client.mortal("m").state().await.unwrap(), world.view("mortal", "m").await.unwrap()), (None, None));
        let letters = world.dead_letters().list(Default::default()).await.unwrap().letters;
        assert_eq!(letters.len(), 1);
        let letter = world.dead_letters().get(letters[0].id).await.unwrap();
        assert_eq!((letter.letter.definition.as_str(), letter.letter.key.as_str()), ("mortal", "m"));
        let state = serde_json::to_value(Mortal(failing(9))).unwrap();
        assert_eq!(letter.payload, drystone::dead_letters::Payload::State(state));
        assert_eq!(client.mortal("m").start().await.unwrap(), Started::Started);
    }
}

/// C5, E6
#[tokio::test]
async fn a_tick_that_hangs_ends_with_its_timeout_and_one_attempt_is_one_execution() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let hasty = world.client().hasty("a");
        hasty.start_with(Hasty(waiting())).await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(runs(&fakes), [(1, 10)]);
        let status = hasty.status().await.unwrap().unwrap();
        assert_eq!((status.status, status.consecutive_failures), (Standing::Error, 1));
        assert!(status.errors[0].error.message().contains("timeout"), "{status:?}");
    }
}

/// C6
#[tokio::test]
async fn there_are_never_two_ticks_of_one_entity_at_once() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let heart = world.client().heart("a");
        heart.start_with(Heart(waiting())).await.unwrap();
        world.advance(d!("1h")).await;
        heart.stop().await.unwrap();
        heart.start().await.unwrap();
        heart.trigger().await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(runs(&fakes).len(), 1);
        fakes.latch.open();
        world.settle().await;
        assert_eq!((runs(&fakes).len(), heart.status().await.unwrap().unwrap().run_count), (1, 2));
    }
}

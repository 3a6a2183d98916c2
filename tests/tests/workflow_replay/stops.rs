//! A run whose code panics or does not fit stops until other code comes (W7).

use super::*;

/// L1
#[tokio::test]
async fn a_panic_of_the_body_stops_the_run_until_other_code_comes() {
    let (world, fakes) = deployed!(panics);
    let run = world.client().order("a");
    run.send(Go).await.unwrap();
    let status = run.status().await.unwrap().unwrap();
    assert_eq!(status.phase, RunPhase::Panicked);
    let Some(Stopped::Panicked { message, .. }) = status.stopped else { panic!("it panicked") };
    assert!(message.contains("not this time"), "{message}");
    assert!(run.resume().await.unwrap(), "it is tried again");
    assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Panicked, "and is as it was");
    let world = world.restart_as::<fixed::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    assert_eq!(world.client().order("a").result().await.unwrap(), 110);
}

version!(panics_behind, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    assert_eq!(charged, 0, "not this time");
    flow.ship(charged).await
});
version!(sleeps, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    flow.sleep("24h").await;
    flow.ship(charged).await
});

/// H1, L1
#[tokio::test]
async fn a_sleep_behind_a_stop_begins_when_the_run_reaches_it() {
    let fakes = Fakes::default();
    let world = World::sqlite().services(fakes.clone()).start::<panics_behind::App>().await;
    world.client().order("a").start(7).await.unwrap();
    world.client().order("a").send(Go).await.unwrap();
    assert_eq!(world.client().order("a").status().await.unwrap().unwrap().phase, RunPhase::Panicked);
    world.advance(d!("7d")).await;
    fakes.log.take();
    let world = world.restart_as::<sleeps::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("23h")).await;
    let status = world.client().order("a").status().await.unwrap().unwrap();
    assert_eq!((status.phase, status.waits_for[0].operation.as_str()), (RunPhase::Suspended, "sleep#1"));
    assert!(fakes.log.take().is_empty());
    world.advance(d!("1h")).await;
    assert_eq!(fakes.log.take(), ["ship 8"]);
}

version!(hasty, flow, total, {
    let _ = (flow, total);
    panic!("at once")
});

/// L1
#[tokio::test]
async fn a_run_that_panics_at_its_start_resumes_with_other_code() {
    let fakes = Fakes::default();
    let world = World::memory().services(fakes.clone()).start::<hasty::App>().await;
    world.client().order("a").start(1).await.unwrap();
    assert_eq!(world.client().order("a").status().await.unwrap().unwrap().phase, RunPhase::Panicked);
    assert!(world.client().order("a").state().await.unwrap().is_some());
    let world = world.restart_as::<first::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    assert_eq!(fakes.log.take(), ["reserve 1", "charge 1"]);
}

version!(endless, flow, total, {
    flow.run("fetch", std::future::pending::<()>()).await;
    Ok(total)
});

/// W4
#[tokio::test]
async fn code_of_the_body_that_cannot_start_again_stops_the_run() {
    let fakes = Fakes::default();
    let world = World::memory().services(fakes.clone()).start::<endless::App>().await;
    world.client().order("a").start(1).await.unwrap();
    let world = world.restart_as::<first::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    let status = world.client().order("a").status().await.unwrap().unwrap();
    assert_eq!(diverged(status.stopped).expected, "`run:fetch#1`");
    assert!(fakes.log.take().is_empty());
}

/// A workflow whose step takes another type, and fails until its app is started again.
macro_rules! taking {
    ($module:ident, $type:ty, $value:expr) => {
        mod $module {
            use super::*;

            #[derive(Default, Serialize, Deserialize)]
            pub(super) struct Order;

            #[workflow]
            impl Order {
                async fn run(flow: &Flow<Self>) -> Result<String, Failure> {
                    flow.ship($value).await
                }

                #[step(max_attempts = 2, backoff = "1d")]
                async fn ship(what: $type, cx: &drystone::Context) -> Result<String, Failure> {
                    if cx.attempt() == 1 { Err("not yet".into()) } else { Ok(what.to_string()) }
                }
            }

            #[derive(Primitives)]
            pub(super) struct App {
                order: Order,
            }
        }
    };
}

taking!(narrow, String, "seven".to_owned());
taking!(wide, u32, 7);

/// W4: It does not fail the run.
#[tokio::test]
async fn a_step_whose_input_type_changed_stops_the_run() {
    let fakes = Fakes::default();
    let world = World::memory().services(fakes.clone()).start::<narrow::App>().await;
    world.client().order("a").start().await.unwrap();
    world.crash().await;
    let world = world.restart_as::<wide::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    let status = world.client().order("a").status().await.unwrap().unwrap();
    assert_eq!(status.phase, RunPhase::Diverged);
    let world = world.restart_as::<narrow::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    assert_eq!(world.client().order("a").result().await.unwrap(), "seven", "with code that fits it goes on");
}

/// A workflow that changes the state and panics at the next entry, in the same turn.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Fragile {
    at: u32,
}

#[workflow(events(Go))]
impl Fragile {
    async fn run(flow: &Flow<Self>, waits: bool) {
        flow.update(|fragile| fragile.at = 1);
        if waits {
            flow.wait_for::<Go>().await;
            flow.update(|fragile| fragile.at = 2);
        }
        flow.sleep_until(drystone::Timestamp::from_millis(0)).await;
        panic!("not this time");
    }
}

#[derive(Primitives)]
struct Glass {
    fragile: Fragile,
}

/// L1, E7
#[tokio::test]
async fn a_state_change_before_a_panic_of_the_turn_is_kept() {
    let world = World::sqlite().start::<Glass>().await;
    for (key, waits, at) in [("a", false, 1), ("b", true, 2)] {
        let run = world.client().fragile(key);
        run.start(waits).await.unwrap();
        if waits {
            run.send(Go).await.unwrap();
        }
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Panicked);
        assert_eq!(run.state().await.unwrap(), Some(Fragile { at }));
    }
}

/// Whether a dependency of the runs below is broken. The code of the runs is the same before and after.
static BROKEN: AtomicBool = AtomicBool::new(true);

/// Panics or diverges because of a dependency.
#[derive(Default, Serialize, Deserialize)]
struct Dependent;

#[workflow(events(Go))]
impl Dependent {
    async fn run(flow: &Flow<Self>, panics: bool) -> u32 {
        if !panics && BROKEN.load(Ordering::Relaxed) {
            flow.sleep("1s").await;
        }
        let one = flow.one().await;
        flow.wait_for::<Go>().await;
        assert!(!panics || !BROKEN.load(Ordering::Relaxed), "what it uses is broken");
        one
    }

    #[step]
    async fn one() -> u32 {
        1
    }
}

#[derive(Primitives)]
struct Together {
    dependent: Dependent,
}

/// L1, W4
#[tokio::test]
async fn a_stopped_run_is_retried_after_a_minute_and_then_hourly() {
    let world = World::sqlite().start::<Together>().await;
    let stopped = [("panics", true, RunPhase::Panicked), ("diverges", false, RunPhase::Diverged)];
    BROKEN.store(false, Ordering::Relaxed);
    for (key, panics, _) in stopped {
        world.client().dependent(key).start(panics).await.unwrap();
    }
    BROKEN.store(true, Ordering::Relaxed);
    world.restart().await;
    for (key, ..) in stopped {
        world.client().dependent(key).send(Go).await.unwrap();
    }
    // The pauses are one, two and four minutes and so on, and one hour in the end.
    for pause in [d!("0s"), d!("1m"), d!("2m"), d!("1d")] {
        world.advance(pause).await;
        for (key, _, phase) in stopped {
            assert_eq!(world.client().dependent(key).status().await.unwrap().unwrap().phase, phase, "{key}");
        }
    }
    BROKEN.store(false, Ordering::Relaxed);
    world.advance(d!("1h")).await;
    for (key, ..) in stopped {
        assert_eq!(world.client().dependent(key).result().await.unwrap(), 1, "{key}");
    }
    let told = world.events();
    for name in ["workflow.panicked", "workflow.diverged"] {
        assert_eq!(told.iter().filter(|event| event.lifecycle.name.as_str() == name).count(), 1, "{name} is told once");
    }
}

//! Steps and bodies that kill the process (C).

use super::*;

#[derive(Primitives)]
struct App {
    job: Job,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// Lets the process die whenever the guilty step runs, until it has lived for an hour. Returns the log.
async fn die_while_guilty(world: &World<App>, log: &Log) -> Vec<String> {
    let mut said = Vec::new();
    let mut lived_s = 0;
    while lived_s < 3_600 {
        world.advance(d!("10s")).await;
        lived_s += 10;
        let new = log.take();
        let is_fatal = new.iter().any(|line| line == "guilty");
        said.extend(new);
        if is_fatal {
            lived_s = 0;
            world.restart().await;
        }
    }
    said
}

/// W2, R6: The run keeps all it has, until it is resumed.
#[tokio::test]
async fn a_step_that_kills_the_process_each_time_holds_its_run() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let keys: Vec<String> = (1..20).map(|number| format!("i{number}")).chain(["guilty".to_owned()]).collect();
        for key in &keys {
            world.client().job(key).start(key.clone()).await.unwrap();
        }
        fakes.doors.others.open();
        let said = die_while_guilty(&world, &fakes.log).await;
        assert_eq!(said.iter().filter(|line| *line == "guilty").count(), 9, "eight deaths are forgiven: {said:?}");
        for key in &keys[..19] {
            let result = world.client().job(key).result().await.unwrap();
            assert_eq!(result, format!("{key}: worked, and again"));
        }
        let guilty = world.client().job("guilty");
        assert!(matches!(guilty.try_result().await, Err(CallError::Fault(Error::Parked { .. }))));
        let failing = world.entities().failing().await.unwrap().entities;
        assert_eq!(failing.iter().map(|entity| entity.key.as_str()).collect::<Vec<_>>(), ["guilty"]);
        let explained = world.explain("job", "guilty").await.unwrap().to_string();
        assert!(explained.contains("work#1` is suspected of killing the process, which died 9 times"), "{explained}");
        assert!(!said.iter().any(|line| line.contains("unbooked")), "nothing is undone: {said:?}");
        assert!(world.dead_letters().list(Default::default()).await.unwrap().letters.is_empty());
        fakes.doors.guilty.open();
        assert!(guilty.resume().await.unwrap());
        world.settle().await;
        assert_eq!(guilty.result().await.unwrap(), "guilty: worked, and again");
    }
}

/// W2
#[tokio::test]
async fn runs_that_were_merely_there_succeed_however_often_the_process_dies() {
    for (deaths, apart_s) in [(6, 1), (12, 30), (60, 1), (60, 10), (60, 59), (60, 61), (120, 1)] {
        let (world, fakes) = started(World::memory()).await;
        let keys: Vec<String> = (0..20).map(|number| format!("i{number}")).collect();
        for key in &keys {
            world.client().job(key).start(key.clone()).await.unwrap();
        }
        for _ in 0..deaths {
            world.advance(std::time::Duration::from_secs(apart_s)).await;
            world.restart().await;
        }
        fakes.doors.others.open();
        world.advance(d!("1h")).await;
        for key in &keys {
            let result = world.client().job(key).result().await.unwrap();
            assert_eq!(result, format!("{key}: worked, and again"), "{deaths} deaths, {apart_s} s apart");
        }
        assert!(world.entities().failing().await.unwrap().entities.is_empty());
        assert!(world.dead_letters().list(Default::default()).await.unwrap().letters.is_empty());
    }
}

thread_local! {
    /// The means to kill the process of this test.
    static BOMB: RefCell<Option<Executor>> = const { RefCell::new(None) };
}

/// A workflow whose body kills the process after a minute if the run is guilty.
#[derive(Default, Serialize, Deserialize)]
struct Deadly;

#[workflow]
impl Deadly {
    async fn run(flow: &Flow<Self>, is_guilty: bool) -> u32 {
        flow.sleep("1m").await;
        if is_guilty {
            BOMB.with_borrow(|bomb| bomb.as_ref().unwrap().kill_current());
        }
        7
    }
}

#[derive(Primitives)]
struct Mine {
    deadly: Deadly,
}

/// W2: Others continue.
#[test]
fn a_body_that_kills_the_process_each_time_is_held() {
    let world = world::World::of(testing::registry_with_shared_keys::<(), Mine>(()).unwrap());
    BOMB.set(Some(world.executor.clone()));
    for (key, is_guilty) in [("guilty", true), ("innocent", false)] {
        world.call(call("deadly", key, "start", format!("[{is_guilty}]"))).unwrap();
    }
    world.advance(d!("1m"));
    let mut deaths = 0;
    while world.is_dead() {
        deaths += 1;
        world.restart();
        world.advance(d!("1h"));
    }
    assert_eq!(deaths, 9, "eight are forgiven");
    let parked = world.call(call("deadly", "guilty", "status", "[]")).unwrap_err();
    assert!(matches!(parked, Error::Parked { .. }) && parked.to_string().contains("died 9 times"), "{parked}");
    assert_eq!(world.call(call("deadly", "innocent", "result", "[]")).unwrap(), "7");
}

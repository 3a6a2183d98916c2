//! Starting, stopping and triggering (C).

use super::*;

#[derive(Primitives)]
struct App {
    token: Token,
    counter: Counter,
    heart: Heart,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes { log: Log::default(), latch: Latch::default(), clock: setup.clock() };
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// C2: Replace sets the state.
#[tokio::test]
async fn start_resumes_a_stopped_entity_and_never_overwrites() {
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

/// C2, C3, E3: The tick ends and is kept, and replace waits for it.
#[tokio::test]
async fn stop_is_answered_while_a_tick_runs() {
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

/// C3: On a stopped entity it runs once.
#[tokio::test]
async fn trigger_runs_at_once_or_after_the_tick_in_flight() {
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

//! The outcomes of steps, as they are recorded and replayed (W1, W4).

use super::*;

#[derive(Primitives)]
struct App {
    leaky: Leaky,
    counting: Counting,
    outcomes: Outcomes,
    echo: Echo,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// Ten steps in a row.
#[derive(Default, Serialize, Deserialize)]
struct Counting {
    at: u32,
}

#[workflow]
impl Counting {
    async fn run(flow: &Flow<Self>, to: u32) -> u32 {
        let mut sum = 0;
        for number in 1..=to {
            sum += flow.add(number).await;
            flow.update(|counting| counting.at = number);
        }
        sum
    }

    #[step]
    async fn add(number: u32, log: &Log) -> u32 {
        log.say(format!("add {number}"));
        number
    }

    async fn at(&self) -> u32 {
        self.at
    }
}

/// W1
#[tokio::test]
async fn steps_run_in_order_and_their_results_are_the_runs() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().counting("a");
        run.start(3).await.unwrap();
        assert_eq!(run.result().await.unwrap(), 6);
        assert_eq!(fakes.log.take(), ["add 1", "add 2", "add 3"]);
        assert_eq!(run.at().await.unwrap(), 3);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.entries), (RunPhase::Succeeded, 5));
        let history = run.history().await.unwrap();
        assert_eq!(history.operations().collect::<Vec<_>>(), ["add#1", "add#2", "add#3"]);
    }
}

/// W1
#[tokio::test]
async fn n_steps_are_n_and_one_commits() {
    let (world, _) = started(World::memory()).await;
    let before = world.counts();
    let run = world.client().counting("a");
    run.start(10).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 55);
    assert_eq!(world.counts().since(before).commits, 11);
}

/// A workflow with each kind of outcome.
#[derive(Default, Serialize, Deserialize)]
struct Outcomes;

#[workflow]
impl Outcomes {
    async fn run(flow: &Flow<Self>) -> Result<String, Declined> {
        let nothing: () = flow.nothing().await;
        let none = flow.none().await;
        let declined = flow.declined().await;
        flow.nothing().await;
        Ok(format!("{nothing:?} {none:?} {declined:?}"))
    }

    #[step]
    async fn nothing(log: &Log) {
        log.say("nothing");
    }

    #[step]
    async fn none(log: &Log) -> Option<u32> {
        log.say("none");
        None
    }

    #[step(max_attempts = 1)]
    async fn declined(log: &Log) -> Result<u32, Declined> {
        log.say("declined");
        Err(Declined("no money".into()))
    }
}

/// W1
#[tokio::test]
async fn nothing_none_and_an_error_are_distinct_outcomes_also_after_a_replay() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=6 {
            let (world, fakes) = started(World::sqlite()).await;
            let run = world.client().outcomes("a");
            world.crash_at_commit(n, moment);
            let _ = run.start().idempotency_key("once").await;
            if world.is_dead() {
                world.restart().await;
            }
            let _ = run.start().idempotency_key("once").await;
            let result = run.result().await.unwrap();
            assert_eq!(result, r#"() None Err(Declined("no money"))"#, "death {moment:?} commit {n}");
            let said = fakes.log.take();
            assert!((4..=5).contains(&said.len()), "at most the step in flight is executed again: {said:?}");
        }
    }
}

/// A value that loses a part of itself when it is stored and read.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
struct Lossy {
    kept: u32,
    #[serde(skip)]
    lost: u32,
}

impl Lossy {
    const WHOLE: Self = Self { kept: 1, lost: 1 };

    fn parts(&self) -> (u32, u32) {
        (self.kept, self.lost)
    }
}

/// Reports the visible parts of each value.
#[derive(Default, Serialize, Deserialize)]
struct Leaky;

#[workflow(events(Lossy))]
impl Leaky {
    async fn run(flow: &Flow<Self>, input: Lossy) -> Vec<(u32, u32)> {
        let own = flow.run("own", async { Lossy::WHOLE }).await;
        let ok = flow.pass(Lossy::WHOLE, true).await.unwrap_or(Lossy::WHOLE);
        let error = flow.pass(Lossy::WHOLE, false).await.err().unwrap_or(Lossy::WHOLE);
        let event = flow.wait_for::<Lossy>().await;
        [input, own, ok, error, event].iter().map(Lossy::parts).collect()
    }

    #[step(max_attempts = 1)]
    async fn pass(input: Lossy, is_ok: bool, log: &Log) -> Result<Lossy, Lossy> {
        log.say(format!("{:?}", input.parts()));
        if is_ok { Ok(Lossy::WHOLE) } else { Err(Lossy::WHOLE) }
    }
}

/// W5: Of an input, an outcome or an event.
#[tokio::test]
async fn the_first_execution_sees_no_more_than_a_replay() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().leaky("a");
        run.start(Lossy::WHOLE).await.unwrap();
        run.send(Lossy::WHOLE).await.unwrap();
        assert_eq!(run.result().await.unwrap(), [(1, 0); 5]);
        assert_eq!(fakes.log.take(), ["(1, 0)"; 2]);
        drystone::testing::replay::<Leaky>(&run.history().await.unwrap()).unwrap();
    }
}

/// Returns the input, or fails with the input as the error.
#[derive(Default, Serialize, Deserialize)]
struct Echo {
    text: String,
}

#[workflow]
impl Echo {
    async fn run(flow: &Flow<Self>, text: String) -> Result<(String, Failure), Declined> {
        let (said, caught) = (flow.say(text.clone()).await, flow.fail(text.clone()).await);
        let failure = flow.fall(text.clone()).await.err().unwrap_or_else(|| "it should have failed".into());
        flow.update(|echo| echo.text = said.clone());
        match caught {
            Err(Declined(error)) if error == said => Ok((said, failure)),
            other => Err(Declined(format!("{other:?}"))),
        }
    }

    #[step]
    async fn say(text: String) -> String {
        text
    }

    #[step(max_attempts = 1)]
    async fn fail(text: String) -> Result<(), Declined> {
        Err(Declined(text))
    }

    #[step(max_attempts = 1)]
    async fn fall(text: String) -> Result<(), Failure> {
        Err(Failure::from(text))
    }
}

/// W1, fE1
#[tokio::test]
async fn characters_that_others_stumble_over_come_back_as_they_were() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for (key, text) in [("nul", "a\0b"), ("\0key\0", "\0"), ("ends", "\u{feff}\u{2028}\u{10ffff}\r\n\0")] {
            let run = world.client().echo(key);
            run.start(text.into()).await.unwrap();
            world.restart().await;
            let (said, failure) = run.result().await.unwrap();
            assert_eq!((said.as_str(), failure.message()), (text, text), "{key:?}");
            assert_eq!(run.state().await.unwrap().unwrap().text, text);
            drystone::testing::replay::<Echo>(&run.history().await.unwrap()).unwrap();
        }
    }
}

/// W1
#[tokio::test]
async fn a_step_is_a_plain_function_elsewhere() {
    assert_eq!(Counting::add(4, &Log::default()).await, 4);
}

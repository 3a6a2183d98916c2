//! Values that do not read back, such as a NaN, which JSON writes as `null`: none of them is recorded (W3,
//! W5).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    CallError, Client, Error, Event, Failure, Fault, Flow, Primitives, RunError, Services, Transaction, d, primitive,
    testing::{self, Log, Setup, World},
    workflow,
    workflow::{Cause, RunPhase, SendError},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Event)]
struct Reading(f64);

#[derive(Debug, Serialize, Deserialize)]
struct Broken {
    at: f64,
}

/// A field that is written but cannot be read back, without a NaN.
#[derive(Debug, Default, Serialize, Deserialize)]
struct OneWay {
    #[serde(skip_serializing)]
    lost: u32,
}

/// Uses a NaN as its input says, catches the fault, waits for a reading, and returns what became of the
/// NaN.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Meter {
    level: f64,
}

#[workflow(events(Reading))]
impl Meter {
    async fn run(flow: &Flow<Self>, what: String, scales: &Client<Scale>, children: &Client<Child>) -> String {
        let seen = match what.as_str() {
            "given" => text(flow.half(f64::NAN).catch().await),
            "given beside" => text(flow.sum(1.0, f64::INFINITY).catch().await),
            "returned" => text(flow.ratio(0.0).catch().await),
            "failed" => text(flow.breaks().catch().await.map(|broken| broken.map_err(|error| error.at).is_err())),
            "one way" => text(flow.one_way().catch().await.map(|lost| lost.lost)),
            "run" => text(flow.run("code", async { f64::NAN }).catch().await),
            "try_run" => {
                let code = async { Err::<u32, _>(Broken { at: f64::NAN }) };
                text(flow.try_run("code", code).catch().await.map(|broken| broken.is_err()))
            }
            "undone" => text(flow.hold(f64::NAN).catch().await),
            "call given" => text(flow.call(scales.get("s").weigh(f64::NAN)).catch().await),
            "call returned" => text(flow.call(scales.get("s").tare()).catch().await),
            "child given" => format!("{:?}", flow.child(children.get("c").execute(f64::NAN)).await.unwrap_err()),
            "child returned" => format!("{:?}", flow.child(children.get("c").execute(0.0)).await.unwrap_err()),
            "nothing" => String::new(),
            other => panic!("{other}"),
        };
        flow.wait_for::<Reading>().await;
        seen
    }

    #[step]
    async fn half(of: f64, log: &Log) -> f64 {
        log.say("half");
        of / 2.0
    }

    #[step]
    async fn sum(one: f64, other: f64) -> f64 {
        one + other
    }

    #[step]
    async fn ratio(of: f64) -> f64 {
        of / 0.0
    }

    #[step(max_attempts = 1)]
    async fn breaks() -> Result<u32, Broken> {
        Err(Broken { at: f64::NAN })
    }

    #[step]
    async fn one_way() -> OneWay {
        OneWay { lost: 1 }
    }

    #[step(undo = release)]
    async fn hold(cents: f64) -> f64 {
        cents
    }

    #[step]
    async fn release(_cents: f64, _held: Option<f64>, log: &Log) {
        log.say("release");
    }

    async fn set(&mut self, level: f64) -> f64 {
        self.level = level;
        level / 2.0
    }

    async fn halve_nothing(&mut self) -> f64 {
        self.level = 7.0;
        f64::NAN
    }

    async fn spoil(&mut self) {
        self.level = f64::NAN;
    }

    async fn level(&self) -> f64 {
        self.level
    }
}

fn text<T: std::fmt::Debug>(ended: Result<T, Fault>) -> String {
    match ended {
        Ok(value) => format!("{value:?}"),
        Err(fault) => fault.to_string(),
    }
}

/// A child that returns a NaN if its input is zero.
#[derive(Default, Serialize, Deserialize)]
struct Child;

#[workflow]
impl Child {
    async fn run(_flow: &Flow<Self>, of: f64) -> f64 {
        of / 0.0
    }
}

/// Does not catch the fault of its step, or stores a NaN in its state, or continues with a NaN.
#[derive(Default, Serialize, Deserialize)]
struct Careless {
    level: f64,
}

#[workflow]
impl Careless {
    async fn run(flow: &Flow<Self>, what: String, level: f64) -> Result<f64, Failure> {
        match what.as_str() {
            "step" => Ok(flow.ratio(level).await),
            "state" => {
                flow.update(|careless| careless.level = f64::NAN);
                flow.sleep("1h").await;
                Ok(level)
            }
            "continue" => flow.continue_as("step".into(), f64::NAN).await,
            _ => Err("no such thing".into()),
        }
    }

    #[step]
    async fn ratio(of: f64) -> f64 {
        of / 0.0
    }

    async fn level(&self) -> f64 {
        self.level
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Scale;

#[primitive(object)]
impl Scale {
    async fn weigh(&mut self, grams: f64) -> f64 {
        grams
    }

    async fn tare(&mut self) -> f64 {
        f64::NAN
    }
}

#[derive(Primitives)]
struct App {
    meter: Meter,
    careless: Careless,
    child: Child,
    scale: Scale,
}

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

async fn started(setup: Setup<()>) -> (World<App>, Log) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes.log)
}

/// W3, W5: the body catches the fault, and sees the same fault in every replay.
#[tokio::test]
async fn a_step_with_values_that_do_not_read_back_is_unrecordable() {
    let cases = [
        ("given", "`half#1` cannot be recorded: its input: it cannot be read back"),
        ("given beside", "`sum#1` cannot be recorded: its input: it cannot be read back"),
        ("returned", "`ratio#1` cannot be recorded: what it returned: it cannot be read back"),
        ("failed", "`breaks#1` cannot be recorded: what it returned: it cannot be read back"),
        ("one way", "`one_way#1` cannot be recorded: what it returned: it cannot be read back: missing field `lost`"),
        ("run", "`run:code#1` cannot be recorded: what it returned: it cannot be read back"),
        ("try_run", "`run:code#1` cannot be recorded: what it returned: it cannot be read back"),
        ("undone", "`hold#1` cannot be recorded: its input: it cannot be read back"),
        ("call given", "`call:weigh#1` cannot be recorded: "),
        ("call returned", "`call:tare#1` cannot be recorded: "),
        ("child given", "Fault(Fault { step: \"run\", cause: Refused { reason: "),
        ("child returned", "Fault(Fault { step: \"run\", cause: Refused { reason: "),
    ];
    for setup in both() {
        let (world, log) = started(setup).await;
        for (what, expected) in cases {
            println!("{what}");
            let run = world.client().meter(what);
            run.start(what.into()).await.unwrap();
            world.settle().await;
            assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended, "{what}");
            // A replay gets the same result.
            world.restart().await;
            run.send(Reading(1.0)).await.unwrap();
            let seen = run.result().await.unwrap();
            assert!(seen.starts_with(expected), "{what}: {seen}");
            let is_ours = !what.starts_with("call") && !what.starts_with("child given");
            assert_eq!(seen.contains("NaN"), is_ours && what != "one way" || what.ends_with("returned"), "{seen}");
            testing::replay::<Meter>(&run.history().await.unwrap()).unwrap();
        }
        assert_eq!(log.take(), Vec::<String>::new(), "what it cannot read, a step does not run; nor its undo");
    }
}

/// W3, L5: without a catch the run fails; it does not stop forever with advice about changed types.
#[tokio::test]
async fn a_run_that_catches_nothing_fails_with_the_fault() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for (what, step) in [("step", "ratio#1"), ("continue", "continue_as"), ("state", "run")] {
            let run = world.client().careless(what);
            run.start(what.into(), 0.0).await.unwrap();
            let ended = run.result().await.unwrap_err().failed().unwrap();
            let RunError::Fault(Fault { step: of, cause: Cause::Refused { reason } }) = ended else {
                panic!("{what}: {ended:?}")
            };
            assert!(of == step && reason.contains("cannot be read back"), "{what}: {of}: {reason}");
            assert_eq!(run.status().await.unwrap().unwrap().generation, 1);
            assert_eq!(run.level().await.unwrap().to_bits(), 0, "the state is as it was");
        }
    }
}

/// W3, V3, L8: a value from outside that does not read back is refused and changes nothing.
#[tokio::test]
async fn what_comes_from_outside_and_does_not_read_back_is_refused() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().meter("m");
        assert!(matches!(fault(world.client().child("c").start(f64::NAN).await), Error::Malformed { .. }));
        assert_eq!(world.client().child("c").status().await.unwrap(), None);
        run.start("nothing".into()).await.unwrap();
        world.settle().await;
        let before = run.view().await.unwrap();
        let sent = run.send(Reading(f64::NAN)).await.unwrap_err();
        assert!(matches!(sent, CallError::Failed(SendError::Malformed { .. })), "{sent:?}");
        assert!(matches!(fault(run.set(f64::NAN).await), Error::Malformed { .. }));
        let answer = fault(run.halve_nothing().await);
        assert!(answer.to_string().contains("cannot be read back"), "{answer}");
        let state = fault(run.spoil().await);
        assert!(state.to_string().contains("the state it leaves"), "{state}");
        assert_eq!(run.view().await.unwrap(), before);
        assert_eq!(run.set(4.0).await.unwrap().to_bits(), 2.0_f64.to_bits());
        assert_eq!(run.level().await.unwrap().to_bits(), 4.0_f64.to_bits());
        run.send(Reading(1.0)).await.unwrap();
        run.result().await.unwrap();
    }
}

/// E10: an action whose answer does not read back is refused and changes nothing.
#[tokio::test]
async fn an_action_that_answers_what_does_not_read_back_is_refused() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let refused = fault(world.client().scale("s").tare().await);
        assert!(refused.to_string().contains("cannot be read back"), "{refused}");
        assert_eq!(world.view("scale", "s").await.unwrap(), None);
    }
}

/// Books a NaN.
#[derive(Default, Serialize, Deserialize)]
struct Ledger;

#[workflow]
impl Ledger {
    async fn run(flow: &Flow<Self>, of: f64) -> (String, String) {
        (text(flow.book(f64::NAN).catch().await), text(flow.book(of).catch().await))
    }

    #[step(transaction)]
    fn book(of: f64, sql: &mut Transaction<'_>) -> Result<f64, Failure> {
        sql.execute("INSERT INTO booked VALUES (?1)", (of,))?;
        Ok(of * f64::NAN)
    }
}

#[derive(Primitives)]
struct Books {
    ledger: Ledger,
}

/// W3, W6: the value could not be recorded, so the transaction is rolled back.
#[tokio::test]
async fn a_transactional_step_whose_value_does_not_read_back_leaves_no_row() {
    let schema = "CREATE TABLE IF NOT EXISTS booked (of REAL)";
    let world = World::sqlite().schema(schema).start::<Books>().await;
    let run = world.client().ledger("l");
    run.start(0.0).await.unwrap();
    world.advance(d!("1m")).await;
    let (given, returned) = run.result().await.unwrap();
    assert!(given.starts_with("`book#1` cannot be recorded: its input: "), "{given}");
    assert!(returned.starts_with("`book#2` cannot be recorded: what it returned: "), "{returned}");
    let rows = world.transaction(|sql| sql.query_one("SELECT count(*) FROM booked", (), |row| row.get::<i64>(0))).await;
    assert_eq!(rows.map_err(|error: CallError<drystone::SqlError>| error.to_string()), Ok(0));
}

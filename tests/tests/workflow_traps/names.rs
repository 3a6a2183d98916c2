//! Strange names of code, and an event behind many others (W1, W4, V2, V8).

use super::*;

#[derive(Primitives)]
struct App {
    namer: Namer,
    cashier: Cashier,
}

/// Names that look like our own, and worse names.
const HOSTILE: [&str; 12] = [
    "",
    "a",
    "a#1",
    "a#1#1",
    "run:a",
    "1.0/run:a",
    "!/tidy#1",
    "sleep",
    "look:1",
    "query:at/1",
    "\0\u{202e}\r\n",
    "'; DROP TABLE row; -- 🜁",
];

/// Runs code under any name, one after another and then all at once.
#[derive(Default, Serialize, Deserialize)]
struct Namer;

#[workflow]
impl Namer {
    async fn run(flow: &Flow<Self>, long: usize) -> Vec<String> {
        let mut said = Vec::new();
        for (index, name) in HOSTILE.iter().enumerate() {
            said.push(flow.run(name, async move { index.to_string() }).await);
        }
        flow.sleep("1h").await;
        said.extend(join_all(HOSTILE.iter().map(|name| flow.run(name, async { (*name).to_owned() }))).await);
        let name = "n".repeat(long);
        said.push(flow.run(&name, async { "long".to_owned() }).await);
        said
    }
}

/// W4, W1
#[tokio::test]
async fn code_of_the_bodys_own_may_have_any_name() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().namer("a");
        run.start(100_000).await.unwrap();
        world.restart().await;
        world.advance(d!("1h")).await;
        let mut expected: Vec<String> = (0..HOSTILE.len()).map(|index| index.to_string()).collect();
        expected.extend(HOSTILE.map(str::to_owned));
        expected.push("long".into());
        assert_eq!(run.result().await.unwrap(), expected);
        let history = run.history().await.unwrap();
        let mut operations: Vec<_> = history.operations().collect();
        operations.sort_unstable();
        operations.dedup();
        assert_eq!(operations.len(), 2 * HOSTILE.len() + 2, "each has an identity of its own");
    }
}

/// An event with a key.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = of)]
struct Paid {
    of: String,
    cents: u32,
}

/// Waits for the payment of a single customer first, then for the payments of all remaining customers.
#[derive(Default, Serialize, Deserialize)]
struct Cashier;

#[workflow(events(Paid))]
impl Cashier {
    async fn run(flow: &Flow<Self>, of: String, others: u32) -> (u32, u32) {
        let paid = flow.wait_for::<Paid>().key(of).await.cents;
        let others = flow.wait_for::<Paid>().times(others).await;
        (paid, others.into_iter().map(|other| other.cents).sum())
    }
}

/// V2, V8: The others stay in order.
#[tokio::test]
async fn a_wait_finds_its_event_behind_many_others() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().cashier("a");
        run.start("anna".into(), 300).await.unwrap();
        for cents in 1..=300 {
            assert!(!run.send(Paid { of: "bob".into(), cents }).await.unwrap().taken);
            if cents == 150 {
                world.restart().await;
            }
        }
        world.restart().await;
        assert!(run.send(Paid { of: "anna".into(), cents: 7 }).await.unwrap().taken);
        assert_eq!(run.result().await.unwrap(), (7, 300 * 301 / 2));
        assert!(run.events().await.unwrap().is_empty());
    }
}

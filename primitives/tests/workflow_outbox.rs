//! Messages of a run that are too many for one commit (K3, M1).

use drystone::{Client, Flow, Primitives, d, primitive, testing::World, workflow};
use serde::{Deserialize, Serialize};

/// Keeps the length of each text, in the order in which the texts came.
#[derive(Default, Serialize, Deserialize)]
struct Ledger {
    lengths: Vec<usize>,
}

#[primitive(object)]
impl Ledger {
    async fn add(&mut self, text: String) {
        self.lengths.push(text.len());
    }
    async fn lengths(&self) -> Vec<usize> {
        self.lengths.clone()
    }
}

/// Sends a text of each length, all in the commit of one step.
#[derive(Default, Serialize, Deserialize)]
struct Sender;

#[workflow]
impl Sender {
    async fn run(flow: &Flow<Self>, lengths: Vec<usize>) {
        flow.send_all(lengths).await;
    }

    #[step]
    async fn send_all(lengths: Vec<usize>, ledger: &Client<Ledger>) {
        for length in lengths {
            ledger.send(ledger.get("all").add("x".repeat(length)));
        }
    }
}

#[derive(Primitives)]
struct App {
    ledger: Ledger,
    sender: Sender,
}

/// Returns the lengths in the order in which the ledger got them.
async fn received(lengths: &[usize]) -> Vec<usize> {
    let world = World::memory().start::<App>().await;
    world.client().sender("s").start(lengths.to_vec()).await.expect("the run starts");
    world.advance(d!("1m")).await;
    world.client().ledger("all").lengths().await.expect("the ledger is there")
}

/// M1: a turn sends 400 messages, so the last fifty, and the long ones between and behind them, are owed.
#[tokio::test]
async fn long_messages_keep_their_place_behind_owed_ones() {
    let mut lengths: Vec<usize> = (1..=450).collect();
    lengths.insert(420, 300_000);
    lengths.extend([400_000, 1, 2, 1_040_000, 3]);
    assert_eq!(received(&lengths).await, lengths);
}

/// K3: the longest message fits into a commit, too.
#[tokio::test]
async fn the_longest_message_can_be_owed() {
    let payload_max = 1 << 20;
    let mut lengths = vec![1; 410];
    // Brackets and quotes are part of the payload.
    lengths.push(payload_max - 4);
    assert_eq!(received(&lengths).await, lengths);
}

//! Dead letters, and what a person can do about them: list, read, replay and remove.
//!
//! The example has a queue item that failed too often, and events that their run did not take before it
//! ended. Each replay is one commit: the letter is removed and its content is sent, or neither happens.

use std::sync::atomic::{AtomicBool, Ordering};

use drystone::{
    Event, Failure, Flow, Item, Primitives, Runtime, Services, d,
    dead_letters::{Filter, What},
    primitive, workflow,
};
use serde::{Deserialize, Serialize};

/// A customer's answer. The event has a topic, so an answer that one run did not take can be published to
/// another run.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one")]
struct Answer(String);

/// An inquiry: takes one answer and ends.
#[derive(Default, Serialize, Deserialize)]
struct Inquiry;

#[workflow(events(Answer))]
impl Inquiry {
    async fn run(flow: &Flow<Self>) -> String {
        flow.wait_for::<Answer>().await.0
    }
}

/// A queue of mails.
#[derive(Default, Serialize, Deserialize)]
struct Mails;

#[primitive(queue, max_attempts = 2, backoff = "1ms")]
impl Mails {
    #[process]
    async fn send(&mut self, mail: Item<String>, relay: &Relay) -> Result<(), Failure> {
        if relay.is_up.load(Ordering::Relaxed) {
            println!("  sent: {}", mail.value);
            Ok(())
        } else {
            Err("the relay is down".into())
        }
    }
}

/// A fake mail relay that is down at first.
#[derive(Default)]
struct Relay {
    is_up: AtomicBool,
}

#[derive(Services)]
struct Deps {
    relay: std::sync::Arc<Relay>,
}

#[derive(Primitives)]
struct App {
    inquiry: Inquiry,
    mails: Mails,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (folder, relay) = (tempfile::tempdir()?, std::sync::Arc::new(Relay::default()));
    let app = Runtime::sqlite(folder.path().join("app.db")).services(Deps { relay: relay.clone() });
    let runtime = app.start::<App>().await?;
    let (client, letters) = (runtime.client(), runtime.dead_letters());

    println!("a mail cannot be sent, and a run ends with an answer that it did not take");
    client.mails("out").enqueue("your parcel is on its way".into()).await?;
    client.inquiry("a").start().await?;
    for answer in ["yes", "and one more thing"] {
        client.inquiry("a").send(Answer(answer.into())).await.map_or_else(|error| println!("  {error}"), drop);
    }
    leave_unread(&client, "b", "never mind").await?;
    while letters.count().await? < 2 {
        tokio::time::sleep(d!("5ms")).await;
    }
    for letter in letters.list(Filter::default()).await?.letters {
        println!("  {} {:?} of {} {}: {}", letter.id, letter.what, letter.definition, letter.key, letter.reason);
    }

    println!("the relay is up again: the mail is replayed to where it was going");
    relay.is_up.store(true, Ordering::Relaxed);
    let items = letters.list(Filter { what: Some(What::Item), ..Filter::default() }).await?.letters;
    letters.replay(items[0].id).await?;
    client.mails("out").drain().await?;

    println!("the answer is of use to another: it is published, and whoever waits gets it");
    let unread = letters.events::<Answer>(Filter::default()).await?.events;
    println!("  {:?} was sent to {}", unread[0].event, unread[0].letter.key);
    client.inquiry("c").start().await?;
    letters.replay_to_topic(unread[0].letter.id).await?;
    assert_eq!(client.inquiry("c").result().await?, "never mind");
    println!("  c got it");

    println!("what is of use to nobody is read, and removed");
    leave_unread(&client, "d", "wrong number").await?;
    while letters.count().await? < 1 {
        tokio::time::sleep(d!("5ms")).await;
    }
    let last = letters.list(Filter::default()).await?.letters[0].id;
    println!("  {:?}", letters.get(last).await?.payload);
    letters.remove(last).await?;
    println!("  in all {:?}", letters.counts().await?);
    assert_eq!(letters.count().await?, 0);
    Ok(runtime.shutdown(d!("5s")).await?)
}

/// Starts a run and terminates the run before its answer is taken.
async fn leave_unread(client: &AppClient, key: &str, answer: &str) -> anyhow::Result<()> {
    let inquiry = client.inquiry(key);
    inquiry.start().await?;
    inquiry.pause().await?;
    inquiry.send(Answer(answer.into())).await?;
    inquiry.terminate().await?;
    Ok(())
}

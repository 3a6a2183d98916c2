//! A queue that sends mails, each until it has been sent.
//!
//! `enqueue` answers when the item is durable. Two mails are sent at a time. The process dies in the middle;
//! the next process resumes with the same item ids. A failed item is retried, and becomes a dead letter
//! after its last attempt.

use drystone::{Item, Primitives, Runtime, Services, d, dead_letters::Filter, kinds::queue::Enqueue, primitive};
use drystone_examples::{is_first_life, two_lives};
use serde::{Deserialize, Serialize};

/// An item of the queue.
#[derive(Serialize, Deserialize)]
struct Email {
    to: String,
    text: String,
}

/// A queue of mails. Its state is empty; Drystone stores the items.
#[derive(Default, Serialize, Deserialize)]
struct Emails;

#[primitive(queue, concurrency = 2, max_attempts = 2, backoff = "50ms", max_depth = 10_000)]
impl Emails {
    #[process]
    async fn send(&self, item: Item<Email>, smtp: &Smtp) -> Result<(), String> {
        // The id of the item is the same over retries and restarts, so the mail server can recognize a
        // repeat.
        smtp.send(&item.id, &item.value).await
    }
}

/// A fake mail server that does not know the user `nobody`.
struct Smtp;

impl Smtp {
    async fn send(&self, id: &str, email: &Email) -> Result<(), String> {
        println!("  {id} to {}: {}", email.to, email.text);
        if email.to == "carl" && is_first_life() {
            println!("  ... and the process dies here");
            std::process::abort();
        }
        if email.to == "nobody" { Err("550 no such user".into()) } else { Ok(()) }
    }
}

#[derive(Services)]
struct Deps {
    smtp: Smtp,
}

#[derive(Primitives)]
struct App {
    emails: Emails,
}

fn main() -> anyhow::Result<()> {
    two_lives(async |path| {
        let runtime = Runtime::sqlite(path).services(Deps { smtp: Smtp }).start::<App>().await?;
        let emails = runtime.client().emails("welcome");
        if is_first_life() {
            emails.pause().await?;
            for to in ["anna", "nobody", "bob", "carl", "dora"] {
                let text = format!("welcome, {to}");
                // A user who clicks twice still gets only one welcome mail a day.
                let once = Enqueue::new().dedup(to, d!("24h"));
                emails.enqueue_with(Email { to: to.into(), text: text.clone() }, &once).await?;
                emails.enqueue_with(Email { to: to.into(), text }, &once).await?;
            }
            let urgent = Email { to: "ops".into(), text: "welcomes are going out".into() };
            emails.enqueue_with(urgent, &Enqueue::new().priority(9)).await?;
            println!("{} mails are waiting", emails.stats().await?.waiting);
            emails.resume().await?;
        }
        emails.drain().await?;
        let stats = emails.stats().await?;
        println!("{} were sent, {} could not be", stats.done, stats.dead);
        for letter in runtime.dead_letters().list(Filter::default()).await?.letters {
            println!("dead letter {}: {} after {} attempts", letter.id, letter.reason, letter.attempts);
        }
        Ok(runtime.shutdown(d!("5s")).await?)
    })
}

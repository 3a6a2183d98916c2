//! A tour of every kind on one SQLite file. The process dies in the middle. A new process opens the file and
//! resumes on its own.
//!
//! The primitives are in `examples/src/app.rs`: a clock that ticks, a post office that delivers letters in
//! batches of three, a cart that reminds its owner, mails that share one line, an order that is packed once,
//! and a page whose kind is defined outside Drystone.

use drystone::{Runtime, d};
use drystone_examples::{
    app::{App, Paid},
    is_first_life, two_lives,
};

fn main() -> anyhow::Result<()> {
    two_lives(async |path| {
        let runtime = Runtime::sqlite(path).start::<App>().await?;
        println!("  opened: {} were under way", runtime.report().unfinished);
        let client = runtime.client();
        let (clock, post, cart, page) = (client.clock("c"), client.post("p"), client.cart("anna"), client.page("home"));
        if is_first_life() {
            clock.start().await?;
            cart.put("an apple".into()).await?;
            page.touch().await?;
            client.order("o").start("an apple".into()).await?;
            tokio::time::sleep(d!("250ms")).await;
            client.mails("m").pause().await?;
            client.mails("m").enqueue_many(["anna", "bob", "carl"].map(String::from)).await?;
            for letter in ["one", "two", "three"] {
                println!("  post: letter {letter} is durable, {} wait", post.add(letter.into()).await?.buffered);
            }
            std::future::pending::<()>().await; // until the flush kills the process
        }
        client.mails("m").resume().await?;
        client.mails("m").drain().await?;
        client.order("o").send(Paid(50)).await?;
        println!("  order: {}", client.order("o").result().await?);
        while cart.state().await?.is_some_and(|cart| !cart.0.is_empty()) {
            tokio::time::sleep(d!("20ms")).await;
        }
        println!(
            "  carried: {:?}; the page settled {:?} time",
            post.state().await?.map(|post| post.0),
            page.status().await?
        );
        println!("  {}", clock.explain().await?);
        Ok(runtime.shutdown(d!("5s")).await?)
    })
}

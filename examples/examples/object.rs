//! An object with an alarm: a cart that remembers its items, and reminds its owner.
//!
//! The changes of a `&mut self` action are durable when the action answers, and dropped when the action
//! fails. The alarm is set in the same commit.

use drystone::{CallError, Context, Never, Primitives, Runtime, Services, d, primitive};
use serde::{Deserialize, Serialize};

/// The state of a cart.
#[derive(Default, Serialize, Deserialize)]
struct Cart {
    items: Vec<String>,
    reminded: bool,
}

/// The error of a third item.
#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
#[error("a cart holds two items, not more")]
struct Full;

#[primitive(object)]
impl Cart {
    /// Adds an item and returns the number of items.
    async fn put(&mut self, item: String, cx: &Context) -> Result<usize, Full> {
        self.items.push(item);
        if self.items.len() > 2 {
            return Err(Full); // the pushed item is dropped, too
        }
        cx.alarm_in("200ms"); // each item sets the alarm anew
        Ok(self.items.len())
    }

    /// Returns the items as text.
    async fn items(&self) -> String {
        self.items.join(" and ")
    }

    /// Runs when the alarm rings: 200 ms after the last item.
    #[alarm]
    async fn abandoned(&mut self, mail: &dyn Mail, cx: &Context) -> Result<(), Never> {
        mail.send(&cx.key_text(), &format!("you left {} in your cart", self.items().await));
        self.reminded = true;
        Ok(())
    }
}

/// A service as a trait, so that a test can use another implementation.
trait Mail: Send + Sync {
    fn send(&self, to: &str, text: &str);
}

impl Mail for std::io::Stdout {
    fn send(&self, to: &str, text: &str) {
        println!("  mail to {to}: {text}");
    }
}

#[derive(Services)]
struct Deps {
    mail: Box<dyn Mail>,
}

#[derive(Primitives)]
struct App {
    cart: Cart,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let app = Runtime::sqlite(folder.path().join("app.db")).services(Deps { mail: Box::new(std::io::stdout()) });
    let runtime = app.start::<App>().await?;
    let cart = runtime.client().cart("anna");
    for (item, click) in [("an apple", "click-1"), ("a pear", "click-2"), ("a pear", "click-2")] {
        println!("{item}: {} in the cart", cart.put(item.into()).idempotency_key(click).await?);
    }
    if let Err(CallError::Failed(error)) = cart.put("a plum".into()).await {
        println!("refused: {error}; {}", cart.explain().await?);
    }
    while !cart.state().await?.is_some_and(|cart| cart.reminded) {
        tokio::time::sleep(d!("10ms")).await;
    }
    println!("it holds {}", cart.items().await?);
    Ok(runtime.shutdown(d!("5s")).await?)
}

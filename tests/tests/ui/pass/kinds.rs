//! One of each kind, under lints that made code must not set off.
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused_qualifications, unused_results)]

use drystone::{
    Context, Primitives, Runtime, Services,
    kinds::buffer::{Batch, Folded},
    primitive,
};
use serde::{Deserialize, Serialize};

/// An object.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Cart {
    items: Vec<String>,
}

#[primitive(object, max_attempts = 3, retry = "1s..1m")]
impl Cart {
    /// Puts an item in.
    pub async fn put(&mut self, item: String, cx: &Context) -> usize {
        self.items.push(item);
        cx.alarm_in("5m");
        self.items.len()
    }

    #[alarm]
    async fn forget(&mut self) -> Result<(), std::io::Error> {
        self.items.clear();
        Ok(())
    }
}

/// The world outside.
#[derive(Debug)]
pub struct OAuth;

/// A continuous, whose tick only borrows it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Token {
    access: String,
}

#[primitive(continuous, every = "59m", first = "now", max_attempts = 3, retry = "1m", on_exhausted = "continue", timeout = "1m")]
impl Token {
    #[tick]
    async fn refresh(&self, _oauth: &OAuth) -> anyhow::Result<String> {
        Ok(format!("{}!", self.access))
    }

    #[apply]
    fn apply(&mut self, access: String) {
        self.access = access;
    }

    #[destroy]
    async fn revoke(&mut self, _oauth: &OAuth) -> anyhow::Result<()> {
        Ok(())
    }
}

/// An item is as visible as its buffer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Contact(u32);

/// A buffer.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Contacts;

#[primitive(buffer, max_items = 10, max_wait = "5s", reset_on_add, strict_order, backoff = "1s..1m")]
impl Contacts {
    #[flush]
    async fn push(&mut self, batch: Batch<Contact>, _oauth: &OAuth) -> Result<(), String> {
        drop(batch.items);
        Ok(())
    }
}

/// A buffer that folds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sales;

#[primitive(buffer)]
impl Sales {
    #[flush]
    async fn push(&mut self, sum: Folded<u64>) -> Result<(), String> {
        let _ = sum.value;
        Ok(())
    }

    #[reduce]
    fn fold(total: &mut u64, sale: u32) {
        *total += u64::from(sale);
    }
}

/// What there is.
#[derive(Debug, Services)]
pub struct Deps {
    oauth: OAuth,
}

/// The app.
#[derive(Debug, Primitives)]
pub struct App {
    cart: Cart,
    token: Token,
    contacts: Contacts,
    sales: Sales,
    /// The same once more, under another name.
    returns: Sales,
}

fn main() {
    let _: fn() = || drop(Runtime::memory().services(Deps { oauth: OAuth }).start::<App>());
    let _: fn(&AppClient) = |client| {
        drop(client.cart("a").put("apple".to_owned()));
        drop(client.token("a").start_with(Token { access: String::new() }));
        drop(client.token("a").trigger());
        drop(client.contacts("a").add(Contact(1)));
        drop(client.sales("a").add(5));
        drop(client.returns("a").flush());
    };
}

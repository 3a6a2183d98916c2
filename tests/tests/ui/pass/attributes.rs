//! `#[cfg]` and `#[deprecated]` go where the function goes.
#![deny(warnings)]

use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;

#[primitive(object)]
impl Cart {
    #[cfg(any())]
    async fn never(&self, item: Missing) -> Missing {
        item
    }

    #[deprecated = "put it elsewhere"]
    #[allow(clippy::unused_async)]
    async fn put(&mut self) {}

    /// A helper.
    async fn helper(count: &str) -> usize {
        count.len()
    }

    async fn count(&self) -> usize {
        Self::helper("three").await
    }
}

#[derive(Primitives)]
struct App {
    cart: Cart,
}

fn main() {
    let _: fn(&AppClient) = |client| {
        #[expect(deprecated)]
        drop(client.cart("a").put());
        drop(client.cart("a").count());
    };
}

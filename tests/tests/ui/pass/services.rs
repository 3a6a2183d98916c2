//! What provides what.
#![deny(warnings)]

use std::sync::Arc;

use drystone::{Client, Primitives, Runtime, Services, primitive};
use serde::{Deserialize, Serialize};

trait Mail: Send + Sync {
    fn send(&self);
}

struct Smtp;

impl Mail for Smtp {
    fn send(&self) {}
}

struct Cache<T>(T);

#[derive(Default, Serialize, Deserialize)]
struct Cart;

#[primitive(object)]
impl Cart {
    async fn put(&mut self, mail: &dyn Mail, cache: &Cache<u32>, names: &Arc<Cache<String>>, same: &Cache<String>) -> usize {
        mail.send();
        cache.0 as usize + names.0.len() + same.0.len()
    }

    async fn order(&mut self, orders: &Client<Order>, carts: &Client<Self>) {
        orders.send(orders.get("a").place());
        let _ = carts.get("b").put().await;
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Order;

#[primitive(object)]
impl Order {
    async fn place(&mut self) {}
}

#[derive(Services)]
struct Deps<M: Mail + 'static> {
    smtp: M,
    mail: Box<dyn Mail>,
    cache: Cache<u32>,
    names: Arc<Cache<String>>,
}

#[derive(Services)]
struct Few(Cache<u32>, #[allow(dead_code)] Smtp);

#[derive(Primitives)]
struct App {
    cart: Cart,
    order: Order,
}

fn main() {
    let _: fn() = || {
        let names = Arc::new(Cache(String::new()));
        let deps = Deps { smtp: Smtp, mail: Box::new(Smtp), cache: Cache(1), names };
        drop(Runtime::memory().services(deps).start::<App>());
    };
    let _ = Few(Cache(1), Smtp);
}

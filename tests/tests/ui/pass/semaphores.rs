//! Semaphores: on a struct without fields, in each of its forms, and on an `impl`.

use std::time::Duration;

use drystone::{AcquireError, Client, Failure, Permit, Primitives, d, primitive, testing::World};
use serde::{Deserialize, Serialize};

const MANY: u64 = 1_000;
const SHORT: Duration = d!("250ms");

mod gates {
    use drystone::primitive;

    /// One at a time.
    #[primitive(semaphore, permits = 1)]
    #[derive(Debug)]
    pub struct Lock;

    #[primitive(semaphore, permits = 3, lease = "1m")]
    pub(crate) struct Braces {}
}

#[primitive(semaphore, permits = MANY, window = SHORT)]
struct Rate();

#[derive(Default, Serialize, Deserialize)]
struct Counted(u32);

#[primitive(semaphore, permits = 2)]
impl Counted {
    /// An action of its own.
    async fn count(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Cart;

#[primitive(object)]
impl Cart {
    async fn pay(&mut self, lock: &Client<gates::Lock>) -> Result<u64, Failure> {
        let permit: Permit = lock.get("till").acquire().timeout(d!("5s")).await?;
        Ok(permit.token())
    }
}

#[derive(Primitives)]
struct App {
    lock: gates::Lock,
    braces: gates::Braces,
    rate: Rate,
    counted: Counted,
    cart: Cart,
}

fn main() {
    drystone::testing::block_on(async {
        let world = World::memory().start::<App>().await;
        let client = world.client();
        let braces = client.braces("a").acquire().weight(3).await.unwrap();
        assert!(matches!(client.braces("a").try_acquire().await, Ok(None)));
        assert!(braces.release().await.unwrap());
        assert!(matches!(client.rate("b").acquire().weight(1_001).await, Err(AcquireError::TooHeavy { .. })));
        let (held, count) = (client.counted("c").acquire().await.unwrap(), client.counted("c").count().await.unwrap());
        assert_eq!((held.weight(), count), (1, 1));
        assert!(client.cart("d").pay().await.unwrap() > 0);
        assert_eq!(client.lock("e").stats().await.unwrap().permits, 1);
    });
}

//! An object, from its `impl` block to its calls.

use drystone::{CallError, Context, Primitives, Runtime, Services, primitive};
use serde::{Deserialize, Serialize};

struct Prices(u32);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum CartError {
    Full,
}

#[derive(Debug, PartialEq, Default, Serialize, Deserialize)]
struct Cart {
    items: Vec<String>,
}

#[primitive(object, max_attempts = 5, retry = "1s..1m")]
impl Cart {
    /// Puts an item in; how many there are then.
    async fn put(&mut self, item: String, count: u32) -> Result<usize, CartError> {
        if self.items.len() + count as usize > 3 {
            return Err(CartError::Full);
        }
        self.items.extend(std::iter::repeat_n(item, count as usize));
        Ok(self.items.len())
    }

    async fn total(&self, prices: &Prices) -> u32 {
        self.items.len() as u32 * prices.0
    }

    #[alarm]
    async fn abandoned(&mut self, cx: &Context) -> Result<(), std::io::Error> {
        self.items.push(cx.key_text());
        Ok(())
    }

    async fn leave(&mut self, cx: &Context) {
        cx.alarm_in("10ms");
    }
}

#[derive(Services)]
struct Deps {
    prices: Prices,
}

#[derive(Primitives)]
struct App {
    cart: Cart,
}

#[tokio::test]
async fn a_cart_is_bound_by_its_first_write_and_keeps_what_it_is_given() {
    let runtime = Runtime::memory().services(Deps { prices: Prices(5) }).start::<App>().await.unwrap();
    let client = runtime.client();
    assert!(client.cart("a").total().await.unwrap_err().is_not_bound());
    assert_eq!(client.cart("a").put("apple".into(), 2).await.unwrap(), 2);
    assert_eq!(client.cart("a").total().await.unwrap(), 10);
    let full = client.cart("a").put("pear".into(), 2).await;
    assert!(matches!(full, Err(CallError::Failed(CartError::Full))));
    assert_eq!(client.cart("a").state().await.unwrap().unwrap().items, ["apple", "apple"]);
    assert!(client.cart("a").destroy().await.unwrap());
    assert_eq!(client.cart("a").state().await.unwrap(), None);
    runtime.shutdown(drystone::d!("1s")).await.unwrap();
}

#[tokio::test]
async fn an_alarm_rings_its_hook() {
    let runtime = Runtime::memory().services(Deps { prices: Prices(5) }).start::<App>().await.unwrap();
    let cart = runtime.client().cart("a");
    cart.leave().await.unwrap();
    let mut events = runtime.kernel().listen();
    drop(events.next());
    while cart.state().await.unwrap().unwrap().items.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(cart.state().await.unwrap().unwrap().items, ["a"]);
}

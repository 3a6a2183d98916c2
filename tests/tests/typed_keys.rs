//! Key spaces: each primitive has keys of its own, or all share them, as recorded in the store.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::sync::Arc;

use drystone::{
    Builder, Context, Error, Never, Primitives, Runtime, d, primitive,
    runtime::{
        Millis,
        kernel::Wait,
        store::{Memory, Store},
    },
    testing::{Setup, World},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cart {
    items: u32,
}

#[primitive(object)]
impl Cart {
    async fn put(&mut self) -> u32 {
        self.items += 1;
        self.items
    }

    async fn wind(&mut self, cx: &Context) {
        cx.alarm_in("1h");
    }

    #[alarm]
    async fn ring(&mut self) -> Result<(), Never> {
        Ok(())
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct User {
    visits: u32,
}

#[primitive(object)]
impl User {
    async fn visit(&mut self) -> u32 {
        self.visits += 1;
        self.visits
    }
}

#[derive(Debug, Primitives)]
struct App {
    cart: Cart,
    user: User,
}

/// A version of the app whose carts cannot be decoded.
mod mistaken {
    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Cart {
        items: String,
    }

    #[primitive(object)]
    impl Cart {
        async fn put(&mut self) {}
    }

    #[derive(Primitives)]
    pub(super) struct App {
        cart: Cart,
        user: User,
    }
}

/// A version of the app without carts.
#[derive(Primitives)]
struct WithoutCarts {
    user: User,
}

/// Every store, with both choices.
fn all() -> impl Iterator<Item = Setup<()>> {
    both().chain(both().map(Setup::shared_keys))
}

/// E2, E14, R6
#[tokio::test]
async fn each_primitive_has_keys_of_its_own() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        assert_eq!(client.cart("7").put().await.unwrap(), 1);
        assert_eq!(world.view("user", "7").await.unwrap(), None);
        assert_eq!(client.user("7").visit().await.unwrap(), 1);
        assert_eq!(world.call("cart", "7", "put", json!([])).await.unwrap(), 2);
        for name in ["cart", "user"] {
            let view = world.view(name, "7").await.unwrap().unwrap();
            assert_eq!((view.name.as_str(), view.key.as_str()), (name, "7"));
            let explained = world.explain(name, "7").await.unwrap().to_string();
            assert_eq!(explained, format!("{name}/7: idle; it is at rest until somebody calls"));
            assert_eq!(world.entities().primitive(name).await.unwrap().entities, [view]);
        }
        assert!(client.cart("7").destroy().await.unwrap());
        world.restart().await;
        assert_eq!(world.view("cart", "7").await.unwrap(), None);
        assert_eq!(world.client().user("7").state().await.unwrap(), Some(User { visits: 1 }));
    }
}

/// E2
#[tokio::test]
async fn with_shared_keys_a_key_belongs_to_one_primitive() {
    for setup in both() {
        let world = setup.shared_keys().start::<App>().await;
        let (cart, user) = (world.client().cart("7"), world.client().user("7"));
        cart.put().await.unwrap();
        let counts = world.counts();
        for refused in [
            fault(user.visit().await),
            fault(user.start().await),
            user.view().await.unwrap_err(),
            user.explain().await.unwrap_err(),
            user.unpark().await.unwrap_err(),
            world.view("user", "7").await.unwrap_err(),
            world.explain("user", "7").await.unwrap_err(),
            world.unpark("user", "7").await.unwrap_err(),
            world.call("user", "7", "visit", json!([])).await.unwrap_err(),
        ] {
            assert_eq!(
                refused.to_string(),
                "`app/7` is bound to `cart`, not to `user`: in an app with `.shared_keys()` a key belongs to one primitive"
            );
        }
        assert_eq!(world.counts().since(counts).applied, 0);
        assert_eq!(world.view("cart", "7").await.unwrap(), cart.view().await.unwrap());
        assert_eq!(world.explain("cart", "7").await.unwrap(), cart.explain().await.unwrap());
        assert_eq!(cart.state().await.unwrap(), Some(Cart { items: 1 }));
    }
}

const SHARED: &str = "all primitives of this store share their keys: write `.shared_keys()` before `.start()`";
const SEPARATE: &str = "each primitive of this store has keys of its own: leave out `.shared_keys()`";

/// Starts with one choice, is refused with the other choice and this message, and starts again with the
/// first.
async fn keep_the_choice(builder: impl Fn() -> Builder<()>, is_shared: bool) {
    let start = async |is_shared| {
        let builder = if is_shared { builder().shared_keys() } else { builder() };
        builder.start::<App>().await
    };
    let runtime = start(is_shared).await.unwrap();
    runtime.client().cart("7").put().await.unwrap();
    runtime.shutdown(d!("5s")).await.unwrap();
    let refused = start(!is_shared).await.unwrap_err();
    assert_eq!((refused.code(), refused.is_retryable()), ("DS0023", false));
    assert_eq!(refused.to_string(), if is_shared { SHARED } else { SEPARATE });
    let runtime = start(is_shared).await.unwrap();
    assert_eq!(runtime.client().cart("7").put().await.unwrap(), 2);
    assert_eq!(runtime.entities().await.unwrap().entities.len(), 1);
    runtime.shutdown(d!("5s")).await.unwrap();
}

/// E2
#[tokio::test]
async fn a_store_in_memory_keeps_the_choice_of_its_first_start() {
    for is_shared in [false, true] {
        let store: Arc<dyn Store> = Arc::new(Memory::new(|| Millis(0), 1));
        keep_the_choice(|| Runtime::store(store.clone()), is_shared).await;
    }
}

/// E2
#[tokio::test]
async fn a_file_keeps_the_choice_of_its_first_start() {
    for is_shared in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        keep_the_choice(|| Runtime::sqlite(folder.path().join("app.db")), is_shared).await;
    }
}

/// E2, W12: a refused start does not apply any statement of the author's either.
#[tokio::test]
async fn a_world_with_the_other_choice_is_refused_and_nothing_is_changed() {
    const PET: &str = "CREATE TABLE pet (name TEXT)";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let world = World::sqlite_at(&path).start::<App>().await;
    world.client().cart("7").put().await.unwrap();
    drop(world);
    let other = || World::sqlite_at(&path).shared_keys();
    for other in [other().schema(PET), other().migrations([("0001_pet", PET)])] {
        let refused = other.try_start::<App>().await.unwrap_err();
        assert!(matches!(&refused, Error::OtherKeys { recorded } if recorded == "separate"), "{refused:?}");
    }
    let world = World::sqlite_at(&path).start::<App>().await;
    assert_eq!(world.client().cart("7").put().await.unwrap(), 2);
    let pets = world.transaction(|sql| sql.query("SELECT name FROM pet", (), |row| row.get::<String>(0))).await;
    assert!(pets.unwrap_err().to_string().contains("no such table"));
}

/// E2
#[tokio::test]
async fn a_world_that_restarts_keeps_its_choice() {
    for setup in all() {
        let world = setup.start::<App>().await;
        world.client().cart("7").put().await.unwrap();
        world.restart().await;
        assert_eq!(world.client().cart("7").put().await.unwrap(), 2);
        let world = world.restart_as::<App, ()>(()).await.unwrap();
        assert_eq!(world.client().cart("7").put().await.unwrap(), 3);
    }
}

/// E9
#[tokio::test]
async fn an_unknown_name_is_refused_with_those_of_the_app() {
    for setup in all() {
        let world = setup.start::<App>().await;
        world.client().cart("7").put().await.unwrap();
        let counts = world.counts();
        let long = "x".repeat(129);
        for name in ["card", "app", "", &long, "drystone", "drystone:dead-letters"] {
            for key in ["7", "dead-letters"] {
                for refused in [
                    world.view(name, key).await.map(drop),
                    world.explain(name, key).await.map(drop),
                    world.unpark(name, key).await.map(drop),
                ] {
                    let expected = format!("no primitive named `{name}`; this app has: cart, user");
                    assert_eq!(refused.unwrap_err().to_string(), expected);
                }
            }
        }
        assert_eq!(world.counts().since(counts).applied, 0);
    }
}

/// E10
#[tokio::test]
async fn a_parked_entity_is_let_go_by_its_name_and_key() {
    for setup in all() {
        let world = setup.start::<App>().await;
        world.client().cart("7").put().await.unwrap();
        let world = world.restart_as::<mistaken::App, ()>(()).await.unwrap();
        let cart = world.client().cart("7");
        for by_handle in [false, true] {
            assert!(matches!(fault(cart.put().await), Error::Parked { .. }));
            world.settle().await;
            let waits = world.explain("cart", "7").await.unwrap().waits;
            assert!(matches!(waits[..], [Wait::Parked(_)]), "{waits:?}");
            assert_eq!(world.entities().parked().await.unwrap().entities.len(), 1);
            let was_parked = if by_handle { cart.unpark().await } else { world.unpark("cart", "7").await };
            assert!(was_parked.unwrap());
            assert_eq!(world.view("cart", "7").await.unwrap().unwrap().meta.parked, None);
        }
        assert!(!world.unpark("cart", "7").await.unwrap(), "it is not parked");
        assert!(!world.unpark("cart", "8").await.unwrap(), "nothing is bound");
    }
}

/// E9, E10
#[tokio::test]
async fn an_entity_whose_primitive_is_gone_is_seen_by_its_stored_name() {
    for setup in all() {
        let world = setup.start::<App>().await;
        world.client().cart("7").put().await.unwrap();
        world.client().cart("7").wind().await.unwrap();
        let world = world.restart_as::<WithoutCarts, ()>(()).await.unwrap();
        world.advance(d!("1h")).await;
        let view = world.view("cart", "7").await.unwrap().unwrap();
        assert_eq!(view.meta.parked.as_deref(), Some("its definition is not registered"));
        assert_eq!(view.state, json!({ "items": 1 }));
        let explained = world.explain("cart", "7").await.unwrap();
        assert!(matches!(explained.waits[..], [Wait::Parked(_), Wait::Alarm(_)]), "{explained}");
        assert!(world.unpark("cart", "7").await.unwrap());
        world.settle().await;
        assert!(world.view("cart", "7").await.unwrap().unwrap().meta.parked.is_some(), "it parks again");
        let unknown = world.view("cart", "8").await.unwrap_err();
        assert_eq!(unknown.to_string(), "no primitive named `cart`; this app has: user");
        let world = world.restart_as::<App, ()>(()).await.unwrap();
        assert_eq!(world.client().cart("7").put().await.unwrap(), 2);
    }
}

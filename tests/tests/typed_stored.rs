//! Stored states under other code: other versions of a state, other options, and handlers without memory.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Batch, Error, Failure, Primitives, d, primitive,
    runtime::{Parked, kernel::Wait},
    testing::{Setup, World},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};

/// The first version of an app.
mod first {
    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Item {
        pub qty: i64,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Order {
        pub items: Vec<Item>,
    }

    #[primitive(continuous, every = "1h")]
    impl Order {
        async fn add(&mut self, qty: i64) -> usize {
            self.items.push(Item { qty });
            self.items.len()
        }
        #[tick]
        async fn tick(&mut self) -> Result<(), Failure> {
            Ok(())
        }
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Box(pub Vec<u32>);

    #[primitive(buffer, max_items = 10, max_wait = "1h")]
    impl Box {
        #[flush]
        async fn flush(&mut self, batch: Batch<u32>) -> Result<(), Failure> {
            self.0.extend(batch.items);
            Ok(())
        }
    }

    #[derive(Primitives)]
    pub(super) struct App {
        order: Order,
        crate_: Box,
    }
}

/// A version that reads less of the state, ticks more often and flushes sooner.
mod second {
    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Item {
        pub qty: u8,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Order {
        pub items: Vec<Item>,
        #[serde(default)]
        pub ticks: u32,
    }

    #[primitive(continuous, every = "10s")]
    impl Order {
        async fn add(&mut self, qty: u8) -> usize {
            self.items.push(Item { qty });
            self.items.len()
        }
        #[tick]
        async fn tick(&mut self) -> Result<(), Failure> {
            self.ticks += 1;
            Ok(())
        }
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Box(pub Vec<u32>);

    #[primitive(buffer, max_items = 2, max_wait = "10s")]
    impl Box {
        #[flush]
        async fn flush(&mut self, batch: Batch<u32>) -> Result<(), Failure> {
            self.0.extend(batch.items);
            Ok(())
        }
    }

    #[derive(Primitives)]
    pub(super) struct App {
        order: Order,
        crate_: Box,
    }
}

/// A version of the app without orders.
mod without {
    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Other;

    #[primitive(object)]
    impl Other {
        async fn poke(&mut self) {}
    }

    #[derive(Primitives)]
    pub(super) struct App {
        other: Other,
    }
}

async fn with_an_order(setup: Setup<()>, quantities: &[i64]) -> World<first::App> {
    let world = setup.start::<first::App>().await;
    let order = world.client().order("o");
    order.start().await.unwrap();
    for qty in quantities {
        order.add(*qty).await.unwrap();
    }
    world
}

/// E10, fF1: It is never reset.
#[tokio::test]
async fn an_unreadable_state_parks_its_entity_with_the_path() {
    for setup in both() {
        let world = with_an_order(setup, &[1, 2, 3, -4]).await;
        let before = world.view("order", "o").await.unwrap().unwrap().state;
        let world = world.restart_as::<second::App, ()>(()).await.unwrap();
        world.advance(d!("1h")).await;
        let refused = fault(world.client().order("o").add(5).await);
        let Error::Parked { reason: Parked::Undecodable(reason), .. } = &refused else { panic!("{refused:?}") };
        assert!(reason.starts_with("state.items[3].qty: invalid value"), "{reason}");
        let view = world.view("order", "o").await.unwrap().unwrap();
        assert_eq!((view.state, view.meta.is_failing), (before, true));
        assert!(view.meta.parked.unwrap().contains("state.items[3].qty"));
        assert!(matches!(&world.explain("order", "o").await.unwrap().waits[0], Wait::Parked(_)));
        assert_eq!(world.entities().parked().await.unwrap().entities.len(), 1);
        // Other entities continue.
        assert_eq!(world.client().order("p").start().await.unwrap(), drystone::Started::Started);
        let world = world.restart_as::<first::App, ()>(()).await.unwrap();
        assert_eq!(world.client().order("o").add(5).await.unwrap(), 5);
        assert_eq!(world.view("order", "o").await.unwrap().unwrap().meta.parked, None);
    }
}

/// E10: While nothing is mended.
#[tokio::test]
async fn a_parked_entity_released_by_hand_parks_again() {
    for setup in both() {
        let world = with_an_order(setup, &[-4]).await;
        let world = world.restart_as::<second::App, ()>(()).await.unwrap();
        assert!(matches!(fault(world.client().order("o").add(5).await), Error::Parked { .. }));
        assert!(world.unpark("order", "o").await.unwrap());
        assert!(matches!(fault(world.client().order("o").add(5).await), Error::Parked { .. }));
        assert_eq!(
            world.view("order", "o").await.unwrap().unwrap().state,
            serde_json::json!({ "items": [{ "qty": -4 }] })
        );
        assert!(!world.unpark("order", "nobody").await.unwrap_or(false));
    }
}

/// E10
#[tokio::test]
async fn an_entity_is_parked_until_its_primitive_is_back() {
    for setup in both() {
        let world = with_an_order(setup.shared_keys(), &[1]).await;
        let world = world.restart_as::<without::App, ()>(()).await.unwrap();
        world.advance(d!("3h")).await;
        let view = world.view("order", "o").await.unwrap().unwrap();
        assert_eq!(view.meta.parked.as_deref(), Some("its definition is not registered"));
        assert!(matches!(
            fault(world.client().other("o").poke().await),
            Error::TypeMismatch { .. } | Error::Parked { .. }
        ));
        let world = world.restart_as::<second::App, ()>(()).await.unwrap();
        assert_eq!(world.client().order("o").add(2).await.unwrap(), 2);
        assert_eq!(world.client().order("o").status().await.unwrap().unwrap().run_count, 1);
    }
}

/// E10
#[tokio::test]
async fn fields_that_are_new_and_have_a_default_need_nothing() {
    for setup in both() {
        let world = with_an_order(setup, &[1]).await;
        let world = world.restart_as::<second::App, ()>(()).await.unwrap();
        assert_eq!(world.client().order("o").add(2).await.unwrap(), 2);
    }
}

/// E11
#[tokio::test]
async fn changed_options_apply_and_are_shown_soon_after_the_start() {
    for setup in both() {
        let world = with_an_order(setup, &[1]).await;
        for item in 1..=3 {
            world.client().crate_("c").add(item).await.unwrap();
        }
        world.advance(d!("4s")).await;
        let world = world.restart_as::<second::App, ()>(()).await.unwrap();
        // Three items are more than the new limit of two.
        assert_eq!(world.client().crate_("c").state().await.unwrap().unwrap().0, [1, 2, 3]);
        world.advance(d!("5999ms")).await;
        assert_eq!(world.client().order("o").state().await.unwrap().unwrap().ticks, 0);
        world.advance(d!("1ms")).await;
        assert_eq!(world.client().order("o").state().await.unwrap().unwrap().ticks, 1);
        let config = world.view("order", "o").await.unwrap().unwrap().config.to_string();
        assert!(config.contains("10000") && !config.contains("3600000"), "{config}");
        world.client().crate_("d").add(1).await.unwrap();
        world.advance(d!("10s")).await;
        assert_eq!(world.client().crate_("d").state().await.unwrap().unwrap().0, [1]);
    }
}

/// Everything that is visible of a scenario with every kind, which must not depend on the memory of
/// handlers.
async fn lived(world: World<second::App>) -> Vec<serde_json::Value> {
    let client = world.client();
    client.order("o").start().await.unwrap();
    for item in 0..7 {
        client.crate_("c").add(item).await.unwrap();
        client.order("o").add(item as u8).await.unwrap();
        world.advance(d!("7s")).await;
    }
    client.order("o").stop().await.unwrap();
    client.crate_("c").flush().await.unwrap();
    let mut seen = Vec::new();
    for (name, key) in [("order", "o"), ("crate_", "c")] {
        let mut view = world.view(name, key).await.unwrap().unwrap();
        view.meta.crashes = 0;
        seen.push(serde_json::to_value(view).unwrap());
    }
    seen
}

/// E13
#[tokio::test]
async fn memory_that_is_dropped_before_any_turn_changes_nothing() {
    for (remembers, forgets) in both().zip(both()) {
        let remembered = lived(remembers.start::<second::App>().await).await;
        let forgetful = forgets.options(|options| options.forget_one_in = Some(1)).start::<second::App>().await;
        assert_eq!(lived(forgetful).await, remembered);
    }
}

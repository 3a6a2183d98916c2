//! Choices: each is made once, and holds for the lifetime of the store.

use crate::store::conformance::fixture::World;

async fn choose(world: &World, name: &str, value: &str) -> String {
    world.store.choose(name, value).await.expect("a choice is answered")
}

/// K2
pub async fn the_first_choice_is_answered_from_then_on(world: &mut World) {
    assert_eq!(choose(world, "keys", "shared").await, "shared");
    assert_eq!(choose(world, "keys", "separate").await, "shared");
    assert_eq!(choose(world, "Keys", "separate").await, "separate", "another name is another choice");
    assert_eq!(choose(world, "epoch", "").await, "", "a store's own facts have names of their own");
    assert_eq!(choose(world, "epoch", "9").await, "");
}

/// K2
pub async fn a_choice_outlives_reopening(world: &mut World) {
    assert_eq!(choose(world, "keys", "separate").await, "separate");
    world.reopen().await;
    assert_eq!(choose(world, "keys", "shared").await, "separate");
}

//! What can be started without a state: a default, an `#[init]`, no fields.
use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Tally(u32);
#[primitive(object)]
impl Tally {}

#[derive(Serialize, Deserialize)]
struct Seven(u32);
#[primitive(object)]
impl Seven {
    #[init]
    async fn seven() -> Self {
        Self(7)
    }
}

/// Both: `#[init]` makes the state.
#[derive(Default, Serialize, Deserialize)]
struct Both(u32);
#[primitive(object)]
impl Both {
    #[init]
    async fn seven() -> Self {
        Self(7)
    }
}

#[primitive(semaphore, permits = 3)]
struct Slots;

#[derive(Primitives)]
struct App {
    tally: Tally,
    seven: Seven,
    both: Both,
    slots: Slots,
}

fn main() {
    let _ = |client: AppClient| {
        drop((client.tally("a").start(), client.seven("a").start(), client.both("a").start(), client.slots("a").start()));
        drop((client.tally("b").start_with(Tally(1)), client.slots("b").start_with(Slots)));
    };
}

//! Private structs, private types in public primitives, and primitives of other modules.
#![deny(warnings, unreachable_pub)]

use drystone::Primitives;

mod inner {
    use drystone::{kinds::buffer::Batch, primitive};
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Item(u32);

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Open(u32);

    #[primitive(buffer)]
    impl Open {
        #[flush]
        async fn push(&mut self, batch: Batch<Item>) -> Result<(), String> {
            self.0 += batch.items.iter().map(|item| item.0).sum::<u32>();
            Ok(())
        }

        async fn item(&self, item: Item) -> Item {
            item
        }
    }

    #[derive(Default, Serialize, Deserialize)]
    struct Closed;

    #[primitive(object)]
    impl Closed {
        async fn itself(&self, _other: Self) -> Result<Self, String> {
            Ok(Self)
        }
    }

    pub mod deeper {
        #[derive(drystone::Primitives)]
        pub(in crate::inner) struct App {
            closed: super::Closed,
        }
    }

    pub(super) fn all(client: &deeper::AppClient) {
        drop(client.closed("a").itself(Closed));
    }
}

#[derive(Primitives)]
pub struct App {
    open: inner::Open,
}

fn main() {
    let _ = inner::all;
}

//! Private structs, private types in public primitives, and primitives of other modules.
#![deny(warnings, unreachable_pub)]

use drystone::Primitives;

mod inner {
    use drystone::{kinds::buffer::Batch, primitive};
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub(super) struct Item(pub(super) u32);

    #[derive(Serialize, Deserialize)]
    struct Hidden;

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Open(u32);

    #[primitive(buffer)]
    impl Open {
        #[flush]
        async fn push(&mut self, batch: Batch<Item>) -> Result<(), String> {
            self.0 += batch.items.iter().map(|item| item.0).sum::<u32>();
            Ok(())
        }

        async fn hidden(&self, hidden: Hidden) -> Hidden {
            hidden
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

    mod deeper {
        #[derive(drystone::Primitives)]
        pub(super) struct App {
            closed: super::Closed,
        }
    }

    pub(super) fn all() {
        let _: fn(&deeper::AppClient) = |client| drop(client.closed("a").itself(Closed));
    }
}

#[derive(Primitives)]
pub struct App {
    open: inner::Open,
}

fn main() {
    inner::all();
    let _: fn(&AppClient) = |client| drop(client.open("a").add(inner::Item(1)));
}

//! Blocks that another macro writes, in a part or as a whole.
#![deny(warnings)]

use drystone::{Context, Primitives, primitive};
use serde::{Deserialize, Serialize};

macro_rules! counter {
    ($name:ident, $item:ty, $every:literal, |$this:ident, $by:ident| $body:expr) => {
        #[derive(Default, Serialize, Deserialize)]
        struct $name {
            count: $item,
        }

        #[primitive(continuous, every = $every)]
        impl $name {
            #[tick]
            async fn tick(&mut self) -> Result<(), std::io::Error> {
                self.count += 1;
                Ok(())
            }

            async fn add(&mut self, $by: $item, cx: &Context) -> Result<$item, String> {
                let $this = self;
                let _ = cx;
                Ok($body)
            }
        }
    };
}

counter!(Counter, u32, "5m", |this, by| {
    this.count += by;
    this.count
});

#[derive(Primitives)]
struct App {
    counter: Counter,
}

fn main() {
    let _: fn(&AppClient) = |client| drop(client.counter("a").add(1));
}

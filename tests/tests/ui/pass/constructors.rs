//! Constructors of every kind, in every form that they can be written in.
#![deny(warnings, missing_docs)]

use drystone::{Batch, Call, Client, Context, Failure, Never, Primitives, Services, Started, primitive};
use serde::{Deserialize, Serialize};

/// What is lent.
#[derive(Debug)]
pub struct Billing;

type MadeResult = Result<Cart, Failure>;

/// A cart.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cart {
    count: u32,
}

#[primitive(object)]
impl Cart {
    /// With everything.
    #[create]
    async fn open(
        (count, more): (u32, u32),
        billing: &Billing,
        bins: &Client<Bin>,
        mut name: String,
        cx: &Context,
    ) -> Result<Self, Failure> {
        name.push_str(cx.key_text().as_ref());
        bins.send(bins.get(name).by_size(more));
        let _ = billing;
        Ok(Self { count })
    }

    #[create]
    async fn empty() -> Cart {
        Self { count: 0 }
    }

    #[create]
    async fn aliased(count: u32) -> MadeResult {
        Ok(Self { count })
    }

    #[create]
    async fn r#move(count: u32) -> Result<Self, Never> {
        Ok(Self { count })
    }

    #[cfg(any())]
    #[create]
    async fn never(unknown: Unknown) -> Self {
        unreachable!()
    }

    async fn count(&self) -> u32 {
        self.count
    }
}

/// A bin.
#[derive(Debug, Serialize, Deserialize)]
pub struct Bin {
    size: u32,
}

#[primitive(buffer, max_items = 2)]
impl Bin {
    #[create]
    async fn by_size(size: u32) -> Self {
        Self { size }
    }

    #[flush]
    async fn flush(&mut self, batch: Batch<u32>) -> Result<(), Failure> {
        self.size -= u32::try_from(batch.items.len())?;
        Ok(())
    }
}

/// What there is.
#[derive(Debug, Services)]
pub struct Deps {
    billing: Billing,
}

/// The app.
#[derive(Debug, Primitives)]
pub struct App {
    cart: Cart,
    bin: Bin,
}

fn main() {
    let _: fn(&AppClient) = |client| {
        let cart = client.cart("a");
        let _: Call<Started, Failure> = cart.open((1, 2), "a".to_owned());
        let _: Call<Started> = cart.empty();
        let _: Call<Started, Failure> = cart.aliased(1);
        let _: Call<Started> = cart.r#move(1);
        let _: Call<Started> = client.bin("b").by_size(3);
    };
}

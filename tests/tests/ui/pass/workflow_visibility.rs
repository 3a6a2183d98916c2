//! A public workflow with private types, one that is visible in part, and one in a function.

pub mod orders {
    use drystone::{Event, Flow, workflow};
    use serde::{Deserialize, Serialize};

    #[derive(Default, Serialize, Deserialize)]
    pub struct Checkout;

    #[derive(Serialize, Deserialize)]
    struct Order;
    #[derive(Serialize, Deserialize)]
    struct Receipt;
    #[derive(Serialize, Deserialize)]
    enum Refusal {}
    #[derive(Event, Serialize, Deserialize)]
    struct Approved;
    struct Payments;

    #[workflow(events(Approved))]
    impl Checkout {
        async fn run(flow: &Flow<Self>, order: Order) -> Result<Receipt, Refusal> {
            flow.wait_for::<Approved>().await;
            flow.charge(order).await
        }

        #[step]
        async fn charge(_order: Order, _payments: &Payments) -> Result<Receipt, Refusal> {
            Ok(Receipt)
        }
    }

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Other;

    #[workflow]
    impl Other {
        async fn run(_flow: &Flow<Self>, _order: Order) {}
    }
}

#[derive(drystone::Primitives)]
pub struct App {
    pub checkout: orders::Checkout,
}

fn main() {
    #[derive(Default, serde::Serialize, serde::Deserialize)]
    struct Local;
    #[drystone::workflow]
    impl Local {
        async fn run(flow: &drystone::Flow<Self>) -> u8 {
            flow.one().await
        }
        #[step]
        async fn one() -> u8 {
            1
        }
    }
    let _ = |run: LocalHandle| drop(run.result());
    let _ = |run: orders::CheckoutHandle| drop(run.cancel());
    let _ = |run: <orders::Other as drystone::Primitive>::Handle| drop(run.status());
}

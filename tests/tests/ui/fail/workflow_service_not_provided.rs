use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step]
    async fn act(_clock: &Clock) {}
}
struct Clock;
#[derive(drystone::Primitives)]
struct App { w: W }
fn main() {
    drop(drystone::Runtime::sqlite("app.db").start::<App>());
}

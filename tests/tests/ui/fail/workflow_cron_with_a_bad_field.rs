use drystone::{Flow, Primitives, Tick, workflow};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Report;
#[workflow(cron = "0 9 * * MOO")]
impl Report {
    async fn run(_flow: &Flow<Self>, _tick: Tick) {}
}
#[derive(Primitives)]
struct App {
    report: Report,
}
fn main() {
    let _: Option<Tick> = None;
}

use drystone::workflow;

#[workflow]
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
fn main() {}

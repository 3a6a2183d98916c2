use drystone::workflow;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W<T>(T);
#[workflow]
impl<T> W<T> {
    async fn run(_flow: &drystone::Flow<Self>) {}
}
fn main() {}

use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W(String);
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    fn rename<T: ToString>(&mut self, to: T) {
        self.0 = to.to_string();
    }
    fn name(&mut self) -> &str {
        &self.0
    }
    fn go(&mut self, _flow: &Flow<Self>) {}
}
fn main() {}

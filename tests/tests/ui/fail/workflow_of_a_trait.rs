use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl Clone for W {
    fn clone(&self) -> Self {
        Self
    }
}
fn wait(_flow: &Flow<W>) {}
fn main() {}

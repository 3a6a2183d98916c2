use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {
        tokio::spawn(async {});
        tokio::task::spawn_blocking(|| ());
        std::thread::spawn(|| ());
    }
}
fn main() {}

use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {
        tokio::spawn(async {});
        tokio::task::spawn_blocking(|| ());
        std::thread::spawn(|| ());
        spawn(std::future::ready(()));
        tokio::runtime::Handle::current().spawn_blocking(|| ());
        tokio::runtime::Handle::current().block_on(async {});
    }
}
fn main() {}
use tokio::spawn;

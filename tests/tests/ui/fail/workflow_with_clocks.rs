use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {
        let _ = std::time::SystemTime::now();
        let _ = vec![std::time::Instant::now()];
        let _ = tokio::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}
fn main() {}

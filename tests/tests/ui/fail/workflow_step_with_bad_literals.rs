use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step(max_attempts = 0, timeout = "30 secs", backoff = "1m..1s")]
    async fn act() {}
}
fn main() {}

use drystone::{Client, Flow, primitive, workflow};
#[primitive(semaphore, permits = 1)]
struct Line;
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>, lines: &Client<Line>) {
        let _permit = flow.permit(lines.get("a").try_acquire()).await;
    }
}
fn main() {}

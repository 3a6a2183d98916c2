use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        tokio::select! {
            _ = flow.sleep("5s") => (),
        }
        tokio::join!(flow.sleep("5s"));
        futures_util::join!(flow.sleep("5s"));
        drystone::join!(flow.sleep("5s"), flow.sleep("6s"));
    }
}
fn main() {}
mod futures_util {
    macro_rules! join { ($($all:tt)*) => { () } }
    pub(crate) use join;
}

use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Report;
#[workflow]
impl Report {
    async fn run(_flow: &Flow<Self>) {}
}
async fn begin(report: ReportHandle) {
    let _ = report.schedule().await;
}
fn main() {}

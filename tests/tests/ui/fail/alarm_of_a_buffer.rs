use drystone::{Batch, Context, Never, primitive};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Lines;

#[primitive(buffer)]
impl Lines {
    #[flush]
    async fn write(&mut self, _batch: Batch<String>, cx: &Context) -> Result<(), Never> {
        cx.alarm_in("3d");
        Ok(())
    }
}

fn main() {}

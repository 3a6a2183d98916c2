use drystone::{Context, primitive};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Cart;

#[primitive(object)]
impl Cart {
    async fn put(&mut self, cx: &Context) {
        cx.alarm_in("3d");
    }
    async fn remind(&mut self) {}
}

fn main() {}

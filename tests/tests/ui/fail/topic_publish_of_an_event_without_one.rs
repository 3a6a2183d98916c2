use drystone::{Context, Event, primitive};
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
struct Approved(u32);

#[derive(Default, Serialize, Deserialize)]
struct Till;
#[primitive(object)]
impl Till {
    async fn take(&mut self, cx: &Context) { cx.publish(Approved(1)); }
}

fn main() {}

use drystone::{Event, Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = order)]
struct Paid { order: String }
#[derive(Default, Serialize, Deserialize)]
struct Till;
#[primitive(object)]
impl Till {}
#[derive(Primitives)]
struct App { till: Till }

fn look(client: &AppClient) { client.topic::<Paid>(); }
fn main() {}

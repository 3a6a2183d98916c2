//! Keys of events: one field, several of any order and type, those of a tuple; asked for by a body, and looked at by a client.
use std::fmt;

use drystone::{Event, Flow, Primitives, workflow};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Serialize, Deserialize)]
pub enum Region {
    North,
}

impl fmt::Display for Region {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("north")
    }
}

#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = order)]
pub struct One {
    pub order: u64,
}

#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = (order))]
pub struct InBrackets {
    pub order: u64,
}

#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = (region, r#type, order,))]
pub struct Three {
    pub order: u64,
    pub r#type: String,
    pub region: Region,
}

#[derive(Event, Serialize, Deserialize)]
#[event(key = (1, 0))]
pub struct Tuple(u64, String);

#[derive(Default, Serialize, Deserialize)]
pub struct Ship;

#[workflow(events(One, InBrackets, Three, Tuple))]
impl Ship {
    async fn run(flow: &Flow<Self>, kind: String) {
        flow.wait_for::<One>().key(7).await;
        flow.wait_for::<One>().key("7").await;
        flow.wait_for::<InBrackets>().key(7).await;
        flow.wait_for::<Three>().key((Region::North, kind, 7)).await;
        flow.wait_for::<Tuple>().await;
        let _ = flow.wait_for::<Tuple>().key(("a".into(), 7)).times(2).timeout("1m").await;
    }
}

#[derive(Primitives)]
pub struct App {
    ship: Ship,
}

pub fn look(client: &AppClient) {
    let _ = client.topic_of::<One>(7).status();
    let _ = client.topic_of::<Three>((Region::North, "parcel".into(), 7)).status();
}

fn main() {}

//! A kind from elsewhere takes the same road as ours (E13).

use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

mod kinds {
    include!("outside/pause.rs");
}

#[derive(Default, Serialize, Deserialize)]
struct Search(String);

#[primitive(kinds::pause, quiet = "2s")]
impl Search {
    #[hook(settled)]
    async fn index(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    async fn text(&self) -> String {
        self.0.clone()
    }
}

#[derive(Primitives)]
struct App {
    search: Search,
}

fn main() {
    let _: fn(&AppClient) = |client| {
        drop(client.search("a").touch());
        drop(client.search("a").text());
    };
}

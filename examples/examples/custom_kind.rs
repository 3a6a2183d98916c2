//! A kind of your own: the search index of a page is rebuilt once the page has been quiet for a while.
//!
//! The kind is `drystone_examples::debounce`, a module of a hundred lines in another crate. It is named by
//! its path and uses the same interface as `object`, `continuous` and `buffer`.

use drystone::{Primitives, Runtime, d, primitive};
use serde::{Deserialize, Serialize};

/// A page of a wiki.
#[derive(Default, Serialize, Deserialize)]
struct Page {
    text: String,
    indexed: String,
}

#[primitive(drystone_examples::debounce, quiet = "100ms")]
impl Page {
    /// Appends a word.
    async fn write(&mut self, word: String) {
        self.text += &word;
    }

    #[hook(settled)]
    async fn index(&mut self) -> Result<(), drystone::Never> {
        self.indexed = self.text.clone();
        println!("  indexed: {:?}", self.indexed);
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    page: Page,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let runtime = Runtime::sqlite(folder.path().join("app.db")).start::<App>().await?;
    let page = runtime.client().page("home");
    for word in ["dry ", "stone ", "walls"] {
        page.write(word.into()).await?;
        page.touch().await?;
        println!("wrote {word:?}");
    }
    while page.status().await?.is_none_or(|settled| settled == 0) {
        tokio::time::sleep(d!("10ms")).await;
    }
    println!("settled: {:?}", page.state().await?.map(|page| page.indexed));
    Ok(runtime.shutdown(d!("5s")).await?)
}

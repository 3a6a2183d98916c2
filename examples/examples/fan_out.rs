//! A run that starts child runs and waits for all of them. The process dies meanwhile. Each child still ends
//! once, and the parent gets every result.
//!
//! A child needs a permit to count its words, and only two children hold a permit at a time. Each child adds
//! to a tally by a durable call, which happens once.

use drystone::{Client, Flow, Primitives, RunError, Runtime, d, primitive, workflow, workflow::join_all};
use drystone_examples::{is_first_life, two_lives};
use serde::{Deserialize, Serialize};

/// A book whose words are counted chapter by chapter.
#[derive(Default, Serialize, Deserialize)]
struct Book;

#[workflow]
impl Book {
    /// Starts one child per chapter, and adds up their results.
    async fn run(
        flow: &Flow<Self>,
        chapters: Vec<String>,
        children: &Client<Chapter>,
    ) -> Result<u64, RunError<String>> {
        let chapter = |(number, text): (usize, String)| {
            flow.child(children.get(format!("chapter-{number}")).execute(text)) // a key under that of the book
        };
        let words = join_all(chapters.into_iter().enumerate().map(chapter)).await;
        words.into_iter().sum()
    }
}

/// A chapter of a book.
#[derive(Default, Serialize, Deserialize)]
struct Chapter;

#[workflow]
impl Chapter {
    /// Counts the words under a permit, and adds them to the tally.
    async fn run(flow: &Flow<Self>, text: String, tally: &Client<Tally>, desk: &Client<Desk>) -> Result<u64, String> {
        let permit = flow.permit(desk.get("desk").acquire()).await; // held by the run, also across crashes
        let words = flow.count(text).await?;
        drop(permit);
        let all = flow.call(tally.get("all").add(words)).await; // happens once, even if the process crashes
        println!("  {}: {words} words, {all} in all", flow.key_text().split('~').next().unwrap_or_default());
        Ok(words)
    }

    #[step]
    async fn count(text: String) -> Result<u64, String> {
        if text.contains("stormy") && is_first_life() {
            println!("  ... and the process dies here");
            std::process::abort();
        }
        Ok(text.split_whitespace().count() as u64)
    }
}

/// The number of words counted so far.
#[derive(Default, Serialize, Deserialize)]
struct Tally(u64);

#[primitive(object)]
impl Tally {
    async fn add(&mut self, words: u64) -> u64 {
        self.0 += words;
        self.0
    }
}

/// A desk with room for two.
#[primitive(semaphore, permits = 2)]
struct Desk;

#[derive(Primitives)]
struct App {
    book: Book,
    chapter: Chapter,
    tally: Tally,
    desk: Desk,
}

fn main() -> anyhow::Result<()> {
    two_lives(async |path| {
        let runtime = Runtime::sqlite(path).start::<App>().await?;
        let chapters = ["It was a dark and quiet night", "The day was bright", "A stormy night followed", "The end"];
        let words = runtime.client().book("novel").execute(chapters.map(str::to_owned).to_vec()).await?;
        let all = runtime.client().tally("all").state().await?.map_or(0, |tally| tally.0);
        println!("  the book has {words} words, and {all} were counted");
        assert_eq!((words, all), (17, 17), "each chapter was counted once");
        Ok(runtime.shutdown(d!("5s")).await?)
    })
}

//! Topics: events for every wait (T).
//!
//! - `publishing`: an event gets a number and a topic, once, also with a commit of the publisher (T1).
//! - `logs`: an event for all waits; the log from which a run reads on (T2).
//! - `retention`: how many events a topic keeps, and for how long (T2, T3, V9).
//! - `one_wait`: an event for a single wait (T3).
//! - `returned`: an event whose wait is over when it arrives (T3).
//! - `deadlines`: an event and the deadline of a wait (T4).
//! - `many_waits`: a thousand waits for one event, and their costs (T5).
//! - `waits`: waits of every shape, and their list (T6, V8).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod deadlines;
mod logs;
mod many_waits;
mod one_wait;
mod publishing;
mod retention;
mod returned;
mod waits;

use std::collections::BTreeSet;

use drystone::{
    CallError, Context, Event, Failure, Flow, Primitives, PublishError, Published, d, join_all, primitive,
    testing::{Moment, Setup, World},
    workflow,
    workflow::RunPhase,
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};

/// Delivered to all waits.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
#[event(topic)]
struct News(u32);

/// Delivered to all waits for this order.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
#[event(topic, key = order)]
struct Paid {
    order: String,
    cents: u32,
}

/// A log that is read from the start of the run.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "created", max_pending = 5)]
struct Entry(u32);

/// A log; every reader starts at its beginning.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "start", keep_for = "1d")]
struct Page(u32);

/// Delivered to a single wait.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", keep_for = "1h", max_pending = 3)]
struct Job(u32);

/// Delivered to a single wait, and kept longer than a run queues events.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", keep_for = "30d")]
struct Chore(u32);

/// A log that is read from its beginning, and kept longer than a run queues events.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "start", keep_for = "30d")]
struct Chapter(u32);

/// Reads `count` news in sequence.
#[derive(Default, Serialize, Deserialize)]
struct NewsReader {
    read: Vec<u32>,
}

#[workflow(events(News))]
impl NewsReader {
    async fn run(flow: &Flow<Self>, count: u32) -> Vec<u32> {
        for _ in 0..count {
            let News(number) = flow.wait_for::<News>().await;
            flow.update(|reader| reader.read.push(number));
        }
        flow.look(|reader| reader.read.clone())
    }
}

/// Takes `count` jobs in sequence.
#[derive(Default, Serialize, Deserialize)]
struct JobReader;

#[workflow(events(Job))]
impl JobReader {
    async fn run(flow: &Flow<Self>, count: u32) -> Vec<u32> {
        let mut read = Vec::new();
        for _ in 0..count {
            read.push(flow.wait_for::<Job>().await.0);
        }
        read
    }
}

/// Reads `count` entries in sequence.
#[derive(Default, Serialize, Deserialize)]
struct EntryReader;

#[workflow(events(Entry))]
impl EntryReader {
    async fn run(flow: &Flow<Self>, count: u32) -> Vec<u32> {
        let mut read = Vec::new();
        for _ in 0..count {
            read.push(flow.wait_for::<Entry>().await.0);
        }
        read
    }
}

/// Reads `count` pages in sequence.
#[derive(Default, Serialize, Deserialize)]
struct PageReader;

#[workflow(events(Page))]
impl PageReader {
    async fn run(flow: &Flow<Self>, count: u32) -> Vec<u32> {
        let mut read = Vec::new();
        for _ in 0..count {
            read.push(flow.wait_for::<Page>().await.0);
        }
        read
    }
}

/// Takes `count` chores in sequence.
#[derive(Default, Serialize, Deserialize)]
struct ChoreReader;

#[workflow(events(Chore))]
impl ChoreReader {
    async fn run(flow: &Flow<Self>, count: u32) -> Vec<u32> {
        let mut read = Vec::new();
        for _ in 0..count {
            read.push(flow.wait_for::<Chore>().await.0);
        }
        read
    }
}

/// Reads `count` chapters in sequence.
#[derive(Default, Serialize, Deserialize)]
struct ChapterReader;

#[workflow(events(Chapter))]
impl ChapterReader {
    async fn run(flow: &Flow<Self>, count: u32) -> Vec<u32> {
        let mut read = Vec::new();
        for _ in 0..count {
            read.push(flow.wait_for::<Chapter>().await.0);
        }
        read
    }
}

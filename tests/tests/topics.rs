//! Topics: events for every wait (T).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

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

/// A log that is read from its beginning and keeps few events.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "start", max_pending = 5)]
struct Notice(u32);

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

/// A log per key that is read from the start of the run.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, key = at, from = "created", keep_for = "1h")]
struct Stamp {
    at: String,
    number: u32,
}

/// Delivered to all waits for this part of this parcel of this shop.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, key = (shop, parcel, part))]
struct Moved {
    part: u64,
    parcel: String,
    shop: String,
    to: u32,
}

/// Reads a number of events of a topic in sequence.
#[derive(Default, Serialize, Deserialize)]
struct Reader {
    read: Vec<u32>,
}

#[workflow(events(News, Entry, Page, Job, Chore, Chapter, Notice))]
impl Reader {
    async fn run(flow: &Flow<Self>, what: String, count: u32) -> Vec<u32> {
        for _ in 0..count {
            let number = match what.as_str() {
                "news" => flow.wait_for::<News>().await.0,
                "entries" => flow.wait_for::<Entry>().await.0,
                "pages" => flow.wait_for::<Page>().await.0,
                "chores" => flow.wait_for::<Chore>().await.0,
                "chapters" => flow.wait_for::<Chapter>().await.0,
                "notices" => flow.wait_for::<Notice>().await.0,
                _ => flow.wait_for::<Job>().await.0,
            };
            flow.update(|reader| reader.read.push(number));
        }
        flow.look(|reader| reader.read.clone())
    }
}

/// Nearly the largest number of waits that a run may have at once.
const MANY: usize = 4_000;

/// Too many places for their names to fit into a record.
const STAMPS: u32 = 2_400;

/// A long name of a place.
fn place(number: u32) -> String {
    format!("{number:0500}")
}

/// Waits in one of many ways.
#[derive(Default, Serialize, Deserialize)]
struct Waiter;

#[workflow(events(News, Paid, Job, Chore, Chapter, Moved, Stamp, Entry))]
impl Waiter {
    async fn run(flow: &Flow<Self>, how: String) -> Result<Vec<u32>, Failure> {
        Ok(match how.as_str() {
            "key" => vec![flow.wait_for::<Paid>().key("a/b").await.cents],
            "parcel" => vec![flow.wait_for::<Moved>().key(("a\",\"b".to_owned(), "c".to_owned(), 8)).await.to],
            "chores" => {
                let said = flow.say(flow.wait_for::<Chore>().await.0).await;
                vec![said, flow.wait_for::<Chore>().await.0]
            }
            "chapters" => {
                let said = flow.say(flow.wait_for::<Chapter>().await.0).await;
                vec![said, flow.wait_for::<Chapter>().await.0]
            }
            "timeout" => match flow.wait_for::<News>().timeout("1m").await {
                Ok(News(number)) => vec![number],
                Err(_) => vec![0, flow.wait_for::<News>().await.0],
            },
            "news or sleep" => select! {
                news = flow.wait_for::<News>().timeout("1m") => vec![1, news.map_or(0, |news| news.0)],
                _ = flow.sleep("2m") => vec![2],
            },
            "three" => flow.wait_for::<News>().times(3).await.into_iter().map(|news| news.0).collect(),
            "two jobs" => match flow.wait_for::<Job>().times(2).timeout("1m").await {
                Ok(jobs) => jobs.into_iter().map(|job| job.0).collect(),
                Err(_) => Vec::new(),
            },
            "any" => {
                let which = select! {
                    News(number) = flow.wait_for::<News>() => number,
                    paid = flow.wait_for::<Paid>().key("x") => paid.cents,
                    _ = flow.sleep("1h") => 0,
                };
                flow.sleep("1h").await;
                vec![which]
            }
            "both" => {
                let (news, paid) = join!(flow.wait_for::<News>(), flow.wait_for::<Paid>().key("x"));
                vec![news.0, paid.cents]
            }
            "twice" => {
                let (one, other) = join!(flow.wait_for::<News>(), flow.wait_for::<News>());
                vec![one.0, other.0]
            }
            "job or news" => select! {
                Job(number) = flow.wait_for::<Job>() => vec![number],
                News(_) = flow.wait_for::<News>() => { flow.sleep("1h").await; Vec::new() },
            },
            "stamps" => {
                for number in 0..STAMPS {
                    flow.wait_for::<Stamp>().key(place(number)).await;
                }
                vec![STAMPS]
            }
            "publish" => {
                let published = flow.publish(News(8)).await?;
                vec![u32::try_from(published.number)?, u32::try_from(published.waiting)?]
            }
            "many" => {
                let waits: Vec<_> = (0..MANY).map(|key| flow.wait_for::<Paid>().key(format!("m{key}"))).collect();
                vec![u32::try_from(join_all(waits).await.len())?]
            }
            "nap" => {
                flow.sleep("1h").await;
                return flow.continue_as("entry".into()).await;
            }
            "entry" => vec![flow.wait_for::<Entry>().await.0],
            _ => vec![flow.say(9).await],
        })
    }

    #[step]
    async fn say(number: u32, cx: &Context) -> u32 {
        cx.publish(News(number));
        number
    }
}

/// Publishes with its own commit.
#[derive(Default, Serialize, Deserialize)]
struct Till {
    total: u32,
}

#[primitive(object)]
impl Till {
    async fn take(&mut self, order: String, cents: u32, cx: &Context) -> Result<u32, Failure> {
        self.total += cents;
        cx.publish(Paid { order, cents });
        if cents == 13 { Err("not thirteen".into()) } else { Ok(self.total) }
    }

    async fn hire(&mut self, number: u32, cx: &Context) {
        cx.publish(Job(number));
    }
}

#[derive(Primitives)]
struct App {
    reader: Reader,
    waiter: Waiter,
    till: Till,
}

/// An app without `Waiter`: messages to such runs wait in the inbox.
#[derive(Primitives)]
struct Deaf {
    reader: Reader,
    till: Till,
}

/// T1, T2
#[tokio::test]
async fn an_event_is_numbered_and_reaches_all_who_wait_and_nobody_else() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for key in ["a", "b", "c"] {
            client.reader(key).start("news".into(), 1).await.unwrap();
        }
        let published = client.publish(News(7)).await.unwrap();
        assert_eq!(published, Published { number: 1, waiting: 3 });
        for key in ["a", "b", "c"] {
            assert_eq!(client.reader(key).result().await.unwrap(), [7], "{key}");
        }
        client.reader("late").start("news".into(), 1).await.unwrap();
        world.settle().await;
        assert_eq!(client.reader("late").try_result().await.unwrap(), None, "it waits for the next one");
        assert_eq!(client.publish(News(8)).await.unwrap(), Published { number: 2, waiting: 1 });
        assert_eq!(client.reader("late").result().await.unwrap(), [8]);
        let told: BTreeSet<String> =
            client.topic::<News>().deliveries(1, None).await.unwrap().deliveries.into_iter().map(|to| to.run).collect();
        assert_eq!(told, ["a", "b", "c"].map(str::to_owned).into());
        let history = client.topic::<News>().history(10).await.unwrap();
        assert_eq!(history.iter().map(|event| (event.number, event.event.0)).collect::<Vec<_>>(), [(1, 7), (2, 8)]);
    }
}

/// T1
#[tokio::test]
async fn what_is_published_twice_with_one_idempotency_key_is_heard_once() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for (key, what) in [("all", "news"), ("one", "jobs")] {
            client.reader(key).start(what.into(), 2).await.unwrap();
        }
        for _ in 0..2 {
            let news = client.publish(News(1)).idempotency_key("first").await.unwrap();
            let job = client.publish(Job(1)).idempotency_key("first").await.unwrap();
            assert_eq!([news, job], [Published { number: 1, waiting: 1 }; 2], "the second is told what the first was");
            world.settle().await;
        }
        for key in ["all", "one"] {
            assert_eq!(client.reader(key).try_result().await.unwrap(), None, "{key} waits for another");
        }
        client.publish(News(2)).idempotency_key("second").await.unwrap();
        client.publish(Job(2)).idempotency_key("second").await.unwrap();
        for key in ["all", "one"] {
            assert_eq!(client.reader(key).result().await.unwrap(), [1, 2], "{key}");
        }
    }
}

/// T1, V10
#[tokio::test]
async fn every_key_is_a_topic_of_its_own_whatever_is_in_it() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("a").start("key".into()).await.unwrap();
        for order in ["a", "a/", "a/b/c", "A/B", "", "a\0b"] {
            let published = client.publish(Paid { order: order.into(), cents: 1 }).await.unwrap();
            assert_eq!(published, Published { number: 1, waiting: 0 }, "{order:?}");
        }
        assert_eq!(client.waiter("a").try_result().await.unwrap(), None);
        assert_eq!(client.publish(Paid { order: "a/b".into(), cents: 5 }).await.unwrap().waiting, 1);
        assert_eq!(client.waiter("a").result().await.unwrap(), [5]);
    }
}

/// T1, V8, V10
#[tokio::test]
async fn a_key_of_several_fields_is_one_topic_whatever_is_in_them() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("a").start("parcel".into()).await.unwrap();
        let moved = |shop: &str, parcel: &str, part| Moved { part, parcel: parcel.into(), shop: shop.into(), to: 5 };
        for (shop, parcel, part) in [
            ("a", "b\",\"c", 8),
            ("a\",\"b", "c", 7),
            ("a\",\"b\",\"c", "", 8),
            ("c", "a\",\"b", 8),
            ("a\",\"b\0", "c", 8),
        ] {
            let published = client.publish(moved(shop, parcel, part)).await.unwrap();
            assert_eq!(published, Published { number: 1, waiting: 0 }, "{shop:?} {parcel:?} {part}");
        }
        world.restart().await;
        let topic = client.topic_of::<Moved>(("a\",\"b".into(), "c".into(), 8));
        assert_eq!(topic.status().await.unwrap().unwrap().watching, 1);
        client.publish(moved("a\",\"b", "c", 8)).await.unwrap();
        assert_eq!(client.waiter("a").result().await.unwrap(), [5]);
        assert_eq!(topic.history(10).await.unwrap()[0].event.to, 5);
    }
}

/// T2
#[tokio::test]
async fn a_log_is_read_from_where_its_type_says_each_event_once_and_in_order() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for number in 1..=3 {
            client.publish(Entry(number)).await.unwrap();
            client.publish(Page(number)).await.unwrap();
        }
        world.advance(d!("1s")).await;
        client.reader("entries").start("entries".into(), 2).await.unwrap();
        client.reader("pages").start("pages".into(), 5).await.unwrap();
        world.restart().await;
        for number in 4..=5 {
            client.publish(Entry(number)).await.unwrap();
            client.publish(Page(number)).await.unwrap();
        }
        assert_eq!(client.reader("entries").result().await.unwrap(), [4, 5]);
        assert_eq!(client.reader("pages").result().await.unwrap(), [1, 2, 3, 4, 5]);
        world.advance(d!("25h")).await;
        client.reader("after").start("pages".into(), 1).await.unwrap();
        client.publish(Page(6)).await.unwrap();
        assert_eq!(client.reader("after").result().await.unwrap(), [6], "the others are kept no longer");
    }
}

/// T2, L5
#[tokio::test]
async fn a_log_is_read_from_when_the_run_began_also_by_its_later_generations() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.publish(Entry(1)).await.unwrap();
        world.advance(d!("1s")).await;
        client.waiter("a").start("nap".into()).await.unwrap();
        client.publish(Entry(2)).await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(client.waiter("a").result().await.unwrap(), [2]);
        assert_eq!(client.waiter("a").status().await.unwrap().unwrap().generation, 2);
    }
}

/// T2
#[tokio::test]
async fn a_run_reads_on_behind_what_it_has_seen_while_it_was_busy() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.reader("a").start("entries".into(), 4).await.unwrap();
        for number in 1..=4 {
            client.publish(Entry(number)).await.unwrap();
            if number == 2 {
                world.restart().await;
            }
        }
        assert_eq!(client.reader("a").result().await.unwrap(), [1, 2, 3, 4]);
    }
}

/// T2, W11
#[tokio::test]
async fn a_run_that_reads_a_log_for_each_of_many_keys_forgets_what_is_kept_no_longer() {
    let world = World::memory().start::<App>().await;
    let client = world.client();
    client.waiter("a").start("stamps".into()).await.unwrap();
    for number in 0..STAMPS {
        if number % 100 == 99 {
            world.advance(d!("1h")).await;
        }
        client.publish(Stamp { at: place(number), number }).await.unwrap();
        world.settle().await;
    }
    assert_eq!(client.waiter("a").result().await.unwrap(), [STAMPS]);
}

/// T2
#[tokio::test]
async fn a_log_keeps_so_many_and_counts_those_that_go_early() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for number in 1..=8 {
            client.publish(Entry(number)).await.unwrap();
        }
        let status = client.topic::<Entry>().status().await.unwrap().unwrap();
        assert_eq!((status.last, status.kept, status.trimmed), (8, 5, 3));
        let history = client.topic::<Entry>().history(100).await.unwrap();
        assert_eq!(history.iter().map(|entry| entry.event.0).collect::<Vec<_>>(), [4, 5, 6, 7, 8]);
    }
}

/// The largest number of delivery rows that a topic keeps if `max_pending` is small.
const DELIVERIES_MAX: usize = 1_000;

/// T1, T2
#[tokio::test]
async fn a_topic_forgets_its_oldest_deliveries_and_every_run_has_heard_the_event() {
    let world = World::memory().start::<App>().await;
    let client = world.client();
    client.publish(Notice(7)).await.unwrap();
    let runs = DELIVERIES_MAX + 1;
    // Each run starts after the event was published, so its delivery is a row of its own.
    for run in 0..runs {
        client.reader(format!("r{run}")).start("notices".into(), 1).await.unwrap();
    }
    world.settle().await;
    for run in 0..runs {
        assert_eq!(client.reader(format!("r{run}")).try_result().await.unwrap(), Some(vec![7]), "{run}");
    }
    assert_eq!(client.topic::<Notice>().history(5).await.unwrap().len(), 1, "the event itself is kept");
    let told = told(&client, 1).await;
    assert_eq!(told.len(), runs - 100, "the oldest hundred went together");
    assert!(!told.contains(&"r0".to_owned()) && told.contains(&format!("r{}", runs - 1)), "the oldest go first");
}

/// The runs to which a notice was delivered, according to its topic.
async fn told(client: &AppClient, number: u64) -> Vec<String> {
    let (mut told, mut after) = (Vec::new(), None);
    loop {
        let page = client.topic::<Notice>().deliveries(number, after).await.unwrap();
        told.extend(page.deliveries.into_iter().map(|to| to.run));
        after = page.next;
        if after.is_none() {
            return told;
        }
    }
}

/// T2, T1
#[tokio::test]
async fn what_a_log_keeps_no_longer_is_counted_and_told_and_seen_for_as_long_again() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for number in 1..=3 {
            client.publish(Page(number)).await.unwrap();
        }
        world.advance(d!("1d")).await;
        let told = world.events();
        assert_eq!(names(&told).iter().filter(|name| **name == "topic.expired").count(), 3);
        let counts = async || {
            let status = client.topic::<Page>().status().await.unwrap();
            status.map(|status| (status.last, status.kept, status.expired, status.dead))
        };
        assert_eq!(counts().await, Some((3, 0, 3, 0)));
        world.restart().await;
        world.advance(d!("23h")).await;
        assert_eq!(client.publish(Page(4)).await.unwrap().number, 4, "it is the same topic still");
        world.advance(d!("1d")).await;
        assert_eq!(counts().await, Some((4, 0, 4, 0)));
        world.advance(d!("1d")).await;
        assert_eq!(counts().await, None, "nothing is left of it");
        assert_eq!(world.dead_letters().count().await.unwrap(), 0);
    }
}

/// T2
#[tokio::test]
async fn of_two_that_are_published_to_one_wait_the_second_is_for_those_who_read_on() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.reader("news").start("news".into(), 2).await.unwrap();
        client.reader("entries").start("entries".into(), 2).await.unwrap();
        world.settle().await;
        let (one, two) = tokio::join!(client.publish(News(1)).into_future(), client.publish(News(2)).into_future());
        assert_eq!((one.unwrap().waiting, two.unwrap().waiting), (1, 0), "there was one wait");
        let (one, two) = tokio::join!(client.publish(Entry(1)).into_future(), client.publish(Entry(2)).into_future());
        assert_eq!((one.unwrap().waiting, two.unwrap().waiting), (1, 0), "there was one wait");
        assert_eq!(client.reader("entries").result().await.unwrap(), [1, 2], "all that came since the run began");
        assert_eq!(
            client.reader("news").state().await.unwrap().unwrap().read,
            [1],
            "what came before a wait is not its"
        );
        client.publish(News(3)).await.unwrap();
        assert_eq!(client.reader("news").result().await.unwrap(), [1, 3]);
    }
}

/// T3
#[tokio::test]
async fn an_event_for_one_goes_to_the_one_who_waits_longest() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for key in ["first", "second"] {
            client.reader(key).start("jobs".into(), 1).await.unwrap();
            world.advance(d!("1s")).await;
        }
        assert_eq!(client.publish(Job(1)).await.unwrap(), Published { number: 1, waiting: 2 });
        assert_eq!(client.reader("first").result().await.unwrap(), [1]);
        assert_eq!(client.reader("second").try_result().await.unwrap(), None);
        client.publish(Job(2)).await.unwrap();
        assert_eq!(client.reader("second").result().await.unwrap(), [2]);
        client.publish(Job(3)).await.unwrap();
        client.publish(Job(4)).await.unwrap();
        world.restart().await;
        client.reader("third").start("jobs".into(), 2).await.unwrap();
        assert_eq!(client.reader("third").result().await.unwrap(), [3, 4], "kept until it is taken");
        assert_eq!(client.topic::<Job>().status().await.unwrap().unwrap().pending, 0);
    }
}

/// T3, D2
#[tokio::test]
async fn an_event_that_nobody_takes_in_time_is_a_dead_letter_and_can_be_published_again() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.publish(Job(1)).await.unwrap();
        world.advance(d!("59m")).await;
        client.publish(Job(2)).await.unwrap();
        world.advance(d!("1m")).await;
        let dead = world.dead_letters().events::<Job>(Default::default()).await.unwrap().events;
        assert_eq!(dead.iter().map(|dead| dead.event.clone()).collect::<Vec<_>>(), [Ok(Job(1))]);
        assert_eq!(dead[0].letter.topic.as_deref(), Some("Job"));
        client.reader("a").start("jobs".into(), 2).await.unwrap();
        world.dead_letters().replay(dead[0].letter.id).await.unwrap();
        assert_eq!(client.reader("a").result().await.unwrap(), [2, 1]);
        assert_eq!(world.dead_letters().count().await.unwrap(), 0);
        let status = client.topic::<Job>().status().await.unwrap().unwrap();
        assert_eq!((status.last, status.dead), (3, 1));
    }
}

/// T3, V9
#[tokio::test]
async fn a_topic_that_is_full_refuses_and_loses_nothing() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for number in 1..=3 {
            client.publish(Job(number)).await.unwrap();
        }
        let full = client.publish(Job(4)).await.unwrap_err().failed().unwrap();
        assert_eq!(full, PublishError::Full { topic: "Job".into(), limit: 3 });
        client.reader("a").start("jobs".into(), 3).await.unwrap();
        assert_eq!(client.reader("a").result().await.unwrap(), [1, 2, 3]);
        let long = Paid { order: "x".repeat(600), cents: 1 };
        assert!(matches!(client.publish(long).await.unwrap_err(), CallError::Fault(_)), "a key has 512 bytes at most");
    }
}

/// T3, D2, D3
#[tokio::test]
async fn what_is_published_with_a_commit_and_finds_its_topic_full_is_a_dead_event_and_comes_back() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (client, letters) = (world.client(), world.dead_letters());
        for number in 1..=3 {
            client.publish(Job(number)).await.unwrap();
        }
        client.till("t").hire(4).await.unwrap();
        world.advance(d!("30m")).await;
        let dead = letters.events::<Job>(Default::default()).await.unwrap().events;
        assert_eq!(dead.iter().map(|dead| dead.event.clone()).collect::<Vec<_>>(), [Ok(Job(4))]);
        let letter = &dead[0].letter;
        assert_eq!((letter.topic.as_deref(), letter.kind.as_deref()), (Some("Job"), Some("topic")));
        assert!(letter.error.as_ref().unwrap().to_string().contains("Full"), "{letter:?}");
        client.reader("a").start("jobs".into(), 4).await.unwrap();
        world.settle().await;
        letters.replay_to_topic(letter.id).await.unwrap();
        assert_eq!(client.reader("a").result().await.unwrap(), [1, 2, 3, 4]);
        assert_eq!(letters.count().await.unwrap(), 0);
    }
}

/// T3
#[tokio::test]
async fn what_came_for_a_wait_that_is_over_goes_to_the_next() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("gone").start("job or news".into()).await.unwrap();
        world.advance(d!("1s")).await;
        client.reader("next").start("jobs".into(), 1).await.unwrap();
        // Both events are on their way to the first run when the process dies; the news arrives first.
        world.crash_at_commit(1, Moment::After);
        let (news, job) = tokio::join!(client.publish(News(1)).into_future(), client.publish(Job(1)).into_future());
        assert!(news.is_err() && job.is_err());
        world.restart().await;
        assert_eq!(client.reader("next").result().await.unwrap(), [1]);
        let to = client.topic::<Job>().deliveries(1, None).await.unwrap().deliveries;
        assert_eq!(to.iter().map(|to| to.run.as_str()).collect::<Vec<_>>(), ["next"]);
        assert!(names(&world.events()).contains(&"topic.returned"), "the first had it, and gave it back");
    }
}

/// T3
#[tokio::test]
async fn what_comes_back_to_a_topic_that_is_another_by_now_takes_nobodys_number() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("gone").start("job or news".into()).await.unwrap();
        world.settle().await;
        // Both events are on their way when the process dies. The run comes back when its topic is long
        // gone.
        world.crash_at_commit(1, Moment::After);
        let (news, job) = tokio::join!(client.publish(News(1)).into_future(), client.publish(Job(1)).into_future());
        assert!(news.is_err() && job.is_err());
        let world = world.restart_as::<Deaf, ()>(()).await.unwrap();
        world.advance(d!("2h")).await;
        assert!(world.client().topic::<Job>().status().await.unwrap().is_none(), "nothing is left of it");
        assert_eq!(world.client().publish(Job(2)).await.unwrap().number, 1);
        let world = world.restart_as::<App, ()>(()).await.unwrap();
        world.settle().await;
        assert!(names(&world.events()).contains(&"topic.returned"), "it has taken the news, and gives the job back");
        let kept = world.client().topic::<Job>().history(10).await.unwrap();
        assert_eq!(kept.iter().map(|job| (job.number, job.event.0)).collect::<Vec<_>>(), [(1, 2), (2, 1)]);
        world.client().reader("next").start("jobs".into(), 2).await.unwrap();
        assert_eq!(world.client().reader("next").result().await.unwrap(), [2, 1]);
    }
}

/// T3, T2, L3
#[tokio::test]
async fn what_is_on_its_way_to_a_run_that_is_terminated_is_for_others() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.reader("gone").start("jobs".into(), 1).await.unwrap();
        client.reader("deaf").start("news".into(), 1).await.unwrap();
        world.advance(d!("1s")).await;
        client.reader("next").start("jobs".into(), 1).await.unwrap();
        world.settle().await;
        // In each pair, publish and end share a batch, so the event arrives at a run that has ended.
        let (news, deaf) = (client.publish(News(1)), client.reader("deaf").terminate());
        let (news, deaf) = tokio::join!(news.into_future(), deaf.into_future());
        assert_eq!((news.unwrap().waiting, deaf.unwrap()), (1, true));
        world.settle().await;
        assert!(!names(&world.events()).contains(&"topic.returned"), "what is for all comes back to nobody");
        let (job, gone) = (client.publish(Job(1)), client.reader("gone").terminate());
        let (job, gone) = tokio::join!(job.into_future(), gone.into_future());
        assert_eq!((job.unwrap().waiting, gone.unwrap()), (2, true));
        assert_eq!(client.reader("next").result().await.unwrap(), [1]);
        assert!(names(&world.events()).contains(&"topic.returned"), "it was on its way to the first");
        client.reader("alone").start("jobs".into(), 1).await.unwrap();
        world.settle().await;
        let (job, alone) = (client.publish(Job(2)), client.reader("alone").terminate());
        let (job, alone) = tokio::join!(job.into_future(), alone.into_future());
        assert!(job.is_ok() && alone.unwrap());
        world.settle().await;
        assert_eq!(client.topic::<Job>().status().await.unwrap().unwrap().pending, 1, "for whoever waits next");
        assert_eq!(world.dead_letters().count().await.unwrap(), 0);
        world.advance(d!("1h")).await;
        let dead = world.dead_letters().events::<Job>(Default::default()).await.unwrap().events;
        assert_eq!(dead.iter().map(|dead| dead.event.clone()).collect::<Vec<_>>(), [Ok(Job(2))]);
        assert_eq!(client.topic::<News>().status().await.unwrap().unwrap().kept, 1, "the log has it");
    }
}

/// Starts a run and publishes two events, and retries each call until it succeeds. Returns whether the
/// process died.
async fn two_are_heard(world: &World<App>, how: &str) -> bool {
    let (client, mut done, mut died) = (world.client(), 0, false);
    while done < 3 {
        let key = format!("{done}");
        let is_done = match (done, how) {
            (0, _) => client.waiter("a").start(how.into()).idempotency_key(key).await.is_ok(),
            (number, "chores") => client.publish(Chore(number)).idempotency_key(key).await.is_ok(),
            (number, _) => client.publish(Chapter(number)).idempotency_key(key).await.is_ok(),
        };
        world.settle().await;
        if world.is_dead() {
            died = true;
            world.restart().await;
        }
        done += u32::from(is_done);
    }
    died
}

/// T2, T3, W2
#[tokio::test]
async fn a_run_that_goes_from_wait_to_step_to_wait_hears_each_event_once_wherever_the_process_dies() {
    for how in ["chores", "chapters"] {
        for (commit, moment) in (1..=10).flat_map(|commit| [(commit, Moment::Before), (commit, Moment::After)]) {
            for setup in both() {
                let world = setup.start::<App>().await;
                world.crash_at_commit(commit, moment);
                let died = two_are_heard(&world, how).await;
                assert!(died || commit > 8, "{how}: there are fewer than {commit} commits");
                let heard = world.client().waiter("a").result().await.unwrap();
                assert_eq!(heard, [1, 2], "{how}: death {moment:?} commit {commit}");
                world.settle().await;
                let said = world.client().topic::<News>().history(10).await.unwrap();
                assert_eq!(
                    said.iter().map(|news| news.event.0).collect::<Vec<_>>(),
                    [1],
                    "what its step has published"
                );
            }
        }
    }
}

/// T4
#[tokio::test]
async fn who_was_seen_waiting_gets_it_also_if_the_process_dies_before_it_comes() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.reader("a").start("news".into(), 1).await.unwrap();
        world.restart().await;
        assert_eq!(client.reader("a").status().await.unwrap().unwrap().waits_for[0].operation, "wait:News#1");
        world.crash_at_commit(1, Moment::After);
        client.publish(News(1)).await.unwrap_err();
        world.restart().await;
        assert_eq!(client.reader("a").result().await.unwrap(), [1]);
    }
}

/// T3, T2, V9
#[tokio::test]
async fn what_was_kept_for_longer_than_runs_queue_events_is_taken_all_the_same() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.publish(Chore(1)).await.unwrap();
        client.publish(Chapter(1)).await.unwrap();
        world.advance(d!("8d")).await;
        client.publish(Chapter(2)).await.unwrap();
        client.reader("chore").start("chores".into(), 1).await.unwrap();
        client.reader("chapters").start("chapters".into(), 2).await.unwrap();
        assert_eq!(client.reader("chore").result().await.unwrap(), [1]);
        assert_eq!(client.reader("chapters").result().await.unwrap(), [1, 2]);
        assert!(client.reader("chore").status().await.unwrap().unwrap().queued.is_empty(), "none has expired");
    }
}

/// T4, V9
#[tokio::test]
async fn who_was_seen_waiting_gets_it_also_if_the_process_is_down_for_longer_than_events_are_queued() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.reader("all").start("news".into(), 1).await.unwrap();
        client.reader("one").start("chores".into(), 1).await.unwrap();
        world.settle().await;
        world.crash_at_commit(1, Moment::After);
        let (news, chore) = tokio::join!(client.publish(News(1)).into_future(), client.publish(Chore(2)).into_future());
        assert!(news.is_err() && chore.is_err());
        world.advance(d!("8d")).await;
        world.restart().await;
        assert_eq!(client.reader("all").result().await.unwrap(), [1]);
        assert_eq!(client.reader("one").result().await.unwrap(), [2]);
    }
}

/// V9, H2
#[tokio::test]
async fn what_was_delivered_and_nobody_takes_expires_from_when_it_came() {
    for (held_for, is_taken) in [(d!("6d"), true), (d!("8d"), false)] {
        for setup in both() {
            let world = setup.start::<App>().await;
            let (client, run) = (world.client(), world.client().reader("a"));
            run.start("chores".into(), 1).await.unwrap();
            run.pause().await.unwrap();
            world.crash_at_commit(1, Moment::After);
            client.publish(Chore(1)).await.unwrap_err();
            world.advance(d!("5d")).await;
            // Now the event arrives, and the run does not take it.
            world.restart().await;
            world.advance(held_for).await;
            run.resume().await.unwrap();
            assert_eq!(run.try_result().await.unwrap(), is_taken.then(|| vec![1]));
            let expired = run.status().await.unwrap().unwrap().queued.first().map_or(0, |queue| queue.expired);
            assert_eq!(expired, u64::from(!is_taken));
        }
    }
}

/// T4
#[tokio::test]
async fn an_event_that_was_published_before_a_deadline_wins_over_it() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("a").start("timeout".into()).await.unwrap();
        world.advance(d!("59s")).await;
        // The event is durable, but no run has it yet when the deadline passes.
        world.crash_at_commit(1, Moment::After);
        client.publish(News(1)).await.unwrap_err();
        world.advance(d!("1h")).await;
        world.restart().await;
        assert_eq!(client.waiter("a").result().await.unwrap(), [1]);
    }
}

/// T4
#[tokio::test]
async fn what_is_published_after_a_deadline_is_for_the_next_wait() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("a").start("timeout".into()).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(client.publish(News(1)).await.unwrap().waiting, 1, "the next wait");
        assert_eq!(client.waiter("a").result().await.unwrap(), [0, 1]);
        client.waiter("b").start("timeout".into()).await.unwrap();
        world.settle().await;
        // The run is paused when the deadline passes. At the publish the wait is still listed, but the
        // event comes too late.
        client.waiter("b").pause().await.unwrap();
        world.advance(d!("2m")).await;
        assert_eq!(client.publish(News(2)).await.unwrap().waiting, 1);
        client.waiter("b").resume().await.unwrap();
        world.settle().await;
        assert_eq!(client.waiter("b").try_result().await.unwrap(), None, "it came before the next wait");
        client.publish(News(3)).await.unwrap();
        assert_eq!(client.waiter("b").result().await.unwrap(), [0, 3]);
    }
}

/// T4, V6
#[tokio::test]
async fn what_was_due_after_the_deadline_of_a_wait_does_not_come_before_it() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("a").start("news or sleep".into()).await.unwrap();
        world.settle().await;
        world.crash().await;
        world.advance(d!("3m")).await;
        world.restart().await;
        world.settle().await;
        assert_eq!(client.waiter("a").result().await.unwrap(), [1, 0], "the deadline, and not the sleep");
    }
}

/// T4, H2
#[tokio::test]
async fn what_is_sent_to_a_held_run_after_its_deadline_is_not_taken() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (client, run) = (world.client(), world.client().waiter("a"));
        run.start("news or sleep".into()).await.unwrap();
        world.settle().await;
        run.pause().await.unwrap();
        world.advance(d!("3m")).await;
        run.send(News(7)).await.unwrap();
        run.resume().await.unwrap();
        world.settle().await;
        assert_eq!(run.result().await.unwrap(), [1, 0]);
        let in_time = client.waiter("b");
        in_time.start("news or sleep".into()).await.unwrap();
        in_time.pause().await.unwrap();
        in_time.send(News(8)).await.unwrap();
        world.advance(d!("3m")).await;
        in_time.resume().await.unwrap();
        assert_eq!(in_time.result().await.unwrap(), [1, 8]);
    }
}

/// T5
#[tokio::test]
async fn a_thousand_who_wait_are_told_in_slices_each_once_wherever_the_process_dies() {
    for commit in [1, 2, 3, 4, 5, 7] {
        a_crowd_is_told(World::memory(), 1_000, commit).await;
    }
    for commit in [1, 2, 3] {
        a_crowd_is_told(World::sqlite(), 250, commit).await;
    }
}

/// Publishes an event for `count` waits. The process dies after this commit, counted from the publish.
async fn a_crowd_is_told(setup: Setup<()>, count: usize, commit: u64) {
    let world = setup.start::<App>().await;
    let client = world.client();
    for run in 0..count {
        client.reader(format!("r{run}")).start("news".into(), 1).await.unwrap();
    }
    world.crash_at_commit(commit, Moment::After);
    // The call succeeds only if its answer came before the process died.
    let _ = client.publish(News(1)).await;
    world.settle().await;
    assert!(world.is_dead());
    world.restart().await;
    world.settle().await;
    for run in 0..count {
        assert_eq!(client.reader(format!("r{run}")).try_result().await.unwrap(), Some(vec![1]), "{run}, {commit}");
    }
    let (mut told, mut after) = (Vec::new(), None);
    loop {
        let page = client.topic::<News>().deliveries(1, after).await.unwrap();
        told.extend(page.deliveries.into_iter().map(|to| to.run));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((told.len(), told.into_iter().collect::<BTreeSet<_>>().len()), (count, count));
    assert_eq!(client.topic::<News>().status().await.unwrap().unwrap().watching, 0);
}

/// T5
#[tokio::test]
async fn publishing_costs_one_commit_whoever_waits() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for run in 0..100 {
            client.reader(format!("r{run}")).start("news".into(), 1).await.unwrap();
        }
        world.settle().await;
        let before = world.counts();
        client.publish(Paid { order: "x".into(), cents: 1 }).await.unwrap();
        assert_eq!(world.counts().since(before).commits, 1);
        world.crash_at_commit(2, Moment::Before);
        assert_eq!(client.publish(News(1)).await.unwrap().waiting, 100, "answered before all of them are told");
        world.settle().await;
        assert!(world.is_dead());
    }
}

/// T3, T5
#[tokio::test]
async fn an_event_for_one_costs_the_same_however_many_wait() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for run in 0..40 {
            client.reader(format!("r{run}")).start("jobs".into(), 1).await.unwrap();
        }
        world.settle().await;
        let before = world.counts();
        assert_eq!(client.publish(Job(1)).await.unwrap().waiting, 40);
        world.settle().await;
        assert_eq!(world.counts().since(before).commits, 2, "the topic's, and that of the run which has it");
        assert_eq!(client.topic::<Job>().status().await.unwrap().unwrap().watching, 39);
    }
}

/// T6
#[tokio::test]
async fn what_was_sent_comes_before_what_is_published() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.reader("a").start("news".into(), 2).await.unwrap();
        client.reader("a").send(News(1)).await.unwrap();
        client.publish(News(2)).await.unwrap();
        assert_eq!(client.reader("a").result().await.unwrap(), [1, 2]);
        client.publish(Page(1)).await.unwrap();
        client.reader("b").start_with("pages".into(), 2, Page(9)).await.unwrap();
        assert_eq!(client.reader("b").result().await.unwrap(), [9, 1]);
    }
}

/// T2, T6
#[tokio::test]
async fn what_a_log_brings_to_a_wait_that_is_over_is_left_to_the_next_one() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        let run = client.reader("a");
        run.start("entries".into(), 2).await.unwrap();
        world.settle().await;
        // Both are in one commit, so the wait already has the sent event when the topic's event arrives.
        let (sent, published) = tokio::join!(run.send(Entry(1)).into_future(), client.publish(Entry(2)).into_future());
        assert_eq!((sent.unwrap().taken, published.unwrap().waiting), (true, 1));
        assert_eq!(run.result().await.unwrap(), [1, 2]);
    }
}

/// T6
#[tokio::test]
async fn watchers_are_listed_and_go_with_their_wait_their_deadline_and_their_run() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        let watching = async || {
            world.settle().await;
            let watchers = client.topic::<News>().watchers(None).await.unwrap().watchers;
            watchers.into_iter().map(|watcher| watcher.run).collect::<Vec<_>>()
        };
        for (key, how) in [("any", "any"), ("timeout", "timeout"), ("three", "three")] {
            client.waiter(key).start(how.into()).await.unwrap();
            world.advance(d!("1s")).await;
        }
        assert_eq!(watching().await, ["any", "timeout", "three"]);
        let shown = client.topic::<News>().watchers(None).await.unwrap().watchers.remove(1);
        assert_eq!((shown.workflow.as_str(), shown.operation.as_str()), ("waiter", "wait:News#1"));
        assert!(shown.until.is_some_and(|until| until > shown.since));
        client.publish(Paid { order: "x".into(), cents: 1 }).await.unwrap();
        assert_eq!(watching().await, ["timeout", "three"], "its wait lost the race");
        world.advance(d!("1m")).await;
        assert_eq!(watching().await, ["three", "timeout"], "another wait of the same run");
        client.waiter("three").terminate().await.unwrap();
        client.waiter("timeout").cancel().await.unwrap();
        assert_eq!(watching().await, [] as [&str; 0]);
        assert_eq!(client.topic::<News>().status().await.unwrap(), None, "nothing is left of it");
    }
}

/// V8
#[tokio::test]
async fn waits_of_every_shape_take_what_is_sent_and_what_is_published() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for how in ["three", "any", "both", "twice"] {
            client.waiter(how).start(how.into()).await.unwrap();
        }
        client.publish(News(1)).await.unwrap();
        client.waiter("three").send(News(2)).await.unwrap();
        world.restart().await;
        client.publish(Paid { order: "x".into(), cents: 5 }).await.unwrap();
        client.publish(News(3)).await.unwrap();
        assert_eq!(client.waiter("three").result().await.unwrap(), [1, 2, 3]);
        assert_eq!(client.waiter("both").result().await.unwrap(), [1, 5]);
        assert_eq!(client.waiter("twice").result().await.unwrap(), [1, 3], "a run sees an event once");
        world.advance(d!("1h")).await;
        assert_eq!(client.waiter("any").result().await.unwrap(), [1]);
    }
}

/// V8, T3
#[tokio::test]
async fn what_was_taken_for_a_wait_of_several_that_timed_out_is_not_lost() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("a").start("two jobs".into()).await.unwrap();
        client.publish(Job(1)).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(client.waiter("a").result().await.unwrap(), [] as [u32; 0]);
        world.settle().await;
        let dead = world.dead_letters().events::<Job>(Default::default()).await.unwrap().events;
        assert_eq!(dead.iter().map(|dead| dead.event.clone()).collect::<Vec<_>>(), [Ok(Job(1))]);
        client.reader("b").start("jobs".into(), 1).await.unwrap();
        world.dead_letters().replay_to_topic(dead[0].letter.id).await.unwrap();
        assert_eq!(client.reader("b").result().await.unwrap(), [1]);
    }
}

/// T1, M1, E5
#[tokio::test]
async fn entities_steps_and_bodies_publish_with_their_commits() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("key").start("key".into()).await.unwrap();
        client.till("t").take("a/b".into(), 13).await.unwrap_err();
        world.settle().await;
        assert_eq!(client.waiter("key").try_result().await.unwrap(), None, "what fails publishes nothing");
        client.till("t").take("a/b".into(), 12).await.unwrap();
        assert_eq!(client.waiter("key").result().await.unwrap(), [12]);
        client.reader("news").start("news".into(), 2).await.unwrap();
        client.waiter("body").start("publish".into()).await.unwrap();
        assert_eq!(client.waiter("body").result().await.unwrap(), [1, 1]);
        client.waiter("step").start("step".into()).await.unwrap();
        assert_eq!(client.reader("news").result().await.unwrap(), [8, 9]);
    }
}

/// M5, T1
#[tokio::test]
async fn a_body_publishes_once_wherever_the_process_dies() {
    for (commit, moment) in (1..=3).flat_map(|commit| [(commit, Moment::Before), (commit, Moment::After)]) {
        for setup in both() {
            let world = setup.start::<App>().await;
            let client = world.client();
            world.crash_at_commit(commit, moment);
            let _ = client.waiter("a").start("publish".into()).await;
            world.settle().await;
            if world.is_dead() {
                world.restart().await;
                let _ = client.waiter("a").start("publish".into()).await;
            }
            assert_eq!(client.waiter("a").result().await.unwrap(), [1, 0]);
            assert_eq!(client.topic::<News>().status().await.unwrap().unwrap().last, 1, "{commit} {moment:?}");
        }
    }
}

/// H2, T4
#[tokio::test]
async fn a_deadline_that_is_shifted_by_a_pause_is_shifted_for_the_topic_too() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("a").start("timeout".into()).await.unwrap();
        client.waiter("a").pause().await.unwrap();
        world.advance(d!("5m")).await;
        client.waiter("a").resume_shifted().await.unwrap();
        world.advance(d!("30s")).await;
        client.publish(News(4)).await.unwrap();
        assert_eq!(client.waiter("a").result().await.unwrap(), [4]);
    }
}

/// H2, T4
#[tokio::test]
async fn what_came_between_a_deadline_and_the_one_it_was_shifted_to_is_in_time() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.waiter("a").start("timeout".into()).await.unwrap();
        client.waiter("a").pause().await.unwrap();
        world.advance(d!("5m")).await;
        client.publish(News(3)).await.unwrap();
        client.waiter("a").resume_shifted().await.unwrap();
        assert_eq!(client.waiter("a").result().await.unwrap(), [3]);
        assert_eq!(client.topic::<News>().status().await.unwrap().unwrap().watching, 0);
    }
}

/// K3, K6, L3, W11
#[tokio::test]
async fn a_run_with_more_waits_than_one_commit_can_let_go_ends_all_the_same() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (client, run) = (world.client(), world.client().waiter("a"));
        let watching = async || {
            world.settle().await;
            let mut watching = 0;
            for key in (0..MANY).step_by(MANY / 50) {
                let status = client.topic_of::<Paid>(format!("m{key}")).status().await.unwrap();
                watching += status.map_or(0, |status| status.watching);
            }
            watching
        };
        run.start("many".into()).await.unwrap();
        run.pause().await.unwrap();
        assert_eq!(watching().await, 50, "topics are told also while it is held");
        run.resume().await.unwrap();
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended);
        assert!(run.terminate().await.unwrap());
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Terminated);
        world.restart().await;
        assert_eq!(watching().await, 0, "nobody is left listed");
        let other = client.waiter("b");
        other.start("many".into()).await.unwrap();
        assert_eq!(watching().await, 50);
        assert!(other.destroy().await.unwrap());
        assert!(other.status().await.unwrap().is_none());
        assert_eq!(watching().await, 0, "of one that is destroyed neither");
    }
}

/// H2, V8
#[tokio::test]
async fn a_run_that_is_paused_takes_no_more_than_it_waits_for() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.reader("a").start("news".into(), 1).await.unwrap();
        client.reader("b").start("jobs".into(), 1).await.unwrap();
        client.reader("a").pause().await.unwrap();
        client.reader("b").pause().await.unwrap();
        for number in 1..=3 {
            client.publish(News(number)).await.unwrap();
            client.publish(Job(number)).await.unwrap();
        }
        world.restart().await;
        client.reader("a").resume().await.unwrap();
        client.reader("b").resume().await.unwrap();
        assert_eq!(client.reader("a").result().await.unwrap(), [1]);
        assert_eq!(client.reader("b").result().await.unwrap(), [1]);
        assert_eq!(client.topic::<Job>().status().await.unwrap().unwrap().pending, 2, "they are for others");
        assert_eq!(world.dead_letters().count().await.unwrap(), 0);
    }
}

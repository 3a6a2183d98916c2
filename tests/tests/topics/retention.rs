//! How many events a topic keeps and for how long, and when a delivered event expires (T2, T3, V9).

use super::*;

#[derive(Primitives)]
struct App {
    news_reader: NewsReader,
    chore_reader: ChoreReader,
    chapter_reader: ChapterReader,
    notice_reader: NoticeReader,
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

/// A log that is read from its beginning and keeps few events.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "start", max_pending = 5)]
struct Notice(u32);

/// Reads `count` notices in sequence.
#[derive(Default, Serialize, Deserialize)]
struct NoticeReader;

#[workflow(events(Notice))]
impl NoticeReader {
    async fn run(flow: &Flow<Self>, count: u32) -> Vec<u32> {
        let mut read = Vec::new();
        for _ in 0..count {
            read.push(flow.wait_for::<Notice>().await.0);
        }
        read
    }
}

/// The largest number of delivery rows that a topic keeps if `max_pending` is small.
const DELIVERIES_MAX: usize = 1_000;

/// T1, T2: Every run has the event all the same.
#[tokio::test]
async fn a_topic_forgets_the_oldest_deliveries_of_an_event() {
    let world = World::memory().start::<App>().await;
    let client = world.client();
    client.publish(Notice(7)).await.unwrap();
    let runs = DELIVERIES_MAX + 1;
    // Each run starts after the event was published, so its delivery is a row of its own.
    for run in 0..runs {
        client.notice_reader(format!("r{run}")).start(1).await.unwrap();
    }
    world.settle().await;
    for run in 0..runs {
        assert_eq!(client.notice_reader(format!("r{run}")).try_result().await.unwrap(), Some(vec![7]), "{run}");
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

/// T2, T1: The counts of an empty topic are kept for another `keep_for`.
#[tokio::test]
async fn events_that_a_log_keeps_no_longer_are_counted_and_reported() {
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

/// T3, T2, V9
#[tokio::test]
async fn events_are_taken_that_were_kept_longer_than_runs_queue_events() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.publish(Chore(1)).await.unwrap();
        client.publish(Chapter(1)).await.unwrap();
        world.advance(d!("8d")).await;
        client.publish(Chapter(2)).await.unwrap();
        client.chore_reader("chore").start(1).await.unwrap();
        client.chapter_reader("chapters").start(2).await.unwrap();
        assert_eq!(client.chore_reader("chore").result().await.unwrap(), [1]);
        assert_eq!(client.chapter_reader("chapters").result().await.unwrap(), [1, 2]);
        assert!(client.chore_reader("chore").status().await.unwrap().unwrap().queued.is_empty(), "none has expired");
    }
}

/// T4, V9: The process is down for longer than a run queues events.
#[tokio::test]
async fn a_wait_gets_its_event_however_long_the_process_is_down() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.news_reader("all").start(1).await.unwrap();
        client.chore_reader("one").start(1).await.unwrap();
        world.settle().await;
        world.crash_at_commit(1, Moment::After);
        let (news, chore) = tokio::join!(client.publish(News(1)).into_future(), client.publish(Chore(2)).into_future());
        assert!(news.is_err() && chore.is_err());
        world.advance(d!("8d")).await;
        world.restart().await;
        assert_eq!(client.news_reader("all").result().await.unwrap(), [1]);
        assert_eq!(client.chore_reader("one").result().await.unwrap(), [2]);
    }
}

/// V9, H2
#[tokio::test]
async fn a_delivered_event_expires_by_the_time_of_its_delivery() {
    for (held_for, is_taken) in [(d!("6d"), true), (d!("8d"), false)] {
        for setup in both() {
            let world = setup.start::<App>().await;
            let (client, run) = (world.client(), world.client().chore_reader("a"));
            run.start(1).await.unwrap();
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

//! An event for all waits, and the log from which a run reads on (T2).

use super::*;

#[derive(Primitives)]
struct App {
    news_reader: NewsReader,
    entry_reader: EntryReader,
    page_reader: PageReader,
    late_reader: LateReader,
    collector: Collector,
}

/// T2: Each event is read once, in order.
#[tokio::test]
async fn a_log_is_read_from_where_its_type_says() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for number in 1..=3 {
            client.publish(Entry(number)).await.unwrap();
            client.publish(Page(number)).await.unwrap();
        }
        world.advance(d!("1s")).await;
        client.entry_reader("entries").start(2).await.unwrap();
        client.page_reader("pages").start(5).await.unwrap();
        world.restart().await;
        for number in 4..=5 {
            client.publish(Entry(number)).await.unwrap();
            client.publish(Page(number)).await.unwrap();
        }
        assert_eq!(client.entry_reader("entries").result().await.unwrap(), [4, 5]);
        assert_eq!(client.page_reader("pages").result().await.unwrap(), [1, 2, 3, 4, 5]);
        world.advance(d!("25h")).await;
        client.page_reader("after").start(1).await.unwrap();
        client.publish(Page(6)).await.unwrap();
        assert_eq!(client.page_reader("after").result().await.unwrap(), [6], "the others are kept no longer");
    }
}

/// Sleeps in its first generation, and reads an entry in its second.
#[derive(Default, Serialize, Deserialize)]
struct LateReader;

#[workflow(events(Entry))]
impl LateReader {
    async fn run(flow: &Flow<Self>, sleeps: bool) -> Result<u32, Failure> {
        if sleeps {
            flow.sleep("1h").await;
            return flow.continue_as(false).await;
        }
        Ok(flow.wait_for::<Entry>().await.0)
    }
}

/// T2, L5
#[tokio::test]
async fn later_generations_read_a_log_from_when_the_run_began() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.publish(Entry(1)).await.unwrap();
        world.advance(d!("1s")).await;
        client.late_reader("a").start(true).await.unwrap();
        client.publish(Entry(2)).await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(client.late_reader("a").result().await.unwrap(), 2);
        assert_eq!(client.late_reader("a").status().await.unwrap().unwrap().generation, 2);
    }
}

/// T2: Events that came while the run was busy come next, also after a restart.
#[tokio::test]
async fn a_run_reads_on_behind_the_last_event_that_it_has_seen() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.entry_reader("a").start(4).await.unwrap();
        for number in 1..=4 {
            client.publish(Entry(number)).await.unwrap();
            if number == 2 {
                world.restart().await;
            }
        }
        assert_eq!(client.entry_reader("a").result().await.unwrap(), [1, 2, 3, 4]);
    }
}

/// A log per key that is read from the start of the run.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, key = at, from = "created", keep_for = "1h")]
struct Stamp {
    at: String,
    number: u32,
}

/// Too many places for their names to fit into a record.
const STAMPS: u32 = 2_400;

/// A long name of a place.
fn place(number: u32) -> String {
    format!("{number:0500}")
}

/// Waits for a stamp of each place in turn.
#[derive(Default, Serialize, Deserialize)]
struct Collector;

#[workflow(events(Stamp))]
impl Collector {
    async fn run(flow: &Flow<Self>) -> u32 {
        for number in 0..STAMPS {
            flow.wait_for::<Stamp>().key(place(number)).await;
        }
        STAMPS
    }
}

/// T2, W11: Otherwise the keys would not fit into the record of the run.
#[tokio::test]
async fn a_reader_of_very_many_logs_forgets_those_that_expired() {
    let world = World::memory().start::<App>().await;
    let client = world.client();
    client.collector("a").start().await.unwrap();
    for number in 0..STAMPS {
        if number % 100 == 99 {
            world.advance(d!("1h")).await;
        }
        client.publish(Stamp { at: place(number), number }).await.unwrap();
        world.settle().await;
    }
    assert_eq!(client.collector("a").result().await.unwrap(), STAMPS);
}

/// T2: Only a run that reads from `created` takes the second event.
#[tokio::test]
async fn of_two_events_for_one_wait_the_second_stays_in_the_log() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.news_reader("news").start(2).await.unwrap();
        client.entry_reader("entries").start(2).await.unwrap();
        world.settle().await;
        let (one, two) = tokio::join!(client.publish(News(1)).into_future(), client.publish(News(2)).into_future());
        assert_eq!((one.unwrap().waiting, two.unwrap().waiting), (1, 0), "there was one wait");
        let (one, two) = tokio::join!(client.publish(Entry(1)).into_future(), client.publish(Entry(2)).into_future());
        assert_eq!((one.unwrap().waiting, two.unwrap().waiting), (1, 0), "there was one wait");
        assert_eq!(client.entry_reader("entries").result().await.unwrap(), [1, 2], "all that came since the run began");
        assert_eq!(
            client.news_reader("news").state().await.unwrap().unwrap().read,
            [1],
            "what came before a wait is not its"
        );
        client.publish(News(3)).await.unwrap();
        assert_eq!(client.news_reader("news").result().await.unwrap(), [1, 3]);
    }
}

/// T2, T6
#[tokio::test]
async fn an_entry_that_misses_its_wait_is_for_the_next() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        let run = client.entry_reader("a");
        run.start(2).await.unwrap();
        world.settle().await;
        // Both are in one commit, so the wait already has the sent event when the topic's event arrives.
        let (sent, published) = tokio::join!(run.send(Entry(1)).into_future(), client.publish(Entry(2)).into_future());
        assert_eq!((sent.unwrap().taken, published.unwrap().waiting), (true, 1));
        assert_eq!(run.result().await.unwrap(), [1, 2]);
    }
}

//! An event and the deadline of a wait (T4, H2).

use super::*;

/// Waits for news for a minute, and then without a deadline.
#[derive(Default, Serialize, Deserialize)]
struct Deadline;

#[workflow(events(News))]
impl Deadline {
    async fn run(flow: &Flow<Self>) -> Vec<u32> {
        match flow.wait_for::<News>().timeout("1m").await {
            Ok(News(number)) => vec![number],
            Err(_) => vec![0, flow.wait_for::<News>().await.0],
        }
    }
}

/// Waits for news for a minute, and sleeps for two beside it.
#[derive(Default, Serialize, Deserialize)]
struct Race;

#[workflow(events(News))]
impl Race {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        select! {
            news = flow.wait_for::<News>().timeout("1m") => [1, news.map_or(0, |news| news.0)],
            _ = flow.sleep("2m") => [2, 0],
        }
    }
}

#[derive(Primitives)]
struct App {
    news_reader: NewsReader,
    deadline: Deadline,
    race: Race,
}

/// T4
#[tokio::test]
async fn a_wait_gets_its_event_after_a_death_before_the_delivery() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.news_reader("a").start(1).await.unwrap();
        world.restart().await;
        assert_eq!(client.news_reader("a").status().await.unwrap().unwrap().waits_for[0].operation, "wait:News#1");
        world.crash_at_commit(1, Moment::After);
        client.publish(News(1)).await.unwrap_err();
        world.restart().await;
        assert_eq!(client.news_reader("a").result().await.unwrap(), [1]);
    }
}

/// T4
#[tokio::test]
async fn an_event_that_was_published_before_a_deadline_wins_over_it() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.deadline("a").start().await.unwrap();
        world.advance(d!("59s")).await;
        // The event is durable, but no run has it yet when the deadline passes.
        world.crash_at_commit(1, Moment::After);
        client.publish(News(1)).await.unwrap_err();
        world.advance(d!("1h")).await;
        world.restart().await;
        assert_eq!(client.deadline("a").result().await.unwrap(), [1]);
    }
}

/// T4
#[tokio::test]
async fn what_is_published_after_a_deadline_is_for_the_next_wait() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.deadline("a").start().await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(client.publish(News(1)).await.unwrap().waiting, 1, "the next wait");
        assert_eq!(client.deadline("a").result().await.unwrap(), [0, 1]);
        client.deadline("b").start().await.unwrap();
        world.settle().await;
        // The run is paused when the deadline passes. At the publish the wait is still listed, but the
        // event comes too late.
        client.deadline("b").pause().await.unwrap();
        world.advance(d!("2m")).await;
        assert_eq!(client.publish(News(2)).await.unwrap().waiting, 1);
        client.deadline("b").resume().await.unwrap();
        world.settle().await;
        assert_eq!(client.deadline("b").try_result().await.unwrap(), None, "it came before the next wait");
        client.publish(News(3)).await.unwrap();
        assert_eq!(client.deadline("b").result().await.unwrap(), [0, 3]);
    }
}

/// T4, V6
#[tokio::test]
async fn what_is_due_after_a_deadline_does_not_come_before_it() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.race("a").start().await.unwrap();
        world.settle().await;
        world.crash().await;
        world.advance(d!("3m")).await;
        world.restart().await;
        world.settle().await;
        assert_eq!(client.race("a").result().await.unwrap(), [1, 0], "the deadline, and not the sleep");
    }
}

/// T4, H2
#[tokio::test]
async fn a_paused_run_takes_no_event_that_is_sent_after_its_deadline() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (client, run) = (world.client(), world.client().race("a"));
        run.start().await.unwrap();
        world.settle().await;
        run.pause().await.unwrap();
        world.advance(d!("3m")).await;
        run.send(News(7)).await.unwrap();
        run.resume().await.unwrap();
        world.settle().await;
        assert_eq!(run.result().await.unwrap(), [1, 0]);
        let in_time = client.race("b");
        in_time.start().await.unwrap();
        in_time.pause().await.unwrap();
        in_time.send(News(8)).await.unwrap();
        world.advance(d!("3m")).await;
        in_time.resume().await.unwrap();
        assert_eq!(in_time.result().await.unwrap(), [1, 8]);
    }
}

/// H2, T4
#[tokio::test]
async fn a_deadline_shifted_by_a_pause_is_shifted_for_the_topic() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.deadline("a").start().await.unwrap();
        client.deadline("a").pause().await.unwrap();
        world.advance(d!("5m")).await;
        client.deadline("a").resume_shifted().await.unwrap();
        world.advance(d!("30s")).await;
        client.publish(News(4)).await.unwrap();
        assert_eq!(client.deadline("a").result().await.unwrap(), [4]);
    }
}

/// H2, T4
#[tokio::test]
async fn an_event_before_the_shifted_deadline_is_in_time() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.deadline("a").start().await.unwrap();
        client.deadline("a").pause().await.unwrap();
        world.advance(d!("5m")).await;
        client.publish(News(3)).await.unwrap();
        client.deadline("a").resume_shifted().await.unwrap();
        assert_eq!(client.deadline("a").result().await.unwrap(), [3]);
        assert_eq!(client.topic::<News>().status().await.unwrap().unwrap().watching, 0);
    }
}

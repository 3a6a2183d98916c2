//! An event for a single wait (T3).

use super::*;

/// Publishes jobs with its own commit.
#[derive(Default, Serialize, Deserialize)]
struct Agency;

#[primitive(object)]
impl Agency {
    async fn hire(&mut self, number: u32, cx: &Context) {
        cx.publish(Job(number));
    }
}

/// Waits for two jobs at once, for a minute.
#[derive(Default, Serialize, Deserialize)]
struct JobPair;

#[workflow(events(Job))]
impl JobPair {
    async fn run(flow: &Flow<Self>) -> Vec<u32> {
        match flow.wait_for::<Job>().times(2).timeout("1m").await {
            Ok(jobs) => jobs.into_iter().map(|job| job.0).collect(),
            Err(_) => Vec::new(),
        }
    }
}

#[derive(Primitives)]
struct App {
    job_reader: JobReader,
    job_pair: JobPair,
    agency: Agency,
}

/// T3
#[tokio::test]
async fn an_event_for_one_goes_to_the_one_who_waits_longest() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for key in ["first", "second"] {
            client.job_reader(key).start(1).await.unwrap();
            world.advance(d!("1s")).await;
        }
        assert_eq!(client.publish(Job(1)).await.unwrap(), Published { number: 1, waiting: 2 });
        assert_eq!(client.job_reader("first").result().await.unwrap(), [1]);
        assert_eq!(client.job_reader("second").try_result().await.unwrap(), None);
        client.publish(Job(2)).await.unwrap();
        assert_eq!(client.job_reader("second").result().await.unwrap(), [2]);
        client.publish(Job(3)).await.unwrap();
        client.publish(Job(4)).await.unwrap();
        world.restart().await;
        client.job_reader("third").start(2).await.unwrap();
        assert_eq!(client.job_reader("third").result().await.unwrap(), [3, 4], "kept until it is taken");
        assert_eq!(client.topic::<Job>().status().await.unwrap().unwrap().pending, 0);
    }
}

/// T3, D2: It can be published again.
#[tokio::test]
async fn an_event_that_no_run_takes_in_time_is_a_dead_letter() {
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
        client.job_reader("a").start(2).await.unwrap();
        world.dead_letters().replay(dead[0].letter.id).await.unwrap();
        assert_eq!(client.job_reader("a").result().await.unwrap(), [2, 1]);
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
        client.job_reader("a").start(3).await.unwrap();
        assert_eq!(client.job_reader("a").result().await.unwrap(), [1, 2, 3]);
        let long = Paid { order: "x".repeat(600), cents: 1 };
        assert!(matches!(client.publish(long).await.unwrap_err(), CallError::Fault(_)), "a key has 512 bytes at most");
    }
}

/// T3, D2, D3: It goes back to the topic by a replay.
#[tokio::test]
async fn a_committed_event_for_a_full_topic_is_a_dead_letter() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (client, letters) = (world.client(), world.dead_letters());
        for number in 1..=3 {
            client.publish(Job(number)).await.unwrap();
        }
        client.agency("t").hire(4).await.unwrap();
        world.advance(d!("30m")).await;
        let dead = letters.events::<Job>(Default::default()).await.unwrap().events;
        assert_eq!(dead.iter().map(|dead| dead.event.clone()).collect::<Vec<_>>(), [Ok(Job(4))]);
        let letter = &dead[0].letter;
        assert_eq!((letter.topic.as_deref(), letter.kind.as_deref()), (Some("Job"), Some("topic")));
        assert!(letter.error.as_ref().unwrap().to_string().contains("Full"), "{letter:?}");
        client.job_reader("a").start(4).await.unwrap();
        world.settle().await;
        letters.replay_to_topic(letter.id).await.unwrap();
        assert_eq!(client.job_reader("a").result().await.unwrap(), [1, 2, 3, 4]);
        assert_eq!(letters.count().await.unwrap(), 0);
    }
}

/// V8, T3
#[tokio::test]
async fn events_of_a_wait_for_several_that_timed_out_are_not_lost() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.job_pair("a").start().await.unwrap();
        client.publish(Job(1)).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(client.job_pair("a").result().await.unwrap(), [] as [u32; 0]);
        world.settle().await;
        let dead = world.dead_letters().events::<Job>(Default::default()).await.unwrap().events;
        assert_eq!(dead.iter().map(|dead| dead.event.clone()).collect::<Vec<_>>(), [Ok(Job(1))]);
        client.job_reader("b").start(1).await.unwrap();
        world.dead_letters().replay_to_topic(dead[0].letter.id).await.unwrap();
        assert_eq!(client.job_reader("b").result().await.unwrap(), [1]);
    }
}

/// T3, T5
#[tokio::test]
async fn an_event_for_one_costs_the_same_however_many_wait() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for run in 0..40 {
            client.job_reader(format!("r{run}")).start(1).await.unwrap();
        }
        world.settle().await;
        let before = world.counts();
        assert_eq!(client.publish(Job(1)).await.unwrap().waiting, 40);
        world.settle().await;
        assert_eq!(world.counts().since(before).commits, 2, "the topic's, and that of the run which has it");
        assert_eq!(client.topic::<Job>().status().await.unwrap().unwrap().watching, 39);
    }
}

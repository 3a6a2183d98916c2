//! An event for a single wait that is over when the event arrives (T3).

use super::*;

/// Waits for a job until there are news, and then sleeps.
#[derive(Default, Serialize, Deserialize)]
struct JobOrNews;

#[workflow(events(News, Job))]
impl JobOrNews {
    async fn run(flow: &Flow<Self>) -> u32 {
        select! {
            Job(number) = flow.wait_for::<Job>() => number,
            News(_) = flow.wait_for::<News>() => { flow.sleep("1h").await; 0 },
        }
    }
}

#[derive(Primitives)]
struct App {
    news_reader: NewsReader,
    job_reader: JobReader,
    job_or_news: JobOrNews,
}

/// An app without `JobOrNews`: messages to such runs wait in the inbox.
#[derive(Primitives)]
struct Deaf {
    job_reader: JobReader,
}

/// T3
#[tokio::test]
async fn what_came_for_a_wait_that_is_over_goes_to_the_next() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.job_or_news("gone").start().await.unwrap();
        world.advance(d!("1s")).await;
        client.job_reader("next").start(1).await.unwrap();
        // Both events are on their way to the first run when the process dies; the news arrives first.
        world.crash_at_commit(1, Moment::After);
        let (news, job) = tokio::join!(client.publish(News(1)).into_future(), client.publish(Job(1)).into_future());
        assert!(news.is_err() && job.is_err());
        world.restart().await;
        assert_eq!(client.job_reader("next").result().await.unwrap(), [1]);
        let to = client.topic::<Job>().deliveries(1, None).await.unwrap().deliveries;
        assert_eq!(to.iter().map(|to| to.run.as_str()).collect::<Vec<_>>(), ["next"]);
        assert!(names(&world.events()).contains(&"topic.returned"), "the first had it, and gave it back");
    }
}

/// T3
#[tokio::test]
async fn an_event_that_returns_to_a_renewed_topic_gets_a_new_number() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.job_or_news("gone").start().await.unwrap();
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
        world.client().job_reader("next").start(2).await.unwrap();
        assert_eq!(world.client().job_reader("next").result().await.unwrap(), [2, 1]);
    }
}

/// T3, T2, L3
#[tokio::test]
async fn an_event_in_flight_to_a_terminated_run_is_for_others() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.job_reader("gone").start(1).await.unwrap();
        client.news_reader("deaf").start(1).await.unwrap();
        world.advance(d!("1s")).await;
        client.job_reader("next").start(1).await.unwrap();
        world.settle().await;
        // In each pair, publish and end share a batch, so the event arrives at a run that has ended.
        let (news, deaf) = (client.publish(News(1)), client.news_reader("deaf").terminate());
        let (news, deaf) = tokio::join!(news.into_future(), deaf.into_future());
        assert_eq!((news.unwrap().waiting, deaf.unwrap()), (1, true));
        world.settle().await;
        assert!(!names(&world.events()).contains(&"topic.returned"), "what is for all comes back to nobody");
        let (job, gone) = (client.publish(Job(1)), client.job_reader("gone").terminate());
        let (job, gone) = tokio::join!(job.into_future(), gone.into_future());
        assert_eq!((job.unwrap().waiting, gone.unwrap()), (2, true));
        assert_eq!(client.job_reader("next").result().await.unwrap(), [1]);
        assert!(names(&world.events()).contains(&"topic.returned"), "it was on its way to the first");
        client.job_reader("alone").start(1).await.unwrap();
        world.settle().await;
        let (job, alone) = (client.publish(Job(2)), client.job_reader("alone").terminate());
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

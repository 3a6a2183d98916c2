//! A thousand waits for one event, thousands of waits of one run, and what they cost (T5, K3).

use super::*;

#[derive(Primitives)]
struct App {
    news_reader: NewsReader,
    collector: Collector,
}

/// T5: The topic delivers it in slices.
#[tokio::test]
async fn a_thousand_waits_get_an_event_once_wherever_the_process_dies() {
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
        client.news_reader(format!("r{run}")).start(1).await.unwrap();
    }
    world.crash_at_commit(commit, Moment::After);
    // The call succeeds only if its answer came before the process died.
    let _ = client.publish(News(1)).await;
    world.settle().await;
    assert!(world.is_dead());
    world.restart().await;
    world.settle().await;
    for run in 0..count {
        assert_eq!(client.news_reader(format!("r{run}")).try_result().await.unwrap(), Some(vec![1]), "{run}, {commit}");
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
            client.news_reader(format!("r{run}")).start(1).await.unwrap();
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

/// Nearly the largest number of waits that a run may have at once.
const MANY: usize = 4_000;

/// Waits for very many payments at once.
#[derive(Default, Serialize, Deserialize)]
struct Collector;

#[workflow(events(Paid))]
impl Collector {
    async fn run(flow: &Flow<Self>) -> usize {
        let waits = (0..MANY).map(|key| flow.wait_for::<Paid>().key(format!("m{key}")));
        join_all(waits.collect::<Vec<_>>()).await.len()
    }
}

/// K3, K6, L3, W11
#[tokio::test]
async fn a_run_ends_with_more_waits_than_one_commit_can_release() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (client, run) = (world.client(), world.client().collector("a"));
        let watching = async || {
            world.settle().await;
            let mut watching = 0;
            for key in (0..MANY).step_by(MANY / 50) {
                let status = client.topic_of::<Paid>(format!("m{key}")).status().await.unwrap();
                watching += status.map_or(0, |status| status.watching);
            }
            watching
        };
        run.start().await.unwrap();
        run.pause().await.unwrap();
        assert_eq!(watching().await, 50, "topics are told also while it is held");
        run.resume().await.unwrap();
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended);
        assert!(run.terminate().await.unwrap());
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Terminated);
        world.restart().await;
        assert_eq!(watching().await, 0, "nobody is left listed");
        let other = client.collector("b");
        other.start().await.unwrap();
        assert_eq!(watching().await, 50);
        assert!(other.destroy().await.unwrap());
        assert!(other.status().await.unwrap().is_none());
        assert_eq!(watching().await, 0, "of one that is destroyed neither");
    }
}

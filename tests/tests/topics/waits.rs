//! Waits of every shape, the list of those who wait, and runs that go from wait to wait (T6, V8).

use super::*;

/// Waits for three news at once.
#[derive(Default, Serialize, Deserialize)]
struct Three;

#[workflow(events(News))]
impl Three {
    async fn run(flow: &Flow<Self>) -> Vec<u32> {
        flow.wait_for::<News>().times(3).await.into_iter().map(|news| news.0).collect()
    }
}

/// Waits for news or a payment, and then sleeps.
#[derive(Default, Serialize, Deserialize)]
struct Any;

#[workflow(events(News, Paid))]
impl Any {
    async fn run(flow: &Flow<Self>) -> u32 {
        let which = select! {
            News(number) = flow.wait_for::<News>() => number,
            paid = flow.wait_for::<Paid>().key("x") => paid.cents,
            _ = flow.sleep("1h") => 0,
        };
        flow.sleep("1h").await;
        which
    }
}

/// Waits for news and a payment.
#[derive(Default, Serialize, Deserialize)]
struct Both;

#[workflow(events(News, Paid))]
impl Both {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        let (news, paid) = join!(flow.wait_for::<News>(), flow.wait_for::<Paid>().key("x"));
        [news.0, paid.cents]
    }
}

/// Waits for news twice at once.
#[derive(Default, Serialize, Deserialize)]
struct Twice;

#[workflow(events(News))]
impl Twice {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        let (one, other) = join!(flow.wait_for::<News>(), flow.wait_for::<News>());
        [one.0, other.0]
    }
}

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

#[derive(Primitives)]
struct App {
    news_reader: NewsReader,
    page_reader: PageReader,
    job_reader: JobReader,
    three: Three,
    any: Any,
    both: Both,
    twice: Twice,
    deadline: Deadline,
    chores: Chores,
    chapters: Chapters,
}

/// T6
#[tokio::test]
async fn what_was_sent_comes_before_what_is_published() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.news_reader("a").start(2).await.unwrap();
        client.news_reader("a").send(News(1)).await.unwrap();
        client.publish(News(2)).await.unwrap();
        assert_eq!(client.news_reader("a").result().await.unwrap(), [1, 2]);
        client.publish(Page(1)).await.unwrap();
        client.page_reader("b").start_with(2, Page(9)).await.unwrap();
        assert_eq!(client.page_reader("b").result().await.unwrap(), [9, 1]);
    }
}

/// T6: The topic lists the watcher until then.
#[tokio::test]
async fn a_watcher_goes_with_its_wait_its_deadline_or_its_run() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        let watching = async || {
            world.settle().await;
            let watchers = client.topic::<News>().watchers(None).await.unwrap().watchers;
            watchers.into_iter().map(|watcher| watcher.run).collect::<Vec<_>>()
        };
        client.any("any").start().await.unwrap();
        world.advance(d!("1s")).await;
        client.deadline("timeout").start().await.unwrap();
        world.advance(d!("1s")).await;
        client.three("three").start().await.unwrap();
        world.advance(d!("1s")).await;
        assert_eq!(watching().await, ["any", "timeout", "three"]);
        let shown = client.topic::<News>().watchers(None).await.unwrap().watchers.remove(1);
        assert_eq!((shown.workflow.as_str(), shown.operation.as_str()), ("deadline", "wait:News#1"));
        assert!(shown.until.is_some_and(|until| until > shown.since));
        client.publish(Paid { order: "x".into(), cents: 1 }).await.unwrap();
        assert_eq!(watching().await, ["timeout", "three"], "its wait lost the race");
        world.advance(d!("1m")).await;
        assert_eq!(watching().await, ["three", "timeout"], "another wait of the same run");
        client.three("three").terminate().await.unwrap();
        client.deadline("timeout").cancel().await.unwrap();
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
        client.three("a").start().await.unwrap();
        client.any("a").start().await.unwrap();
        client.both("a").start().await.unwrap();
        client.twice("a").start().await.unwrap();
        client.publish(News(1)).await.unwrap();
        client.three("a").send(News(2)).await.unwrap();
        world.restart().await;
        client.publish(Paid { order: "x".into(), cents: 5 }).await.unwrap();
        client.publish(News(3)).await.unwrap();
        assert_eq!(client.three("a").result().await.unwrap(), [1, 2, 3]);
        assert_eq!(client.both("a").result().await.unwrap(), [1, 5]);
        assert_eq!(client.twice("a").result().await.unwrap(), [1, 3], "a run sees an event once");
        world.advance(d!("1h")).await;
        assert_eq!(client.any("a").result().await.unwrap(), 1);
    }
}

/// H2, V8
#[tokio::test]
async fn a_run_that_is_paused_takes_no_more_than_it_waits_for() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.news_reader("a").start(1).await.unwrap();
        client.job_reader("b").start(1).await.unwrap();
        client.news_reader("a").pause().await.unwrap();
        client.job_reader("b").pause().await.unwrap();
        for number in 1..=3 {
            client.publish(News(number)).await.unwrap();
            client.publish(Job(number)).await.unwrap();
        }
        world.restart().await;
        client.news_reader("a").resume().await.unwrap();
        client.job_reader("b").resume().await.unwrap();
        assert_eq!(client.news_reader("a").result().await.unwrap(), [1]);
        assert_eq!(client.job_reader("b").result().await.unwrap(), [1]);
        assert_eq!(client.topic::<Job>().status().await.unwrap().unwrap().pending, 2, "they are for others");
        assert_eq!(world.dead_letters().count().await.unwrap(), 0);
    }
}

/// Takes a chore, publishes it as news with a step, and takes another.
#[derive(Default, Serialize, Deserialize)]
struct Chores;

#[workflow(events(Chore))]
impl Chores {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        let said = flow.say(flow.wait_for::<Chore>().await.0).await;
        [said, flow.wait_for::<Chore>().await.0]
    }

    #[step]
    async fn say(number: u32, cx: &Context) -> u32 {
        cx.publish(News(number));
        number
    }
}

/// Reads a chapter, publishes it as news with a step, and reads another.
#[derive(Default, Serialize, Deserialize)]
struct Chapters;

#[workflow(events(Chapter))]
impl Chapters {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        let said = flow.say(flow.wait_for::<Chapter>().await.0).await;
        [said, flow.wait_for::<Chapter>().await.0]
    }

    #[step]
    async fn say(number: u32, cx: &Context) -> u32 {
        cx.publish(News(number));
        number
    }
}

/// Calls `start` and then `publish` with 1 and 2, and retries each call until it succeeds. Returns whether
/// the process died.
async fn two_are_heard(world: &World<App>, start: impl AsyncFn() -> bool, publish: impl AsyncFn(u32) -> bool) -> bool {
    let (mut done, mut died) = (0, false);
    while done < 3 {
        let is_done = if done == 0 { start().await } else { publish(done).await };
        world.settle().await;
        if world.is_dead() {
            died = true;
            world.restart().await;
        }
        done += u32::from(is_done);
    }
    died
}

/// Every commit of a run, before and after.
fn deaths() -> impl Iterator<Item = (u64, Moment)> {
    (1..=10).flat_map(|commit| [(commit, Moment::Before), (commit, Moment::After)])
}

/// T2, T3, W2: The run goes from a wait to a step and to another wait.
#[tokio::test]
async fn a_death_between_two_waits_loses_and_doubles_no_event() {
    for (commit, moment) in deaths() {
        for setup in both() {
            let world = setup.start::<App>().await;
            let (client, run) = (world.client(), world.client().chores("a"));
            world.crash_at_commit(commit, moment);
            let start = async || run.start().idempotency_key("start").await.is_ok();
            let publish =
                async |number: u32| client.publish(Chore(number)).idempotency_key(number.to_string()).await.is_ok();
            let died = two_are_heard(&world, start, publish).await;
            assert_eq!(run.result().await.unwrap(), [1, 2], "death {moment:?} commit {commit}");
            the_step_has_published_once(&world, died, commit).await;
        }
        for setup in both() {
            let world = setup.start::<App>().await;
            let (client, run) = (world.client(), world.client().chapters("a"));
            world.crash_at_commit(commit, moment);
            let start = async || run.start().idempotency_key("start").await.is_ok();
            let publish =
                async |number: u32| client.publish(Chapter(number)).idempotency_key(number.to_string()).await.is_ok();
            let died = two_are_heard(&world, start, publish).await;
            assert_eq!(run.result().await.unwrap(), [1, 2], "death {moment:?} commit {commit}");
            the_step_has_published_once(&world, died, commit).await;
        }
    }
}

async fn the_step_has_published_once(world: &World<App>, died: bool, commit: u64) {
    assert!(died || commit > 8, "there are fewer than {commit} commits");
    world.settle().await;
    let said = world.client().topic::<News>().history(10).await.unwrap();
    assert_eq!(said.iter().map(|news| news.event.0).collect::<Vec<_>>(), [1], "what its step has published");
}

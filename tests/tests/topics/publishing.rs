//! An event gets a number and a topic, once, also with a commit of the publisher (T1).

use super::*;

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
}

#[derive(Primitives)]
struct App {
    news_reader: NewsReader,
    job_reader: JobReader,
    payment: Payment,
    delivery: Delivery,
    publisher: Publisher,
    announcer: Announcer,
    till: Till,
}

/// T1, T2
#[tokio::test]
async fn an_event_is_numbered_and_reaches_all_who_wait_and_nobody_else() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for key in ["a", "b", "c"] {
            client.news_reader(key).start(1).await.unwrap();
        }
        let published = client.publish(News(7)).await.unwrap();
        assert_eq!(published, Published { number: 1, waiting: 3 });
        for key in ["a", "b", "c"] {
            assert_eq!(client.news_reader(key).result().await.unwrap(), [7], "{key}");
        }
        client.news_reader("late").start(1).await.unwrap();
        world.settle().await;
        assert_eq!(client.news_reader("late").try_result().await.unwrap(), None, "it waits for the next one");
        assert_eq!(client.publish(News(8)).await.unwrap(), Published { number: 2, waiting: 1 });
        assert_eq!(client.news_reader("late").result().await.unwrap(), [8]);
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
        client.news_reader("all").start(2).await.unwrap();
        client.job_reader("one").start(2).await.unwrap();
        for _ in 0..2 {
            let news = client.publish(News(1)).idempotency_key("first").await.unwrap();
            let job = client.publish(Job(1)).idempotency_key("first").await.unwrap();
            assert_eq!([news, job], [Published { number: 1, waiting: 1 }; 2], "the second is told what the first was");
            world.settle().await;
        }
        assert_eq!(client.news_reader("all").try_result().await.unwrap(), None, "it waits for another");
        assert_eq!(client.job_reader("one").try_result().await.unwrap(), None, "it waits for another");
        client.publish(News(2)).idempotency_key("second").await.unwrap();
        client.publish(Job(2)).idempotency_key("second").await.unwrap();
        assert_eq!(client.news_reader("all").result().await.unwrap(), [1, 2]);
        assert_eq!(client.job_reader("one").result().await.unwrap(), [1, 2]);
    }
}

/// Waits for the payment of the order `a/b`.
#[derive(Default, Serialize, Deserialize)]
struct Payment;

#[workflow(events(Paid))]
impl Payment {
    async fn run(flow: &Flow<Self>) -> u32 {
        flow.wait_for::<Paid>().key("a/b").await.cents
    }
}

/// T1, V10
#[tokio::test]
async fn every_key_is_a_topic_of_its_own_whatever_is_in_it() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.payment("a").start().await.unwrap();
        for order in ["a", "a/", "a/b/c", "A/B", "", "a\0b"] {
            let published = client.publish(Paid { order: order.into(), cents: 1 }).await.unwrap();
            assert_eq!(published, Published { number: 1, waiting: 0 }, "{order:?}");
        }
        assert_eq!(client.payment("a").try_result().await.unwrap(), None);
        assert_eq!(client.publish(Paid { order: "a/b".into(), cents: 5 }).await.unwrap().waiting, 1);
        assert_eq!(client.payment("a").result().await.unwrap(), 5);
    }
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

/// Waits for one part of one parcel of a shop whose name looks like two fields.
#[derive(Default, Serialize, Deserialize)]
struct Delivery;

#[workflow(events(Moved))]
impl Delivery {
    async fn run(flow: &Flow<Self>) -> u32 {
        flow.wait_for::<Moved>().key(("a\",\"b".to_owned(), "c".to_owned(), 8)).await.to
    }
}

/// T1, V8, V10
#[tokio::test]
async fn a_key_of_several_fields_is_one_topic_whatever_is_in_them() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.delivery("a").start().await.unwrap();
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
        assert_eq!(client.delivery("a").result().await.unwrap(), 5);
        assert_eq!(topic.history(10).await.unwrap()[0].event.to, 5);
    }
}

/// Publishes from its body.
#[derive(Default, Serialize, Deserialize)]
struct Publisher;

#[workflow]
impl Publisher {
    async fn run(flow: &Flow<Self>) -> Result<Published, Failure> {
        Ok(flow.publish(News(8)).await?)
    }
}

/// Publishes with the outcome of its step.
#[derive(Default, Serialize, Deserialize)]
struct Announcer;

#[workflow]
impl Announcer {
    async fn run(flow: &Flow<Self>) -> u32 {
        flow.say(9).await
    }

    #[step]
    async fn say(number: u32, cx: &Context) -> u32 {
        cx.publish(News(number));
        number
    }
}

/// T1, M1, E5
#[tokio::test]
async fn entities_steps_and_bodies_publish_with_their_commits() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        client.payment("key").start().await.unwrap();
        client.till("t").take("a/b".into(), 13).await.unwrap_err();
        world.settle().await;
        assert_eq!(client.payment("key").try_result().await.unwrap(), None, "what fails publishes nothing");
        client.till("t").take("a/b".into(), 12).await.unwrap();
        assert_eq!(client.payment("key").result().await.unwrap(), 12);
        client.news_reader("news").start(2).await.unwrap();
        client.publisher("body").start().await.unwrap();
        assert_eq!(client.publisher("body").result().await.unwrap(), Published { number: 1, waiting: 1 });
        client.announcer("step").start().await.unwrap();
        assert_eq!(client.news_reader("news").result().await.unwrap(), [8, 9]);
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
            let _ = client.publisher("a").start().await;
            world.settle().await;
            if world.is_dead() {
                world.restart().await;
                let _ = client.publisher("a").start().await;
            }
            assert_eq!(client.publisher("a").result().await.unwrap(), Published { number: 1, waiting: 0 });
            assert_eq!(client.topic::<News>().status().await.unwrap().unwrap().last, 1, "{commit} {moment:?}");
        }
    }
}

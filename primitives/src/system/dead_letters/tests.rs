//! The limits of the dead letters, with limits that a test can reach.

use std::pin::Pin;

use drystone_runtime::{
    Borrow, Call, Commit, Cx, Entity, Handler, Hot, Input, Kernel, Message, Millis, Needed, Next, Now, Options,
    Outcome, Rows, Store, Work, driver::TokioDriver, store::Memory,
};

use super::*;
use crate::{Error, Timestamp, app::definitions::Definitions, client::events::Events};

/// A handler that sends as many last states to the dead letters as a call asks for.
struct Quitter;

impl Handler for Quitter {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::None
    }

    fn turn(&self, _: &mut Hot, _: &Key, _: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Input::Call { verb, body, .. } = input else { return Next::nothing() };
        let sent = |number: u32| {
            let state = serde_json::json!([{
                "definition": "quitter", "reason": "exhausted", "state": number, "attempts": 1, "died_at": number,
            }]);
            let body = encode(&state).unwrap();
            let verb = if *verb == "send" { STATE.into() } else { verb.clone() };
            Message { to: address(), definition: DEFINITION, verb, body }
        };
        let count: u32 = crate::decode(body).unwrap();
        Next::Commit(Commit { head: Some(body.clone()), send: (0..count).map(sent).collect(), ..Commit::default() })
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("it lists no work")
    }
}

struct Desk {
    kernel: Kernel,
    letters: DeadLetters,
    events: Events,
}

async fn open(limits: Limits) -> Desk {
    let driver = Arc::new(TokioDriver::new().unwrap());
    let clock = driver.clone();
    let store: Arc<dyn Store> = Arc::new(Memory::new(move || drystone_runtime::Driver::now(&*clock), 1));
    let quitter = Definition {
        name: "quitter".into(),
        kind: "toy".into(),
        space: "app".into(),
        config: Bytes::new(),
        handler: Arc::new(Quitter),
    };
    let registry = Registry::new().with(quitter);
    let definitions = Definitions::of(&registry);
    let registry = registered_with(registry, limits);
    let (kernel, _) = Kernel::open(store, registry, driver, Options::default()).await.unwrap();
    Desk {
        letters: DeadLetters::new(crate::Desk::outside(kernel.clone(), true), definitions),
        events: Events::new(kernel.listen()),
        kernel,
    }
}

impl Desk {
    async fn send(&self, count: u32) {
        let call = Call::new("quitter", "q", "send", encode(&count).unwrap());
        self.kernel.call(call).await.unwrap();
    }

    /// Waits until events of this name have reported `count` letters; an event may report several.
    async fn heard(&mut self, name: &str, count: u64) {
        let mut heard = 0;
        while heard < count {
            let event = self.events.next().await.unwrap();
            if event.name == name {
                heard += event.fields.get("count").map_or(1, |count| count.as_u64().unwrap());
            }
        }
        assert_eq!(heard, count, "{name}");
    }

    async fn record(&self) -> turn::Record {
        crate::decode(&self.kernel.view(&address()).await.unwrap().unwrap().entity.head).unwrap()
    }

    async fn ids(&self) -> Vec<u64> {
        let page = self.letters.list(Filter { limit: 10_000, ..Filter::default() }).await.unwrap();
        page.letters.iter().map(|letter| letter.id).collect()
    }
}

/// D3
#[tokio::test]
async fn a_full_box_drops_the_oldest_and_counts_it() {
    let mut desk = open(Limits { letters_max: 3, ..LIMITS }).await;
    desk.send(5).await;
    desk.heard("dead_letter.added", 5).await;
    assert_eq!(desk.ids().await, [2, 3, 4]);
    let record = desk.record().await;
    assert_eq!((record.next, record.count, record.dropped), (5, 3, 2));
    let gone = desk.letters.get(1).await.unwrap_err();
    assert_eq!(gone.failed(), Some(LetterError::Unknown { id: 1 }));
}

/// D3
#[tokio::test]
async fn letters_expire_and_are_counted() {
    let mut desk = open(Limits { keep_for: Duration::from_millis(1), ..LIMITS }).await;
    desk.send(600).await;
    desk.heard("dead_letter.expired", 600).await;
    let record = desk.record().await;
    assert_eq!((record.count, record.expired), (0, 600));
    let alarm = async || desk.kernel.view(&address()).await.unwrap().unwrap().entity.alarm;
    assert_eq!(alarm().await, None, "nothing is left to expire");
}

/// D3
#[tokio::test]
async fn the_alarm_is_that_of_the_oldest_letter() {
    let mut desk = open(LIMITS).await;
    let before = desk.kernel.now();
    desk.send(1).await;
    desk.heard("dead_letter.added", 1).await;
    let first = desk.kernel.view(&address()).await.unwrap().unwrap().entity;
    let kept = before.after(LIMITS.keep_for)..=desk.kernel.now().after(LIMITS.keep_for);
    assert!(first.alarm.is_some_and(|alarm| kept.contains(&alarm)), "{:?}", first.alarm);
    desk.send(1).await;
    desk.heard("dead_letter.added", 1).await;
    assert_eq!(desk.kernel.view(&address()).await.unwrap().unwrap().entity.alarm, first.alarm);
    desk.letters.remove(0).await.unwrap();
    desk.letters.remove(1).await.unwrap();
    assert_eq!(desk.kernel.view(&address()).await.unwrap().unwrap().entity.alarm, None);
}

/// D3
#[tokio::test]
async fn older_ones_are_removed_in_slices_wherever_they_lie() {
    let mut desk = open(LIMITS).await;
    // Sent twice: old letters then also lie behind newer letters.
    for _ in 0..2 {
        desk.send(400).await;
        desk.heard("dead_letter.added", 400).await;
    }
    assert_eq!(desk.ids().await.len(), 800);
    assert_eq!(desk.letters.remove_older(Timestamp::from_millis(300)).await.unwrap(), 600);
    desk.heard("dead_letter.removed", 600).await;
    let left: Vec<u64> = (300..400).chain(700..800).collect();
    assert_eq!(desk.ids().await, left);
    assert_eq!(desk.letters.count().await.unwrap(), 200);
}

/// E9
#[tokio::test]
async fn what_the_box_cannot_read_is_refused_and_binds_nothing() {
    let desk = open(LIMITS).await;
    let asked = |verb: &'static str| desk.kernel.call(Call::new(DEFINITION, KEY, verb, "{}"));
    assert!(matches!(asked("lisst").await, Err(Error::UnknownVerb { known, .. }) if known.contains(&"list".into())));
    assert!(matches!(asked("list").await, Err(Error::Malformed { .. })));
    assert!(matches!(asked("letter").await, Err(Error::UnknownVerb { .. })), "letters are sent, never called");
    assert!(desk.kernel.view(&address()).await.unwrap().is_none());
}

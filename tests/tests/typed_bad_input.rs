//! Bad input: it is refused with a reason and nothing is stored, or it comes back unchanged.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::collections::{BTreeMap, HashMap};

use drystone::{
    Batch, CallError, Context, Error, Failure, Folded, Primitives, Runtime, Services, d, primitive,
    runtime::Limit,
    testing::{Log, Setup, World},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Accepts values of many types.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
struct Drawer {
    text: String,
    number: f64,
    maybe: Option<Option<u32>>,
    by_pair: Vec<((u32, u32), String)>,
    by_number: BTreeMap<u64, String>,
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    by_tuple: HashMap<(u32, u32), u32>,
}

#[primitive(object)]
impl Drawer {
    async fn put(&mut self, text: String) -> usize {
        self.text = text;
        self.text.len()
    }
    async fn grow(&mut self, bytes: usize) {
        self.text = "x".repeat(bytes);
    }
    async fn set(&mut self, number: f64) {
        self.number = number;
    }
    async fn set_to_nothing(&mut self) {
        self.number = f64::NAN;
    }
    async fn perhaps(&mut self, maybe: Option<Option<u32>>) {
        self.maybe = maybe;
    }
    async fn some_none(&mut self) {
        self.maybe = Some(None);
    }
    async fn key_by_number(&mut self) {
        self.by_number.insert(u64::MAX, "x".into());
    }
    async fn key_by_tuple(&mut self) {
        self.by_tuple.insert((1, 2), 3);
    }
    async fn pair(&self, left: u32, right: String) -> String {
        format!("{left}{right}")
    }
    async fn text(&self) -> String {
        self.text.clone()
    }
    async fn long_answer(&self, bytes: usize) -> String {
        "x".repeat(bytes)
    }
    async fn blocks(&mut self, gate: &Gate) {
        gate.0.lock().unwrap().recv().unwrap();
    }
}

/// A gate for code that blocks a thread.
struct Gate(std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

/// Accepts numbers, but only finite ones.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Scale;

#[primitive(buffer, max_items = 100, max_wait = "10s")]
impl Scale {
    #[flush]
    async fn weigh(&mut self, batch: Batch<f64>, log: &Log) -> Result<(), Failure> {
        log.say(format!("{:?}", batch.items));
        Ok(())
    }
}

/// Folds texts into a single text, and panics on some inputs.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Book;

#[primitive(buffer, max_items = 100, max_wait = "10s")]
impl Book {
    #[reduce]
    fn append(text: &mut String, line: String) {
        assert!(line != "unprintable", "it cannot be printed");
        text.extend([line]);
    }
    #[flush]
    async fn print(&mut self, text: Folded<String>, log: &Log, cx: &Context) -> Result<(), Failure> {
        log.say(format!("{} {} {}", cx.key_text(), text.count, text.value.len()));
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    drawer: Drawer,
    scale: Scale,
    book: Book,
}

#[derive(Services)]
struct Fakes {
    log: Log,
    gate: Gate,
}

fn fakes() -> (Fakes, Log, std::sync::mpsc::Sender<()>) {
    let (open, gate) = std::sync::mpsc::channel();
    let log = Log::default();
    (Fakes { log: log.clone(), gate: Gate(gate.into()) }, log, open)
}

async fn started(setup: Setup<()>) -> (World<App>, Log) {
    let (fakes, log, _) = fakes();
    (setup.services(fakes).start::<App>().await, log)
}

/// K3
#[tokio::test]
async fn any_bytes_are_a_key_and_come_back_as_they_were() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let hostile: [&[u8]; 12] = [
            b"\0",
            b"a\0b",
            b"'; DROP TABLE entities; --",
            b"\"",
            b"<script>alert(1)</script>",
            b"../../etc/passwd",
            b"a:b{c}*%_",
            b"\r\n",
            "🜁 עברית".as_bytes(),
            b"\xff\xfe\x80",
            &[b'k'; 512],
            b" ",
        ];
        for key in hostile {
            let text = format!("{key:?}");
            world.client().drawer(key).put(text.clone()).await.unwrap();
        }
        world.restart().await;
        for key in hostile {
            assert_eq!(world.client().drawer(key).text().await.unwrap(), format!("{key:?}"));
            assert!(world.view("drawer", key).await.unwrap().is_some());
        }
        assert_eq!(world.entities().await.unwrap().entities.len(), hostile.len());
    }
}

/// K3
#[tokio::test]
async fn a_key_that_is_empty_or_too_long_is_refused() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for key in [vec![], vec![b'k'; 513]] {
            let refused = fault(world.client().drawer(&key).put("x".into()).await);
            assert!(matches!(refused, Error::TooLarge { what: Limit::KeyBytes, limit: 512, .. }), "{refused:?}");
            assert!(world.view("drawer", &key).await.is_err() && world.client().drawer(&key).explain().await.is_err());
        }
        assert_eq!(world.counts().applied, 0);
    }
}

/// K3: Nothing is stored.
#[tokio::test]
async fn a_payload_or_state_beyond_a_mebibyte_is_refused() {
    const MIB: usize = 1 << 20;
    for setup in both() {
        let (world, _) = started(setup).await;
        let drawer = world.client().drawer("a");
        drawer.put("small".into()).await.unwrap();
        for refused in [fault(drawer.put("x".repeat(MIB)).await), fault(drawer.grow(MIB).await)] {
            assert!(matches!(refused, Error::TooLarge { what: Limit::PayloadBytes, .. }), "{refused:?}");
        }
        assert!(matches!(fault(drawer.long_answer(2 * MIB).await.map(|text| text.len())), Error::TooLarge { .. }));
        assert!(matches!(fault(drawer.put("x".repeat(100 * MIB)).await), Error::TooLarge { .. }));
        assert_eq!(drawer.text().await.unwrap(), "small");
        drawer.grow(MIB - 1_000).await.unwrap();
        world.restart().await;
        assert_eq!(world.client().drawer("a").text().await.unwrap().len(), MIB - 1_000);
    }
}

/// K3, B7, B8: What was added is flushed.
#[tokio::test]
async fn an_item_or_folded_value_that_is_too_large_is_refused() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let book = world.client().book("b");
        book.add("x".repeat(600_000)).await.unwrap();
        let refused = fault(book.add("x".repeat(600_000)).await);
        assert!(matches!(refused, Error::TooLarge { .. }), "{refused:?}");
        assert_eq!(book.add("y".into()).await.unwrap().buffered, 2);
        world.advance(d!("10s")).await;
        assert_eq!(log.take(), ["b 2 600001"]);
    }
}

/// E6, B7
#[tokio::test]
async fn a_reducer_that_panics_refuses_its_item_and_loses_no_other() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let book = world.client().book("b");
        book.add("abc".into()).await.unwrap();
        let refused = fault(book.add("unprintable".into()).await);
        assert!(
            matches!(&refused, Error::Panicked { message, .. } if message == "it cannot be printed"),
            "{refused:?}"
        );
        book.add("d".into()).await.unwrap();
        world.advance(d!("10s")).await;
        assert_eq!(log.take(), ["b 2 4"]);
    }
}

/// E10
#[tokio::test]
async fn a_number_that_json_lacks_is_refused_wherever_it_comes_from() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let (drawer, scale) = (world.client().drawer("a"), world.client().scale("s"));
        drawer.set(1.5).await.unwrap();
        for number in [f64::NAN, f64::INFINITY] {
            assert!(matches!(fault(drawer.set(number).await), Error::Malformed { .. }));
            assert!(matches!(fault(scale.add(number).await), Error::Malformed { .. }));
            let state = Drawer { number, ..Drawer::default() };
            assert!(matches!(
                fault(world.client().drawer("b").start_with(state.clone()).await),
                Error::Malformed { .. }
            ));
            assert!(matches!(fault(drawer.replace(state).await), Error::Malformed { .. }));
        }
        let refused = fault(drawer.set_to_nothing().await).to_string();
        assert!(refused.contains("the state it left cannot be read back: number: invalid type: null"), "{refused}");
        assert_eq!(drawer.state().await.unwrap().unwrap().number, 1.5);
        assert_eq!((world.view("drawer", "b").await.unwrap(), world.view("scale", "s").await.unwrap()), (None, None));
        scale.add(0.1).await.unwrap();
        world.advance(d!("10s")).await;
        assert_eq!(log.take(), ["[0.1]"]);
    }
}

/// E10, E13: And after a restart.
#[tokio::test]
async fn values_that_json_cannot_distinguish_are_equal_at_once() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let drawer = world.client().drawer("a");
        drawer.perhaps(Some(Some(7))).await.unwrap();
        assert_eq!(drawer.state().await.unwrap().unwrap().maybe, Some(Some(7)));
        drawer.some_none().await.unwrap();
        let at_once = drawer.state().await.unwrap().unwrap();
        world.restart().await;
        assert_eq!(world.client().drawer("a").state().await.unwrap().unwrap(), at_once);
    }
}

/// E10: Numbers count as text.
#[tokio::test]
async fn a_map_whose_keys_are_no_text_is_refused() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let drawer = world.client().drawer("a");
        drawer.key_by_number().await.unwrap();
        let before = drawer.state().await.unwrap().unwrap();
        let refused = fault(drawer.key_by_tuple().await).to_string();
        assert!(refused.contains("the state it left cannot be written: key must be a string"), "{refused}");
        world.restart().await;
        assert_eq!(world.client().drawer("a").state().await.unwrap().unwrap(), before);
        assert_eq!(before.by_number[&u64::MAX], "x");
    }
}

/// E9
#[tokio::test]
async fn malformed_parameters_are_refused_with_their_place_and_bind_nothing() {
    for setup in both() {
        let (world, _) = started(setup).await;
        world.client().drawer("a").put("x".into()).await.unwrap();
        let before = world.counts();
        let cases: [(&str, Value, &str); 8] = [
            ("pair", json!([1]), "2 parameters are expected, 1 were given"),
            ("pair", json!([1, "b", 3]), "2 parameters are expected, 3 were given"),
            ("pair", json!([-1, "b"]), "parameter 0: invalid value: integer `-1`, expected u32"),
            ("pair", json!([1, 2]), "parameter 1: invalid type: integer `2`, expected a string"),
            ("pair", json!({ "left": 1 }), "parameters are a JSON array"),
            ("put", json!("x"), "parameters are a JSON array"),
            ("put", Value::Null, "1 parameters are expected, 0 were given"),
            ("replace", json!([{ "text": 7 }]), "parameter 0: text: invalid type"),
        ];
        for (action, params, reason) in cases {
            let refused = world.call("drawer", "a", action, params.clone()).await.unwrap_err();
            assert!(matches!(refused, Error::Malformed { .. }), "{action} {params}: {refused:?}");
            assert!(refused.to_string().contains(reason), "{action} {params}: {refused}");
            assert!(world.call("drawer", "new", action, params).await.is_err());
        }
        assert!(world.call("drawer", "new", "start", json!([{ "text": 7 }])).await.is_err());
        assert!(world.call("scale", "new", "add", json!(["heavy"])).await.is_err());
        assert!(world.call("drawer", "a", "", json!([])).await.is_err());
        assert_eq!((world.counts().since(before).applied, world.view("drawer", "new").await.unwrap()), (0, None));
    }
}

/// E5, E6
#[tokio::test]
async fn texts_of_any_kind_come_back_as_they_were() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for text in ["", "\0", "\u{feff}\u{202e}\r\n", "'\"\\", "🜁", "\u{10ffff}"] {
            world.client().drawer("a").put(text.into()).await.unwrap();
            world.restart().await;
            assert_eq!(world.client().drawer("a").text().await.unwrap(), text);
        }
    }
}

/// E6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_blocks_its_thread_holds_up_no_other_entity() {
    let folder = tempfile::tempdir().unwrap();
    for builder in [Runtime::memory(), Runtime::sqlite(folder.path().join("app.db"))] {
        let (fakes, _, open) = fakes();
        let runtime = builder.services(fakes).start::<App>().await.unwrap();
        let client = runtime.client();
        let blocked = tokio::spawn(client.drawer("a").blocks().into_future());
        for round in 0..50 {
            client.drawer(format!("other {round}")).put("x".into()).await.unwrap();
        }
        open.send(()).unwrap();
        blocked.await.unwrap().unwrap();
        assert!(matches!(client.drawer("a").text().await, Ok(text) if text.is_empty()));
        runtime.shutdown(d!("5s")).await.unwrap();
    }
}

/// E8
#[tokio::test]
async fn calls_after_the_end_find_nothing_or_begin_anew() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let (drawer, scale) = (world.client().drawer("a"), world.client().scale("s"));
        drawer.put("x".into()).await.unwrap();
        scale.add(1.0).await.unwrap();
        assert!(drawer.destroy().await.unwrap() && scale.destroy().await.unwrap());
        assert!(!drawer.destroy().await.unwrap() && !drawer.force_destroy().await.unwrap());
        assert!(matches!(drawer.text().await, Err(CallError::Fault(Error::NotBound { .. }))));
        assert!(matches!(scale.flush().await, Err(CallError::Fault(Error::NotBound { .. }))));
        assert_eq!((drawer.state().await.unwrap(), scale.status().await.unwrap()), (None, None));
        world.advance(d!("1h")).await;
        assert_eq!(log.take(), Vec::<String>::new());
        assert_eq!(scale.add(2.0).await.unwrap().buffered, 1);
        world.advance(d!("10s")).await;
        assert_eq!(log.take(), ["[2.0]"]);
    }
}

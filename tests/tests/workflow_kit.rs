//! The test kit finds mistakes in an author's code: a crash anywhere, and histories that no longer fit.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use drystone::{
    Client, Context, Event, Failure, Flow, Item, Primitives, Services, d, primitive,
    testing::{
        CrashError, Difference, Disturbance, Log, Misfit, Moment, ReplayError, Setup, World, crash_everywhere,
        replay_all,
    },
    workflow,
    workflow::History,
};
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
struct Approved(String);

/// Charges, waits, sends mail.
#[derive(Default, Serialize, Deserialize)]
struct Checkout {
    is_charged: bool,
}

#[workflow(events(Approved))]
impl Checkout {
    async fn run(flow: &Flow<Self>, cents: u64) -> Result<String, Failure> {
        let charge = flow.charge(cents).await?;
        flow.update(|checkout| checkout.is_charged = true);
        let Approved(by) = flow.wait_for::<Approved>().await;
        flow.sleep("1h").await;
        join!(flow.mail("buyer".to_owned()), flow.mail("seller".to_owned()));
        Ok(format!("{charge}, approved by {by}"))
    }

    #[step]
    async fn charge(cents: u64, bank: &Bank, cx: &Context) -> Result<String, Failure> {
        bank.charge(cx.work_id(), cents);
        Ok(format!("{cents} cents"))
    }

    #[step]
    async fn mail(to: String, log: &Log) {
        log.say(to);
    }

    async fn is_charged(&self) -> bool {
        self.is_charged
    }
}

/// Charges without the work id, so every retry charges again.
#[derive(Default, Serialize, Deserialize)]
struct Careless;

#[workflow]
impl Careless {
    async fn run(flow: &Flow<Self>, cents: u64) {
        flow.peek().await;
        flow.charge(cents).await;
        flow.peek().await;
    }

    #[step]
    async fn peek() {}

    #[step]
    async fn charge(cents: u64, log: &Log) {
        log.say(format!("{cents} cents"));
    }
}

static LIVES: AtomicU32 = AtomicU32::new(0);

/// Passes a value to a step that is not recorded.
#[derive(Default, Serialize, Deserialize)]
struct Forgetful;

#[workflow]
impl Forgetful {
    async fn run(flow: &Flow<Self>) -> u32 {
        let life = LIVES.fetch_add(1, Ordering::Relaxed);
        flow.peek(life).await;
        flow.sleep("1h").await;
        7
    }

    #[step]
    async fn peek(_life: u32) {}
}

/// Writes outside before its own state is durable.
#[derive(Default, Serialize, Deserialize)]
struct Cart {
    items: Vec<String>,
}

#[primitive(object)]
impl Cart {
    async fn put(&mut self, item: String) -> usize {
        self.items.push(item);
        self.items.len()
    }
    async fn order(&mut self, log: &Log) {
        log.say(self.items.join(", "));
        self.items.clear();
    }
    async fn hand_over(&mut self, item: String, mails: &Client<Mails>) {
        mails.send(mails.get("all").enqueue(item));
    }
    async fn items(&self) -> Vec<String> {
        self.items.clone()
    }
}

/// Takes mails from carts.
#[derive(Default, Serialize, Deserialize)]
struct Mails;

#[primitive(queue)]
impl Mails {
    #[process]
    async fn mail(&mut self, item: Item<String>, bank: &Bank) -> Result<(), Failure> {
        bank.charge(item.id, item.value.len() as u64);
        Ok(())
    }
}

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    bank: Bank,
}

/// Recognizes a repeated charge by its id.
#[derive(Clone, Default)]
struct Bank(Arc<Mutex<BTreeMap<String, u64>>>);

impl Bank {
    fn charge(&self, id: String, cents: u64) {
        self.0.lock().unwrap().insert(id, cents);
    }

    /// Sorted, because the order of ids differs between processes.
    fn charges(&self) -> Vec<u64> {
        let mut charges: Vec<u64> = self.0.lock().unwrap().values().copied().collect();
        charges.sort_unstable();
        charges
    }
}

#[derive(Primitives)]
struct App {
    checkout: Checkout,
    careless: Careless,
    forgetful: Forgetful,
    cart: Cart,
    mails: Mails,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

fn difference(found: Result<drystone::testing::Survived, CrashError>) -> Difference {
    match found {
        Err(CrashError::Differs(difference)) => *difference,
        other => panic!("a difference was to be found: {other:?}"),
    }
}

/// X1, fA17
#[tokio::test]
async fn what_is_right_comes_through_a_crash_at_every_commit() {
    let survived = crash_everywhere(async |setup| {
        let (world, fakes) = started(setup).await;
        let client = world.client();
        let order = client.checkout("order-9");
        order.start(1_200).await.unwrap();
        assert!(order.is_charged().await.unwrap());
        order.send(Approved("Ada".into())).await.unwrap();
        let (result, ()) = tokio::join!(order.result(), world.advance(d!("1h")));
        for item in ["tea", "cake"] {
            client.cart("ada").put(item.into()).await.unwrap();
            client.cart("ada").hand_over(item.into()).await.unwrap();
        }
        world.restart().await;
        let listed = world.entities().await.unwrap().entities.len();
        let mails: BTreeSet<String> = fakes.log.take().into_iter().collect();
        (result.unwrap(), client.cart("ada").items().await.unwrap(), fakes.bank.charges(), mails, listed)
    });
    let survived = survived.await.unwrap();
    assert!(survived.commits >= 12, "{survived:?}");
    assert_eq!(survived.runs, 4 + 2 * survived.commits);
}

/// Starts three runs under new keys, and returns the keys in order.
async fn new_keys(setup: Setup<()>) -> Vec<String> {
    let (world, _) = started(setup).await;
    let mut keys = Vec::new();
    for cents in [100, 200, 300] {
        keys.push(world.client().checkout("order-").start_new(cents).await.unwrap());
        world.advance(d!("1s")).await;
    }
    keys
}

/// X1, L2
#[tokio::test]
async fn new_keys_are_the_same_in_two_worlds() {
    let keys = new_keys(World::memory()).await;
    assert_eq!(BTreeSet::from_iter(&keys).len(), 3, "{keys:?}");
    assert!(keys.iter().all(|key| key.starts_with("order-")), "{keys:?}");
    assert_eq!(new_keys(World::memory()).await, keys);
    assert_eq!(new_keys(World::sqlite()).await, keys);
}

/// X1, L2: the crash does not change which keys are drawn.
#[tokio::test]
async fn new_keys_are_the_same_after_a_crash() {
    crash_everywhere(new_keys).await.unwrap();
}

/// L2
#[tokio::test]
async fn a_world_on_a_kept_file_makes_keys_without_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let setup = || World::sqlite_at(folder.path().join("kept.db"));
    let (earlier, later) = (new_keys(setup()).await, new_keys(setup()).await);
    assert_eq!(BTreeSet::from_iter(earlier.iter().chain(&later)).len(), 6, "{earlier:?} {later:?}");
}

/// X1
#[tokio::test]
async fn a_step_that_charges_twice_is_found_at_its_commit() {
    let found = crash_everywhere(async |setup| {
        let (world, fakes) = started(setup).await;
        let run = world.client().careless("order-9");
        run.start(1_200).await.unwrap();
        run.result().await.unwrap();
        fakes.log.take()
    });
    let difference = difference(found.await);
    assert_eq!(difference.disturbance, Disturbance::Crash { commit: 3, moment: Moment::Before });
    assert_eq!(difference.commits, 4);
    assert_eq!(difference.expected, r#"["1200 cents"]"#);
    assert_eq!(difference.found, r#"["1200 cents", "1200 cents"]"#);
    let wrote = difference.wrote.unwrap();
    assert!(wrote.starts_with("careless(order-9)") && wrote.contains("charge#1"), "{wrote}");
}

/// X1
#[tokio::test]
async fn a_body_that_does_not_do_the_same_again_is_found() {
    let found = crash_everywhere(async |setup| {
        let (world, _) = started(setup).await;
        let run = world.client().forgetful("f");
        run.start().await.unwrap();
        world.advance(d!("1h")).await;
        run.try_result().await.unwrap()
    });
    let difference = difference(found.await);
    assert_eq!(difference.disturbance, Disturbance::Forgetful);
    assert_eq!((difference.expected.as_str(), difference.found.as_str()), ("Some(7)", "None"));
    assert!(difference.trace.iter().any(|line| line.contains("workflow.diverged")), "{difference}");
}

/// X1
#[tokio::test]
async fn an_action_that_writes_outside_first_is_found() {
    let found = crash_everywhere(async |setup| {
        let (world, fakes) = started(setup).await;
        let cart = world.client().cart("ada");
        cart.put("tea".into()).await.unwrap();
        cart.order().await.unwrap();
        fakes.log.take()
    });
    let difference = difference(found.await);
    assert_eq!(difference.disturbance, Disturbance::Crash { commit: 2, moment: Moment::Before });
    assert_eq!(difference.found, r#"["tea", "tea"]"#);
}

/// X1
#[tokio::test]
async fn who_is_stuck_panics_or_differs_by_itself_is_found() {
    let runs = AtomicU32::new(0);
    let again = crash_everywhere(async |setup| {
        let (world, _) = started(setup).await;
        world.client().cart("ada").put("tea".into()).await.unwrap();
        runs.fetch_add(1, Ordering::Relaxed)
    });
    assert_eq!(difference(again.await).disturbance, Disturbance::Nothing);
    let panics = crash_everywhere(async |setup| {
        let (world, fakes) = started(setup).await;
        world.client().cart("ada").order().await.unwrap();
        assert_eq!(fakes.log.take().len(), 1, "ordered once");
    });
    let found = difference(panics.await).found;
    assert!(found.starts_with("a panic") && found.contains("ordered once"), "{found}");
    let stuck = crash_everywhere(async |setup| {
        let (world, _) = started(setup.patience(d!("50ms"))).await;
        let run = world.client().forgetful("f");
        run.start().await.unwrap();
        let (result, ()) = tokio::join!(run.result(), world.advance(d!("1h")));
        result.unwrap()
    });
    let found = difference(stuck.await).found;
    assert!(found.contains("nothing moves"), "{found}");
}

/// X1
#[tokio::test]
async fn a_scenario_that_commits_nothing_is_refused() {
    let found = crash_everywhere(async |setup| drop(started(setup).await)).await;
    assert!(matches!(found, Err(CrashError::NothingCommitted)), "{found:?}");
}

/// Records the histories of two checkouts and of another workflow.
async fn histories() -> [History; 3] {
    let (world, _) = started(World::memory()).await;
    let client = world.client();
    for key in ["order-1", "order-2"] {
        client.checkout(key).start(100).await.unwrap();
    }
    client.careless("other").start(100).await.unwrap();
    [
        client.checkout("order-1").history().await.unwrap(),
        client.checkout("order-2").history().await.unwrap(),
        client.careless("other").history().await.unwrap(),
    ]
}

fn misfits<W: drystone::workflow::Workflow>(folder: &Path) -> Vec<(String, Misfit)> {
    let error = replay_all::<W>(folder).unwrap_err();
    let named = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let shown = format!("{error:?}");
    assert!(error.files.iter().all(|(path, misfit)| shown.contains(&format!("{}: {misfit}", path.display()))));
    error.files.into_iter().map(|(path, misfit)| (named(path), misfit)).collect()
}

/// R5
#[tokio::test]
async fn a_folder_of_histories_is_replayed_by_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, _] = histories().await;
    one.save(folder.path().join("one.json")).unwrap();
    two.save(folder.path().join("two")).unwrap();
    std::fs::write(folder.path().join(".gitattributes"), "* -diff").unwrap();
    assert_eq!(replay_all::<Checkout>(folder.path()).unwrap(), 2);
    // The current code is different: each file is reported with its place.
    let misfits = misfits::<Careless>(folder.path());
    assert_eq!(misfits.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["one.json", "two"]);
    for (_, misfit) in misfits {
        let Misfit::Replay(ReplayError::Diverged(divergence)) = misfit else { panic!("{misfit:?}") };
        assert_eq!((divergence.entry, divergence.expected.as_str()), (1, "`charge#1`"));
    }
}

/// R5: A folder with a skipped file is an error, too.
#[tokio::test]
async fn a_folder_that_would_test_nothing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(misfits::<Checkout>(&folder.path().join("none"))[..], [(_, Misfit::Unreadable(_))]));
    std::fs::write(folder.path().join(".gitkeep"), "").unwrap();
    assert!(matches!(misfits::<Checkout>(folder.path())[..], [(_, Misfit::Empty)]));
    let [one, _, other] = histories().await;
    one.save(folder.path().join("a.json")).unwrap();
    other.save(folder.path().join("b.json")).unwrap();
    std::fs::write(folder.path().join("c.md"), "# Notes").unwrap();
    std::fs::write(folder.path().join("d.json"), "{}").unwrap();
    std::fs::create_dir(folder.path().join("e")).unwrap();
    let misfits = misfits::<Checkout>(folder.path());
    let [
        (b, Misfit::AnotherWorkflow { .. }),
        (c, Misfit::NoHistory(_)),
        (d, Misfit::NoHistory(_)),
        (e, Misfit::Folder),
    ] = &misfits[..]
    else {
        panic!("{misfits:?}")
    };
    assert_eq!([b, c, d, e], ["b.json", "c.md", "d.json", "e"]);
}

//! Work ids are unique in the world: between files, copies of a file, and restored backups (E14).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{collections::BTreeMap, path::Path};

use drystone::{
    Batch, Client, Context, Event, Failure, Flow, Item, Primitives, Runtime, Services, d, primitive, workflow,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// The outside world of all files. It gets the purpose and the work id of each action.
#[derive(Clone, Services)]
struct Outside {
    bank: Bank,
}

#[derive(Clone)]
struct Bank(mpsc::UnboundedSender<(String, String)>);

impl Bank {
    fn told(&self, what: impl Into<String>, id: impl Into<String>) {
        self.0.send((what.into(), id.into())).unwrap();
    }
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Approved;

/// Charges, waits, and charges again.
#[derive(Default, Serialize, Deserialize)]
struct Checkout;

#[workflow(events(Approved))]
impl Checkout {
    async fn run(flow: &Flow<Self>, who: String) -> Result<(), Failure> {
        flow.charge(who.clone()).await;
        flow.wait_for::<Approved>().await;
        flow.charge(format!("{who} again")).await;
        Ok(())
    }

    #[step]
    async fn charge(who: String, bank: &Bank, cx: &Context) {
        bank.told(format!("charge {who}"), cx.work_id());
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Mails;

#[primitive(queue)]
impl Mails {
    #[process]
    async fn mail(&self, item: Item<String>, bank: &Bank, cx: &Context) -> Result<(), Failure> {
        assert_eq!(item.id, cx.work_id());
        bank.told(format!("mail {}", item.value), item.id);
        Ok(())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Sums;

#[primitive(buffer, max_items = 2, max_wait = "30d")]
impl Sums {
    #[flush]
    async fn add_up(&mut self, batch: Batch<u64>, bank: &Bank, cx: &Context) -> Result<(), Failure> {
        assert_eq!(batch.id, cx.work_id());
        bank.told(format!("flush {:?}", batch.items), batch.id);
        Ok(())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Poller;

#[primitive(continuous, every = "30d")]
impl Poller {
    #[tick]
    async fn poll(&mut self, bank: &Bank, cx: &Context) -> Result<(), Failure> {
        bank.told("tick", cx.work_id());
        Ok(())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Cart;

#[primitive(object)]
impl Cart {
    async fn put(&mut self, carts: &Client<Cart>, bank: &Bank, cx: &Context) {
        bank.told("call", cx.work_id());
        carts.send(carts.get("other").hear());
        cx.alarm_in(d!("0s"));
    }

    async fn hear(&mut self, bank: &Bank, cx: &Context) {
        bank.told("message", cx.work_id());
    }

    #[alarm]
    async fn ring(&mut self, bank: &Bank, cx: &Context) -> Result<(), Failure> {
        bank.told("alarm", cx.work_id());
        Ok(())
    }

    #[destroy]
    async fn end(&mut self, bank: &Bank, cx: &Context) -> Result<(), Failure> {
        bank.told("destroy", cx.work_id());
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    checkout: Checkout,
    mails: Mails,
    sums: Sums,
    poller: Poller,
    cart: Cart,
}

/// A process that runs on a file.
struct Process {
    runtime: Runtime<App>,
    told: mpsc::UnboundedReceiver<(String, String)>,
    /// The purposes that the bank has heard, with their work ids.
    ids: BTreeMap<String, String>,
}

impl Process {
    async fn on(path: &Path) -> Self {
        let (sender, told) = mpsc::unbounded_channel();
        let services = Outside { bank: Bank(sender) };
        let runtime = Runtime::sqlite(path).services(services).start::<App>().await.unwrap();
        Self { runtime, told, ids: BTreeMap::new() }
    }

    fn client(&self) -> AppClient {
        self.runtime.client()
    }

    /// Waits until the bank has heard this purpose.
    async fn hears(&mut self, what: &str) {
        while !self.ids.contains_key(what) {
            let (what, id) = self.told.recv().await.unwrap();
            assert!(self.ids.insert(what.clone(), id).is_none(), "{what} was told twice");
        }
    }

    /// Does a day's work for this customer.
    async fn works(&mut self, who: &str) {
        let client = self.client();
        client.checkout("today").start(who.into()).await.unwrap();
        client.checkout("today").send(Approved).await.unwrap();
        client.checkout("today").result().await.unwrap();
        client.mails("out").enqueue("new".into()).await.unwrap();
        client.sums("all").add(3).await.unwrap();
        client.sums("all").add(4).await.unwrap();
        client.poller("feed").trigger().await.unwrap();
        client.cart("kim").put().await.unwrap();
        let told = ["mail new", "flush [3, 4]", "tick", "call", "message", "alarm"];
        for what in told {
            self.hears(what).await;
        }
        client.cart("kim").destroy().await.unwrap();
        self.hears("destroy").await;
        self.hears(&format!("charge {who} again")).await;
    }
}

/// The purposes without the name of the customer.
fn without(who: &str, ids: BTreeMap<String, String>) -> BTreeMap<String, String> {
    ids.into_iter().map(|(what, id)| (what.replace(who, "customer"), id)).collect()
}

fn same(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    one.iter().filter(|(what, id)| other.get(*what) == Some(id)).map(|(what, _)| what.clone()).collect()
}

/// E14
#[tokio::test]
async fn two_files_that_one_program_makes_give_different_ids() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for name in ["a.db", "b.db"] {
        let mut process = Process::on(&folder.path().join(name)).await;
        process.client().poller("feed").start().await.unwrap();
        process.works("customer").await;
        all.push(process.ids);
    }
    assert_eq!(all[0].len(), 9);
    assert_eq!(same(&all[0], &all[1]), Vec::<String>::new());
}

/// E14: Steps recorded after the restore get the new ids.
#[tokio::test]
async fn a_backup_keeps_work_ids_and_a_restore_gets_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (path, backup) = (folder.path().join("app.db"), folder.path().join("backup.db"));
    let mut original = Process::on(&path).await;
    let client = original.client();
    client.checkout("before").start("Ann".into()).await.unwrap();
    original.hears("charge Ann").await;
    client.mails("out").pause().await.unwrap();
    client.mails("out").enqueue("old".into()).await.unwrap();
    client.sums("all").add(1).await.unwrap();
    client.poller("feed").start().await.unwrap();
    let copy = backup.to_str().unwrap();
    rusqlite::Connection::open(&path).unwrap().execute("VACUUM INTO ?1", [copy]).unwrap();

    original.ids.clear();
    let mut restored = Process::on(&backup).await;
    let mut all = Vec::new();
    for (process, who) in [(&mut original, "Alice"), (&mut restored, "Bob")] {
        let client = process.client();
        client.checkout("before").send(Approved).await.unwrap();
        client.checkout("before").result().await.unwrap();
        client.mails("out").resume().await.unwrap();
        client.sums("all").add(2).await.unwrap();
        for what in ["charge Ann again", "mail old", "flush [1, 2]"] {
            process.hears(what).await;
        }
        process.works(who).await;
        all.push(without(who, process.ids.clone()));
    }
    // If the backup had interrupted the first charge, the restored run would repeat the charge under its
    // id.
    assert!(all[0].contains_key("charge customer") && all[0].len() == 12, "{:#?}", all[0]);
    assert_eq!(same(&all[0], &all[1]), ["charge Ann again", "flush [1, 2]", "mail old"]);
}

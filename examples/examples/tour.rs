//! A courier that dies on its round and goes on: the kernel on one SQLite file.
//!
//! The first life of the program is asked for five parcels and aborts while it carries the third. The second
//! life opens the same file and is asked nothing: what is stored says what is to be done.

use std::{
    env,
    path::{Path, PathBuf},
    pin::Pin,
    process::{self, Command},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use drystone::{
    d,
    runtime::{
        Borrow, Call, Change, Commit, Cx, Definition, Entity, Handler, Hot, Input, Kernel, Key, Lifecycle, Millis,
        Needed, Next, Options, Outcome, Produced, Registry, Rows, Status, Work,
        driver::TokioDriver,
        store::{Sqlite, SqliteOptions},
    },
};

/// Set in the child processes: which life it is.
const LIFE: &str = "TOUR_LIFE";

/// Delivers parcels one by one. Its head is how many were ordered, its state how many were delivered.
struct Courier {
    dies_with_parcel: Option<u64>,
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_be_bytes)
}

fn told(name: &'static str) -> Lifecycle {
    Lifecycle { name: name.into(), fields: Default::default() }
}

impl Handler for Courier {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::None
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, now: Millis) -> Next {
        let ordered = entity.map_or(0, |entity| number(&entity.head));
        let delivered = entity.map_or(0, |entity| number(&entity.state));
        match input {
            Input::Call { body, .. } => Next::Commit(Commit {
                head: Some((ordered + number(body)).to_be_bytes().to_vec().into()),
                alarm: Change::Set(now.after(d!("500ms"))),
                status: Some(Status::live("delivering")),
                ..Commit::default()
            }),
            Input::Done { .. } => {
                let last = delivered + 1 == ordered;
                Next::Commit(Commit {
                    state: Some((delivered + 1).to_be_bytes().to_vec().into()),
                    status: last.then(|| Status::resting("done")),
                    emit: last.then(|| told("courier.done")).into_iter().collect(),
                    ..Commit::default()
                })
            }
            Input::Alarm { .. } => {
                let emit = vec![told("courier.reminded")];
                Next::Commit(Commit { alarm: Change::Clear, emit, ..Commit::default() })
            }
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, entity: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        let (ordered, delivered) = (number(&entity.head), number(&entity.state));
        let next = (delivered < ordered).then(|| Work::new(format!("parcel/{}", delivered + 1)));
        Needed::Ready(next.into_iter().collect())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, cx: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let fatal = self.dies_with_parcel.map(|parcel| format!("parcel/{parcel}"));
        Box::pin(async move {
            println!("  {} is on its way", cx.work);
            if fatal.as_deref() == Some(cx.work.as_str()) {
                println!("  ... and the process dies here");
                process::abort();
            }
            Outcome::Ok(Produced::default())
        })
    }
}

async fn open(path: &Path, dies_with_parcel: Option<u64>) -> Result<Kernel> {
    let courier = Definition {
        name: "courier".into(),
        kind: "courier".into(),
        space: "app".into(),
        config: Default::default(),
        handler: Arc::new(Courier { dies_with_parcel }),
    };
    let store = Arc::new(Sqlite::open(path, SqliteOptions::default())?);
    let driver = Arc::new(TokioDriver::new()?);
    let (kernel, report) = Kernel::open(store, Registry::new().with(courier), driver, Options::default()).await?;
    println!("  opened: {} unfinished, {} partitions not closed in order", report.unfinished, report.unclean);
    Ok(kernel)
}

#[tokio::main]
async fn live(path: &Path, life: &str) -> Result<()> {
    let kernel = open(path, (life == "first").then_some(3)).await?;
    let mut events = kernel.listen();
    if life == "first" {
        kernel.call(Call::new("courier", "anna", "order", 5_u64.to_be_bytes().to_vec())).await?;
        println!("  five parcels are ordered, and that is durable");
    }
    for _ in ["courier.done", "courier.reminded"] {
        let event = events.next().await.context("the kernel ended")?;
        println!("  {} tells `{}`", event.key, event.lifecycle.name);
    }
    let key = Key::new("app", "anna")?;
    let delivered = kernel.view(&key).await?.map_or(0, |view| number(&view.entity.state));
    println!("  {}", kernel.explain(&key).await?);
    println!("  {delivered} parcels were delivered");
    ensure!(delivered == 5, "five parcels were ordered");
    Ok(kernel.shutdown(d!("5s")).await?)
}

/// Runs this program again, as its first or its second life.
fn child(path: &Path, life: &str) -> Result<process::ExitStatus> {
    println!("the {life} life");
    Ok(Command::new(env::current_exe()?).arg(path).env(LIFE, life).status()?)
}

fn main() -> Result<()> {
    if let Ok(life) = env::var(LIFE) {
        return live(&PathBuf::from(env::args().nth(1).context("a path is missing")?), &life);
    }
    let folder = env::temp_dir().join(format!("drystone-tour-{}", process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("app.db");
    ensure!(!child(&path, "first")?.success(), "the first life must not end well");
    println!("the process is gone; what it knew is in {}", path.display());
    ensure!(child(&path, "second")?.success(), "the second life must end well");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

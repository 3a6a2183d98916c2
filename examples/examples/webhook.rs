//! Webhooks come early, late, twice, and before any run waits for them. No event is lost, and none counts
//! twice.
//!
//! Events are queued per run and type, first in, first out. An event satisfies a single wait, the oldest. An
//! event that no wait has taken when its run ends becomes a dead letter.

use drystone::{
    CallError, Event, Flow, Primitives, Runtime, Services, d, dead_letters::Filter, testing::Latch, workflow,
    workflow::SendError,
};
use serde::{Deserialize, Serialize};

/// Event: a parcel was scanned at a place.
#[derive(Event, Serialize, Deserialize)]
struct Scanned(String);

/// Event: a person signed for the parcel.
#[derive(Event, Serialize, Deserialize)]
struct Signed(String);

/// A parcel: scanned three times, then signed for.
#[derive(Default, Serialize, Deserialize)]
struct Parcel;

#[workflow(events(Scanned, Signed))]
impl Parcel {
    async fn run(flow: &Flow<Self>) -> String {
        // The scans in the order in which they came. The wait takes no event before all three have come.
        let route: Vec<_> = flow.wait_for::<Scanned>().times(3).await.into_iter().map(|scan| scan.0).collect();
        let signed = match flow.wait_for::<Signed>().timeout("50ms").await {
            Ok(signed) => signed,
            Err(timeout) => {
                flow.remind(timeout.to_string()).await;
                flow.wait_for::<Signed>().await // takes the event that came too late for the first wait
            }
        };
        format!("{} and signed by {}", route.join(", "), signed.0)
    }

    #[step]
    async fn remind(why: String, printer: &Latch) {
        println!("  {why}: a reminder goes out");
        printer.clone().wait().await; // the printer is slow
    }
}

#[derive(Services)]
struct Deps {
    printer: Latch,
}

#[derive(Primitives)]
struct App {
    parcel: Parcel,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (folder, printer) = (tempfile::tempdir()?, Latch::default());
    let app = Runtime::sqlite(folder.path().join("app.db")).services(Deps { printer: printer.clone() });
    let runtime = app.start::<App>().await?;
    let parcel = runtime.client().parcel("parcel-7");

    println!(
        "whichever scan comes first starts the run, in one commit; what comes again with its key is the same scan"
    );
    for (hook, place) in [("hook-1", "Lisbon"), ("hook-2", "Paris"), ("hook-2", "Paris"), ("hook-3", "Berlin")] {
        let sent = parcel.send_or_start(Scanned(place.into())).idempotency_key(hook).await?;
        println!("  {hook}: {place} is number {}, {} wait", sent.number, parcel.events().await?.len());
    }

    println!("nobody signs in time");
    while parcel.status().await?.is_none_or(|status| status.waits_for[0].operation != "remind#1") {
        tokio::time::sleep(d!("10ms")).await;
    }
    println!("then two do: nobody waits for it now, and so it is queued");
    for by in ["Ada", "Bob"] {
        assert!(!parcel.send(Signed(by.into())).await?.taken);
    }
    printer.open();
    println!("  it came by {}", parcel.result().await?);
    assert_eq!(parcel.result().await?, "Lisbon, Paris, Berlin and signed by Ada");

    println!("the run has ended: it takes no more, and what nobody took is a dead letter");
    let refused = parcel.send(Signed("Carl".into())).await.err().and_then(CallError::failed);
    assert_eq!(refused, Some(SendError::Terminated { status: "succeeded".into() }));
    let letters = loop {
        let letters = runtime.dead_letters().list(Filter::default()).await?.letters;
        if !letters.is_empty() {
            break letters;
        }
        tokio::time::sleep(d!("10ms")).await;
    };
    println!("  {}: {}", letters[0].key, letters[0].reason);
    assert_eq!(letters.len(), 1);
    Ok(runtime.shutdown(d!("5s")).await?)
}

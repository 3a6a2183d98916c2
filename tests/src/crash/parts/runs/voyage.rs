//! A voyage: legs with one step each. Between them it sleeps, waits for a signal, or races.

use std::time::Duration;

use drystone::{Event, Flow, SqlError, Transaction, workflow};
use drystone_runtime::stable_hash;
use serde::{Deserialize, Serialize};

use super::Fate;
use crate::crash::{judging::guilt, parts::part::Part};

/// The number of legs.
pub(super) const LEGS: u32 = 6;

/// The longest pause between legs. Some pauses end in the same process, some in the next.
const PAUSE_MS_MAX: u64 = 80;

/// A signal, which lets a ship sail on.
#[derive(Debug, Event, Serialize, Deserialize)]
pub(super) struct Signal(pub(super) u32);

/// The state of a voyage: the legs that it has sailed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Voyage {
    pub(super) legs: Vec<u32>,
}

#[workflow(events(Signal))]
impl Voyage {
    async fn run(flow: &Flow<Self>, number: u64) -> Result<(Vec<u32>, Vec<u32>), String> {
        let mut signals = Vec::new();
        if number == u64::MAX {
            signals.push(flow.wait_for::<Signal>().await.0);
            flow.scuttle().await;
        }
        // It comes first, so that a transaction is in progress as soon as a ship starts.
        flow.book(number, LEGS).await.map_err(|error| error.to_string())?;
        for leg in 0..LEGS {
            let sailed = flow.sail(number, leg).await?;
            flow.update(|voyage| voyage.legs.push(sailed));
            flow.book(number, sailed).await.map_err(|error| error.to_string())?;
            let pause = pause(number, leg);
            match leg % 3 {
                0 => flow.sleep(pause).await,
                1 => signals.push(flow.wait_for::<Signal>().await.0),
                _ => select! {
                    () = flow.drift() => {},
                    () = flow.sleep(pause) => {},
                },
            }
        }
        Ok((flow.look(|voyage| voyage.legs.clone()), signals))
    }

    /// Sails a leg. Fails now and then at its first attempt.
    #[step(max_attempts = 5, backoff = "2ms")]
    async fn sail(number: u64, leg: u32, cx: &drystone::Context) -> Result<u32, String> {
        Part::Runs.moved();
        let stumbles = (number + u64::from(leg)).is_multiple_of(13) && cx.attempt() == 1;
        if stumbles { Err("a lull".to_owned()) } else { Ok(leg) }
    }

    /// Books a leg in the logbook, which is in the same file: once, whenever the process dies.
    #[step(transaction)]
    fn book(number: u64, leg: u32, sql: &mut Transaction<'_>) -> Result<usize, SqlError> {
        Part::Transactions.moved();
        // The number of the guilty ship does not fit into an SQL integer.
        let number = i64::try_from(number).unwrap_or(-1);
        sql.execute("INSERT INTO logbook VALUES (?1, ?2)", (number, leg))
    }

    /// Usually loses its race.
    #[step]
    async fn drift() {
        tokio::time::sleep(Duration::from_millis(PAUSE_MS_MAX)).await;
    }

    #[step(max_attempts = 1)]
    async fn scuttle(fate: &Fate) {
        if *fate == Fate::Dies {
            guilt::kill("voyage");
        }
        panic!("as planned")
    }
}

fn pause(number: u64, leg: u32) -> Duration {
    Duration::from_millis(stable_hash(&[&number.to_be_bytes(), &leg.to_be_bytes()]) % PAUSE_MS_MAX)
}

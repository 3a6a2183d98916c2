//! Runs that wait for what is published: one wait after another, as they are told.

use std::time::Duration;

use drystone::{
    Event, Flow, durable, workflow,
    workflow::{EventOf, Said},
};
use serde::{Deserialize, Serialize};

/// To all who wait, from when they wait.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic)]
pub(super) struct News {
    number: u64,
}

/// To all, from the oldest that is kept.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "start")]
pub(super) struct Notice {
    number: u64,
}

/// To one; for a short while.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", keep_for = "2s")]
pub(super) struct Job {
    number: u64,
}

/// One wait of a listener.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hark {
    /// The topic: its event's name.
    pub topic: String,
    /// How many at once.
    pub times: u32,
    /// How long at most.
    pub timeout_ms: Option<u64>,
    /// Raced by a sleep.
    pub race_ms: Option<u64>,
    /// Two waits beside each other.
    pub twice: bool,
}

/// What a listener has heard, in order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Listener {
    /// The numbers of the events.
    pub heard: Vec<u64>,
}

#[workflow(events(News, Notice, Job))]
impl Listener {
    async fn run(flow: &Flow<Self>, harks: Vec<Hark>) -> u64 {
        for hark in harks {
            let heard = match hark.topic.as_str() {
                "News" => listen::<News>(flow, hark).await,
                "Notice" => listen::<Notice>(flow, hark).await,
                _ => listen::<Job>(flow, hark).await,
            };
            flow.update(|listener| listener.heard.extend(heard));
        }
        flow.look(|listener| listener.heard.len() as u64)
    }
}

trait Numbered {
    fn number(&self) -> u64;
}

macro_rules! numbered {
    ($($event:ident)*) => {
        $(impl Numbered for $event {
            fn number(&self) -> u64 {
                self.number
            }
        })*
    };
}
numbered!(News Notice Job);

#[durable]
#[expect(clippy::needless_pass_by_value, reason = "the plan of a wait is handed over")]
async fn listen<E: EventOf<Listener> + Event<Asks = Said> + Numbered>(flow: &Flow<Listener>, hark: Hark) -> Vec<u64> {
    if let Some(race_ms) = hark.race_ms {
        return drystone::select! {
            event = flow.wait_for::<E>() => vec![event.number()],
            _ = flow.sleep(Duration::from_millis(race_ms)) => Vec::new(),
        };
    }
    if hark.twice {
        let (one, other) = drystone::join!(flow.wait_for::<E>(), flow.wait_for::<E>());
        return vec![one.number(), other.number()];
    }
    let wait = flow.wait_for::<E>().times(hark.times);
    let heard = match hark.timeout_ms {
        Some(limit) => wait.timeout(Duration::from_millis(limit)).await.unwrap_or_default(),
        None => wait.await,
    };
    heard.iter().map(Numbered::number).collect()
}

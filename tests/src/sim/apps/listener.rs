//! Listeners: runs that wait for published events. Their input lists the waits.

use std::time::Duration;

use drystone::{
    Event, Flow, durable, workflow,
    workflow::{EventOf, Said, TopicEvent, Wait},
};
use serde::{Deserialize, Serialize};

/// Delivered to all waits, from the time of the wait.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic)]
pub(super) struct News {
    number: u64,
}

/// Delivered to all waits, from the oldest kept event.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "start")]
pub(super) struct Notice {
    number: u64,
}

/// Delivered to a single wait; kept for a short while.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", keep_for = "2s")]
pub(super) struct Job {
    number: u64,
}

/// Delivered to all waits, from the start of the run. The topic keeps few events. An event queued by a run
/// expires after a short while and is discarded when the run ends.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "created", max_pending = 3, expires = "400ms", on_terminated = "discard")]
pub(super) struct Bulletin {
    number: u64,
}

/// Delivered to a single wait at its shelf. The topic of a shelf keeps few events, for a short while. An
/// event that a run has not taken at its end goes back to the topic.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", key = shelf, max_pending = 2, keep_for = "2s", on_terminated = "publish")]
pub(super) struct Task {
    number: u64,
    shelf: u8,
}

/// One wait of a listener.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hark {
    /// The name of the event type.
    pub topic: String,
    /// The key, if the event type has one.
    pub shelf: u8,
    /// The number of an event that the listener publishes on the topic before it waits.
    pub says: Option<u64>,
    /// How long the listener sleeps first. Events sent meanwhile are queued.
    pub sleep_ms: u64,
    /// How many events the wait takes together.
    pub times: u32,
    /// The timeout of the wait.
    pub timeout_ms: Option<u64>,
    /// The length of a sleep that races the wait.
    pub race_ms: Option<u64>,
    /// Whether the listener waits twice at the same time.
    pub twice: bool,
}

/// The events that a listener has got, in order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Listener {
    /// The numbers of the events.
    pub heard: Vec<u64>,
}

#[workflow(events(News, Notice, Job, Bulletin, Task))]
impl Listener {
    async fn run(flow: &Flow<Self>, harks: Vec<Hark>) -> u64 {
        for hark in harks {
            let heard = match hark.topic.as_str() {
                "News" => listen::<News>(flow, hark).await,
                "Notice" => listen::<Notice>(flow, hark).await,
                "Bulletin" => listen::<Bulletin>(flow, hark).await,
                "Task" => listen::<Task>(flow, hark).await,
                _ => listen::<Job>(flow, hark).await,
            };
            flow.update(|listener| listener.heard.extend(heard));
        }
        flow.look(|listener| listener.heard.len() as u64)
    }
}

trait Heard: EventOf<Listener> + TopicEvent + Sized {
    fn number(&self) -> u64;
    fn of(hark: &Hark, number: u64) -> Self;
    fn wait(flow: &Flow<Listener>, hark: &Hark) -> Wait<Self, Said>;
}

macro_rules! heard {
    ($($event:ident { $($key:ident)? })*) => {
        $(impl Heard for $event {
            fn number(&self) -> u64 {
                self.number
            }
            #[allow(unused_variables, reason = "not every event has a key")]
            fn of(hark: &Hark, number: u64) -> Self {
                Self { number, $($key: hark.$key)? }
            }
            #[allow(unused_variables, reason = "not every event has a key")]
            fn wait(flow: &Flow<Listener>, hark: &Hark) -> Wait<Self, Said> {
                flow.wait_for::<Self>()$(.key(hark.$key))?
            }
        })*
    };
}
heard!(News {} Notice {} Job {} Bulletin {} Task { shelf });

#[durable]
async fn listen<E: Heard>(flow: &Flow<Listener>, hark: Hark) -> Vec<u64> {
    if hark.sleep_ms > 0 {
        flow.sleep(Duration::from_millis(hark.sleep_ms)).await;
    }
    if let Some(number) = hark.says {
        // A full topic refuses the event; that is no failure.
        let _ = flow.publish(E::of(&hark, number)).await;
    }
    if let Some(race_ms) = hark.race_ms {
        return drystone::select! {
            event = E::wait(flow, &hark) => vec![event.number()],
            _ = flow.sleep(Duration::from_millis(race_ms)) => Vec::new(),
        };
    }
    if hark.twice {
        let (one, other) = drystone::join!(E::wait(flow, &hark), E::wait(flow, &hark));
        return vec![one.number(), other.number()];
    }
    let wait = E::wait(flow, &hark).times(hark.times);
    let heard = match hark.timeout_ms {
        Some(limit) => wait.timeout(Duration::from_millis(limit)).await.unwrap_or_default(),
        None => wait.await,
    };
    heard.iter().map(Heard::number).collect()
}

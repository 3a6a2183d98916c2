//! Runs that wait for what is published: one wait after another, as they are told.

use std::time::Duration;

use drystone::{
    Event, Flow, durable, workflow,
    workflow::{EventOf, Said, TopicEvent, Wait},
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

/// To all, from when their run began. Few are kept; what a run has queued is gone after a short while, and with its run.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "created", max_pending = 3, expires = "400ms", on_terminated = "discard")]
pub(super) struct Bulletin {
    number: u64,
}

/// To one of those who wait at its shelf, where few lie, for a short while. What a run has not taken goes back there.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", key = shelf, max_pending = 2, keep_for = "2s", on_terminated = "publish")]
pub(super) struct Task {
    number: u64,
    shelf: u8,
}

/// One wait of a listener.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hark {
    /// The topic: its event's name.
    pub topic: String,
    /// Which of its topics, if the event has a key.
    pub shelf: u8,
    /// An event of that topic that it publishes before.
    pub says: Option<u64>,
    /// How long it sleeps before: what is sent meanwhile is queued.
    pub sleep_ms: u64,
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
        // A topic that is full takes no more.
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

//! Approval by a person: three runs of one workflow are approved, rejected, and not answered within a day.
//!
//! `select!` has one winner. The winner is recorded, and the losing waits are released in the same commit. A
//! deadline is a fixed point in time: it does not move, even if the process is down when it passes. The
//! example runs in a test world, whose clock is moved by hand.

use drystone::{Event, Flow, Primitives, Services, d, testing::Log, testing::World, workflow, workflow::RunPhase};
use serde::{Deserialize, Serialize};

/// Event: the request was approved.
#[derive(Event, Serialize, Deserialize)]
struct Approved {
    by: String,
}

/// Event: the request was rejected.
#[derive(Event, Serialize, Deserialize)]
struct Rejected {
    why: String,
}

/// The answer to a request.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Answer {
    Approved(String),
    Rejected(String),
    Nobody,
}

/// A request that waits for an answer.
#[derive(Default, Serialize, Deserialize)]
struct Approval;

#[workflow(events(Approved, Rejected))]
impl Approval {
    /// The body: asks the boss, waits for the first of three outcomes, and tells the team.
    async fn run(flow: &Flow<Self>, what: String) -> Answer {
        flow.ask(what.clone()).await;
        let answer = select! {
            approved = flow.wait_for::<Approved>() => Answer::Approved(approved.by),
            rejected = flow.wait_for::<Rejected>() => Answer::Rejected(rejected.why),
            _ = Self::nag(flow, &what) => Answer::Nobody,
        };
        flow.tell(what, format!("{answer:?}")).await;
        answer
    }

    /// A helper of the body: asks once more after 20 hours, and gives up after a day. When an answer comes
    /// first, the helper is dropped at the line that it waits on.
    async fn nag(flow: &Flow<Self>, what: &str) {
        flow.sleep("20h").await;
        flow.ask(format!("{what} (four hours left)")).await;
        flow.sleep("4h").await;
    }

    #[step]
    async fn ask(what: String, mail: &Log) {
        mail.say(format!("to the boss: may we have {what}?"));
    }

    #[step]
    async fn tell(what: String, answer: String, mail: &Log) {
        mail.say(format!("to the team: {what}: {answer}"));
    }
}

/// The services of the app. A step gets the field of type `Log` as `&Log`.
#[derive(Services)]
struct Deps {
    mail: Log,
}

#[derive(Primitives)]
struct App {
    approval: Approval,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mail = Log::default();
    let world = World::sqlite().services(Deps { mail: mail.clone() }).start::<App>().await;
    let post = |when: &str| mail.take().iter().for_each(|line| println!("{when}: {line}"));
    let [laptop, desk, boat] = ["a laptop", "a desk", "a boat"].map(|what| world.client().approval(what));
    for (run, what) in [(&laptop, "a laptop"), (&desk, "a desk"), (&boat, "a boat")] {
        run.start(what.into()).await?;
    }
    post("at once");

    laptop.send(Approved { by: "Ada".into() }).await?;
    post("at once");
    world.advance(d!("22h")).await;
    post("after 22 hours");
    desk.send(Rejected { why: "you have one".into() }).await?;
    post("after 22 hours");

    assert_eq!(boat.status().await?.map(|status| status.phase), Some(RunPhase::Suspended));
    world.crash().await; // the process is down when the day ends
    world.advance(d!("1d")).await;
    world.restart().await;
    world.settle().await;
    post("when the power is back");

    assert_eq!(laptop.result().await?, Answer::Approved("Ada".into()));
    assert_eq!(desk.result().await?, Answer::Rejected("you have one".into()));
    assert_eq!(boat.result().await?, Answer::Nobody);
    Ok(())
}

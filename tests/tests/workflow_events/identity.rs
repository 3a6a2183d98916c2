//! An event reaches its run and no other, whatever keys, types and contents are called (V3, V7, V10).

use super::*;

/// Events with names that nearly equal other names, or look like stored names.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "Num")]
struct Shorter(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "event/Number")]
struct Lane(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "Number\0")]
struct Ended(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "wait:Number#1")]
struct Operation(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "🦀'; DROP TABLE row; --")]
struct Crab(u32);

/// Sleeps and takes an event of each type.
#[derive(Default, Serialize, Deserialize)]
struct Odd;

#[workflow(events(Number, Shorter, Lane, Ended, Operation, Crab))]
impl Odd {
    async fn run(flow: &Flow<Self>) -> Vec<u32> {
        flow.sleep("10m").await;
        let (number, shorter) = (flow.wait_for::<Number>().await.0, flow.wait_for::<Shorter>().await.0);
        let (lane, ended, operation, crab) = join!(
            flow.wait_for::<Lane>(),
            flow.wait_for::<Ended>(),
            flow.wait_for::<Operation>(),
            flow.wait_for::<Crab>()
        );
        vec![number, shorter, lane.0, ended.0, operation.0, crab.0]
    }
}

#[derive(Primitives)]
struct App {
    odd: Odd,
    finder: Finder,
    taker: Taker,
}

/// V7
#[tokio::test]
async fn unknown_and_ended_runs_take_no_events() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().taker("a");
        let refused =
            |sent: Result<_, CallError<SendError>>| sent.map(|_: workflow::Sent| ()).unwrap_err().failed().unwrap();
        assert_eq!(refused(run.send(Number(1)).await), SendError::NotFound);
        run.start(1, false).await.unwrap();
        run.terminate().await.unwrap();
        let terminated = SendError::Terminated { status: "terminated".into() };
        assert_eq!(refused(run.send(Number(1)).await), terminated);
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Terminated);
    }
}

/// V3
#[tokio::test]
async fn what_is_not_such_an_event_is_refused_and_nothing_is_stored() {
    let world = World::memory().start::<App>().await;
    let run = world.client().taker("a");
    run.start(1, false).await.unwrap();
    let wrong = world.call("taker", "a", "send", json!(["Number", "seven"])).await.unwrap_err();
    assert!(
        wrong.to_string().contains("not an event `Number`") || format!("{wrong:?}").contains("malformed"),
        "{wrong:?}"
    );
    let unknown = world.call("taker", "a", "send", json!(["Shipped", 1])).await.unwrap_err();
    assert!(format!("{unknown:?}").contains("not_accepted"), "{unknown:?}");
    assert!(run.events().await.unwrap().is_empty());
    run.send(Number(7)).await.unwrap();
    assert_eq!(run.result().await.unwrap(), [7]);
}

/// V10
#[tokio::test]
async fn nothing_of_one_key_reaches_another() {
    let keys = ["a", "a:b", "a/event/Number", "a#1", "b:a", "'; DROP TABLE row; --", "\u{0}a", "ä{b}*"];
    for setup in both() {
        let world = setup.start::<App>().await;
        let taker = |key: &&str| world.client().taker(key);
        for key in &keys {
            taker(key).start(1, true).await.unwrap();
        }
        for (index, key) in keys.iter().enumerate() {
            assert!(!taker(key).send(Number(index as u32)).await.unwrap().taken, "it sleeps");
        }
        world.restart().await;
        for (index, key) in keys.iter().enumerate() {
            let queued = taker(key).events().await.unwrap();
            assert_eq!(queued.iter().map(|event| &event.body).collect::<Vec<_>>(), [&json!(index)], "{key:?}");
        }
        world.advance(d!("10m")).await;
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(taker(key).result().await.unwrap(), [index as u32], "{key:?}");
        }
    }
}

/// V10
#[tokio::test]
async fn nothing_of_one_type_reaches_another_whatever_they_are_called() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().odd("a");
        run.start().await.unwrap();
        run.send(Crab(6)).await.unwrap();
        run.send(Operation(5)).await.unwrap();
        run.send(Ended(4)).await.unwrap();
        run.send(Lane(3)).await.unwrap();
        run.send(Shorter(2)).await.unwrap();
        run.send(Number(1)).await.unwrap();
        world.restart().await;
        let queued = run.events().await.unwrap();
        assert_eq!(
            queued.iter().map(|event| &event.body).collect::<Vec<_>>(),
            [6, 5, 4, 3, 2, 1].map(|of| json!(of)).iter().collect::<Vec<_>>()
        );
        assert_eq!(queued[3].event, "event/Number");
        world.advance(d!("10m")).await;
        assert_eq!(run.result().await.unwrap(), [1, 2, 3, 4, 5, 6]);
    }
}

/// V2, V8
#[tokio::test]
async fn whatever_characters_are_in_an_event_come_through() {
    let odd = "a\0b\u{1f980}\u{feff}\"\\\u{7f}";
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().finder("a");
        run.start(odd.into()).await.unwrap();
        run.send(Parcel { shelf: "a".into(), number: 1 }).await.unwrap();
        run.send(Parcel { shelf: format!("{odd}\0"), number: 2 }).await.unwrap();
        world.restart().await;
        let queued = run.events().await.unwrap();
        assert_eq!(queued[1].body, json!({ "shelf": format!("{odd}\0"), "number": 2 }));
        assert!(run.send(Parcel { shelf: odd.into(), number: 3 }).await.unwrap().taken);
        assert_eq!(run.result().await.unwrap(), 3);
    }
}

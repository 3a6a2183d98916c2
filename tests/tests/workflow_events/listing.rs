//! The list of the queued events of a run (V12).

use super::*;

#[derive(Primitives)]
struct App {
    taker: Taker,
}

/// V12
#[tokio::test]
async fn queued_events_are_listed_page_by_page_whatever_their_type() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().taker("a");
        assert!(run.events().await.unwrap().is_empty(), "there is no such run");
        run.start(1, true).await.unwrap();
        for number in 1..=250 {
            if number % 100 == 0 {
                run.send(Paid { order: "x".into(), amount: number }).await.unwrap();
            } else {
                run.send(Number(number)).await.unwrap();
            }
        }
        let first = run.events_after(0).await.unwrap();
        assert_eq!((first.events.len(), first.next), (200, Some(200)));
        let second = run.events_after(200).await.unwrap();
        assert_eq!((second.events.len(), second.events[0].number, second.next), (50, 201, None));
        let all = run.events().await.unwrap();
        assert_eq!(all.iter().map(|event| event.number).collect::<Vec<_>>(), (1..=250).collect::<Vec<_>>());
        assert_eq!((all[98].event.as_str(), all[99].event.as_str()), ("Number", "Paid"));
    }
}

/// V12
#[tokio::test]
async fn long_events_are_listed_a_few_at_a_time() {
    let world = World::memory().start::<App>().await;
    let run = world.client().taker("a");
    run.start(1, true).await.unwrap();
    for amount in 1..=3 {
        run.send(Paid { order: "x".repeat(300 << 10), amount }).await.unwrap();
    }
    let first = run.events_after(0).await.unwrap();
    assert_eq!((first.events.len(), first.next), (1, Some(1)));
    assert_eq!(run.events().await.unwrap().len(), 3);
}

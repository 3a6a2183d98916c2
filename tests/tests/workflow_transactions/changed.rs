//! A step that becomes transactional with the code (W6, R5).

use super::*;

mod before {
    use super::*;

    /// The workflow before its step became transactional.
    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Later;

    #[workflow]
    impl Later {
        async fn run(flow: &Flow<Self>, note: String) -> Result<usize, Failure> {
            flow.book(note).await
        }

        #[step]
        async fn book(note: String) -> Result<usize, Failure> {
            let _ = note;
            std::future::pending().await
        }
    }
}

mod after {
    use super::*;

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Later;

    #[workflow]
    impl Later {
        async fn run(flow: &Flow<Self>, note: String) -> Result<usize, Failure> {
            flow.book(note).await
        }

        #[step(transaction)]
        fn book(note: String, sql: &mut Transaction<'_>) -> Result<usize, Failure> {
            write(&note[..3], note.len() as u64, sql)?;
            Ok(note.len())
        }
    }
}

#[derive(Primitives)]
struct Old {
    later: before::Later,
}

#[derive(Primitives)]
struct New {
    later: after::Later,
}

/// W6, R5: The step finds its input, also if the input is long.
#[tokio::test]
async fn a_step_that_waits_becomes_transactional_with_the_code() {
    let world = World::sqlite().schema(SCHEMA).start::<Old>().await;
    let notes = [("short", "ada".to_owned()), ("long", "bob".repeat(2_000))];
    for (key, note) in notes.clone() {
        world.client().later(key).start(note).await.unwrap();
    }
    world.crash().await;
    let world = world.restart_as::<New, _>(()).await.unwrap();
    world.advance(d!("1m")).await;
    for (key, note) in notes {
        assert_eq!(world.client().later(key).result().await.unwrap(), note.len());
        let next = format!("{key} again");
        world.client().later(&next).start(note.clone()).await.unwrap();
        assert_eq!(world.client().later(&next).result().await.unwrap(), note.len());
    }
}

//! The forms of `select!` and `join!`, of helpers and of durations.
#![deny(warnings)]

use std::{future::Future, pin::Pin};

use drystone::{Event, EventTimeout, Failure, Flow, assume_durable, durable, join_all, workflow};
use serde::{Deserialize, Serialize};

#[derive(Event, Debug, Serialize, Deserialize)]
#[event(name = "a b", expires = "1h 30m")]
enum Asked {
    Once,
    Often { times: u32 },
}

#[derive(Default, Serialize, Deserialize)]
pub struct Forms {
    seen: Vec<u32>,
}

#[workflow(events(Asked))]
impl Forms {
    async fn run(flow: &Flow<Self>) -> Result<u32, Failure> {
        let waited: Result<Asked, EventTimeout> = flow.wait_for::<Asked>().timeout("1h").await;
        let times = match waited? {
            Asked::Once => 1,
            Asked::Often { times } => times,
        };
        'outer: for turn in 0..times {
            let number = select! {
                number = flow.number(turn) => match number {
                    Ok(number) => number,
                    Err(_) => continue 'outer,
                }
                () = flow.sleep("1m") => { break 'outer }
                (a, b) = async { join!(flow.number(1), flow.number(2)) } => a? + b?,
                Wrapped { value, .. } = Self::wrapped(flow) => if value > 1 { value } else { return Ok(0) }
                asked = flow.wait_for::<Asked>() => Box::pin(Self::again(flow, &asked)).await?
            };
            flow.update(|forms| forms.seen.push(number));
        }
        let (only,) = join!(flow.number(1),);
        let one = select! { number = flow.number(only?) => number? };
        let boxed: Vec<Pin<Box<dyn Future<Output = Result<u32, Failure>> + Send + '_>>> = vec![Box::pin(flow.number(1))];
        let all = assume_durable(boxed.into_iter().next().unwrap()).await?;
        let lines = join_all((0..3).map(|number| flow.number(number))).await;
        let sum: u32 = lines.into_iter().collect::<Result<Vec<_>, _>>()?.iter().sum();
        let text = longest(flow, "a", "bc").await;
        let clock = flow.run("clock", async move {
            let slow = tokio::time::sleep(std::time::Duration::from_millis(1));
            tokio::select! { _ = slow => (), _ = async {} => () }
            tokio::spawn(async { std::time::Instant::now() }).await.is_ok()
        });
        let (is_told, ()) = join!(clock.timeout("5s"), async move { flow.sleep("1s").await });
        Ok(one + all + sum + text.len() as u32 + u32::from(is_told))
    }

    async fn again(flow: &Flow<Self>, asked: &Asked) -> Result<u32, Failure> {
        println!("{asked:?} {}", flow.number(1).await?);
        if flow.random() > 1 { Box::pin(Self::again(flow, asked)).await } else { Ok(1) }
    }

    async fn wrapped(flow: &Flow<Self>) -> Wrapped {
        let value = generic(flow, &Some(7_u32)).await;
        Wrapped { value: value.unwrap_or_default() }
    }

    #[step]
    async fn number(of: u32) -> Result<u32, Failure> {
        Ok(format!("{of}").parse::<u32>()?)
    }
}

struct Wrapped {
    value: u32,
}

#[durable]
pub async fn longest<'a>(flow: &Flow<Forms>, one: &'a str, other: &'a str) -> &'a str {
    flow.sleep("1s").await;
    if one.len() > other.len() { one } else { other }
}

#[durable]
async fn generic<T: Clone + Sync>(flow: &Flow<Forms>, value: &Option<T>) -> Option<T>
where
    T: Send,
{
    flow.sleep(std::time::Duration::from_secs(1)).await;
    value.clone()
}

fn main() {}

//! Names that generated code might trip over.
#![deny(warnings)]

use drystone::{Event, Flow, Primitives, workflow};
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
pub struct E;
#[derive(Event, Serialize, Deserialize)]
#[event(key = 0)]
pub struct D(u64);

/// As our type parameters might be called.
#[derive(Default, Serialize, Deserialize)]
pub struct W;

#[workflow(events(E, D,),)]
impl W {
    async fn run(flow2: &Flow<W>, event: u8, input: u8, services: String, (name, env): (u8, u8), mut body: Vec<Self>) {
        body.pop();
        let error = flow2.step(event, input, services, body).await;
        let (cx, _) = (error + name + env, flow2.r#match().await);
        flow2.update(|state| *state = W::made(cx));
    }

    #[step]
    async fn step(mut params: u8, input: u8, _: String, core: Vec<Self>) -> u8 {
        params += input;
        params + core.len() as u8
    }

    #[step(max_attempts = 2,)]
    async fn r#match() -> Result<(), drystone::Never> {
        Ok(())
    }

    fn made(_number: u8) -> Self {
        Self
    }

    async fn ended(&self, self_: u8, __name: String) -> Result<(u8, String), drystone::Failure> {
        Ok((self_, __name))
    }
}

#[derive(Primitives)]
struct App {
    w: W,
    again: W,
}

async fn calls(client: &AppClient) -> Result<(), Box<dyn std::error::Error>> {
    client.w("a").start(1, 2, "x".into(), (3, 4), vec![]).await?;
    client.again("b").start_with(1, 2, "x".into(), (3, 4), vec![], D(1)).await?;
    client.again("b").send_or_start(E, 1, 2, "x".into(), (3, 4), vec![]).await?;
    client.w("a").ended(1, "x".into()).await?;
    client.w("a").result().await.map_err(|error| format!("{error:?}"))?;
    Ok(())
}

fn main() {
    let _ = calls;
}

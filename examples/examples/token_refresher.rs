//! A continuous primitive that keeps tokens fresh.
//!
//! A tick runs **at least** once. Suppose the process dies after the provider has rotated the token, and
//! before the new token is stored. The tick then runs again with a refresh token that was already used, and
//! many providers lock the user out. So the request carries the work id, which is the same over retries and
//! restarts. A provider that takes an idempotency key answers a repeat as it did the first time.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use drystone::{Context, Primitives, Runtime, Services, d, primitive};
use serde::{Deserialize, Serialize};

/// The OAuth tokens of one user.
#[derive(Serialize, Deserialize)]
struct TokenRefresher {
    access: String,
    refresh: String,
}

#[primitive(continuous, every = "100ms", max_attempts = 3, retry = "20ms")]
impl TokenRefresher {
    #[tick] // no caller receives the error, so any error type will do
    async fn refresh(&mut self, oauth: &OAuth, cx: &Context) -> Result<(), String> {
        (self.access, self.refresh) = oauth.exchange(&self.refresh, cx.work_id(), cx.attempt())?;
        Ok(())
    }

    /// Returns the current access token.
    async fn access(&self) -> String {
        self.access.clone()
    }
}

/// A provider that rotates tokens, and fails once. It answers a repeated request as it did the first time.
#[derive(Default)]
struct OAuth(Mutex<HashMap<String, (String, String)>>);

impl OAuth {
    fn exchange(&self, refresh: &str, request: String, attempt: u32) -> Result<(String, String), String> {
        let mut answered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = answered.len() + 1;
        if next == 2 && attempt == 1 {
            return Err("the provider is down for a moment".into());
        }
        println!("  {request}, attempt {attempt}: {refresh} is exchanged");
        Ok(answered.entry(request).or_insert_with(|| (format!("access-{next}"), format!("refresh-{next}"))).clone())
    }
}

#[derive(Services)]
struct Deps {
    oauth: OAuth,
}

#[derive(Primitives)]
struct App {
    token_refresher: TokenRefresher,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let services = Deps { oauth: OAuth::default() };
    let runtime = Runtime::sqlite(folder.path().join("app.db")).services(services).start::<App>().await?;
    let user = runtime.client().token_refresher("user-123");
    let begin = TokenRefresher { access: "access-0".into(), refresh: "refresh-0".into() };
    println!("{:?}", user.start_with(begin).await?);
    while user.status().await?.is_some_and(|status| status.run_count < 4) {
        tokio::time::sleep(d!("20ms")).await;
    }
    println!("the token is {}; {:?}", user.access().deadline(d!("5s")).await?, user.status().await?);
    Ok(runtime.shutdown(d!("5s")).await?)
}

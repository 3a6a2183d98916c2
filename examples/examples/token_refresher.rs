//! Tokens kept fresh: a continuous primitive.
//!
//! A tick runs **at least** once. If the process dies after the provider has rotated the token and before the new one is
//! stored, the tick runs again with the refresh token that was used already, and many providers then lock the user out.
//! So the request carries the work id: it is the same over retries and restarts, and a provider that takes an idempotency
//! key answers a repeat as it did the first time.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use drystone::{Context, Primitives, Runtime, Services, d, primitive};
use serde::{Deserialize, Serialize};

/// One user's OAuth tokens, kept fresh.
#[derive(Serialize, Deserialize)]
struct TokenRefresher {
    access: String,
    refresh: String,
}

#[primitive(continuous, every = "100ms", max_attempts = 3, retry = "20ms")]
impl TokenRefresher {
    #[tick] // nobody receives its error: any error will do
    async fn refresh(&mut self, oauth: &OAuth, cx: &Context) -> Result<(), String> {
        (self.access, self.refresh) = oauth.exchange(&self.refresh, cx.work_id(), cx.attempt())?;
        Ok(())
    }

    /// The token as it is now.
    async fn access(&self) -> String {
        self.access.clone()
    }
}

/// A provider that rotates tokens, and stumbles once. A repeat of a request is answered as it was the first time.
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

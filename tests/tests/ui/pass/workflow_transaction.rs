//! A transactional step takes its transaction wherever it likes, and returns what it likes.

use drystone::{Failure, Flow, SqlError, Transaction, workflow};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Sale;

#[workflow]
impl Sale {
    async fn run(flow: &Flow<Self>, sql: String) -> Result<u64, Failure> {
        flow.first(sql, 1).await?;
        flow.nothing().await;
        Ok(flow.middle(1, vec![2]).await?)
    }

    #[step(transaction, max_attempts = 5, backoff = "1s", timeout = "10s", retry_if = SqlError::is_constraint)]
    fn first(tx: &mut Transaction<'_>, sql: String, _: u64) -> Result<usize, SqlError> {
        tx.execute(&sql, ())
    }

    #[step(transaction)]
    fn middle(input: u64, tx: &mut drystone::Transaction<'_>, mut __sql: Vec<u64>) -> Result<u64, Failure> {
        __sql.push(tx.query_one("SELECT ?1", (input,), |row| row.get(0))?);
        Ok(__sql.len() as u64)
    }

    #[step(transaction)]
    pub fn nothing(_: &mut Transaction) {}
}

fn main() {}

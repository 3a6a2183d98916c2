//! How duroxide's file is written.

use sqlx::{Error, SqlitePool};

/// `journal_mode/synchronous` of a connection that duroxide has set.
///
/// It sets `synchronous` to `WAL`, which is no value of it; SQLite says nothing and takes `NORMAL`, which in WAL mode
/// does not sync a commit.
pub async fn read(pool: &SqlitePool) -> Result<String, Error> {
    let journal: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(pool).await?;
    let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(pool).await?;
    let synchronous = ["OFF", "NORMAL", "FULL", "EXTRA"].get(synchronous as usize).unwrap_or(&"?");
    Ok(format!("{journal}/{synchronous}"))
}

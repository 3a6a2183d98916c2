//! How apalis' file is written.

use apalis_sqlite::{SqlitePool, SqlxError};

/// `journal_mode/synchronous` of the connection that is used for everything.
pub async fn read(pool: &SqlitePool) -> Result<String, SqlxError> {
    let journal: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(pool).await?;
    let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(pool).await?;
    let synchronous = ["OFF", "NORMAL", "FULL", "EXTRA"].get(synchronous as usize).unwrap_or(&"?");
    Ok(format!("{journal}/{synchronous}"))
}

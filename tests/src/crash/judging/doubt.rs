//! Entities in doubt: they may have been running when the last process died, and have made no progress in
//! this one.
//!
//! Several kernels in one process cannot tell whose code kills it, so each kernel counts a death against its
//! own entities (W2). Therefore a child opens the second file only when no entity of the first file is in
//! doubt, and begins operations only when no entity at all is in doubt. So an innocent entity makes progress
//! in every life that comes this far, however slow the machine is.

use std::{path::Path, time::Duration};

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use tokio::time::sleep;

/// The pause between two looks at a file.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Finds entities that this owner has taken up and counts crashes against, and entities and messages of an
/// earlier owner that this owner has not taken up yet. Entities that were at rest, even with a crash
/// counted, are not taken up, so this query leaves them out.
const DOUBTED: &str = "SELECT EXISTS (
    SELECT 1 FROM drystone_entity entity JOIN drystone_partition owner ON owner.id = entity.partition
    WHERE parked IS NULL AND CASE WHEN version >> 32 < epoch THEN active = 1 OR alarm_at <= highest ELSE crashes > 0 END
) OR EXISTS (
    SELECT 1 FROM drystone_inbox inbox JOIN drystone_partition owner ON owner.id = inbox.partition WHERE version >> 32 < epoch
)";

/// Waits until no entity of a file is in doubt.
pub(in crate::crash) async fn over(file: &Path) -> Result<()> {
    let file = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    while file.query_row(DOUBTED, (), |row| row.get(0))? {
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}

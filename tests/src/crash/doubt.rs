//! Who may have been running when the last process died, and has not got on in this one.
//!
//! Several kernels in one process cannot tell whose code kills it: each holds that against its own (W2). So the next file is opened when
//! nobody is in doubt in the one before it, and the first operation is asked for when nobody is in any. Whoever is innocent gets on in
//! every life that comes so far, however slow the machine is.

use std::{path::Path, time::Duration};

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use tokio::time::sleep;

const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Those that this owner has taken up and holds crashes against, and those of an earlier one that it has yet to take up. Whoever was left
/// at rest with a crash counted is taken up by nobody, and waited for by nobody.
const DOUBTED: &str = "SELECT EXISTS (
    SELECT 1 FROM drystone_entity entity JOIN drystone_partition owner ON owner.id = entity.partition
    WHERE parked IS NULL AND CASE WHEN version >> 32 < epoch THEN active = 1 OR alarm_at <= highest ELSE crashes > 0 END
) OR EXISTS (
    SELECT 1 FROM drystone_inbox inbox JOIN drystone_partition owner ON owner.id = inbox.partition WHERE version >> 32 < epoch
)";

/// Waits until nobody is.
pub(super) async fn over(file: &Path) -> Result<()> {
    let file = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    while file.query_row(DOUBTED, (), |row| row.get(0))? {
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}

//! Our own side of the comparison.

use anyhow::Result;
use peer_work::{Ask, Measured};

/// Does the work on Drystone's queue; nothing as long as there is none.
pub(super) async fn ours(_ask: &Ask) -> Result<Option<Measured>> {
    Ok(None)
}

//! The processor time of this process, as the system counts it.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

/// The unit in which the system reports processor time, whatever its own tick is: `USER_HZ` is 100 on every
/// Linux.
const TICK: Duration = Duration::from_millis(10);

/// The time spent in our own code so far, over all threads.
pub(in crate::load) fn user_time() -> Result<Duration> {
    let [user, _] = ticks(&fs::read_to_string("/proc/self/stat")?)?;
    Ok(TICK * u32::try_from(user)?)
}

/// Reads user and system ticks from a `/proc/self/stat`. The text after the program's name, which may
/// contain anything, begins with the third field. The 14th and 15th fields are the ticks.
pub(in crate::load) fn ticks(process: &str) -> Result<[u64; 2]> {
    let (_, fields) = process.rsplit_once(')').context("no name in /proc/self/stat")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || anyhow::Ok(fields.next().context("too few fields in /proc/self/stat")?.parse()?);
    Ok([next()?, next()?])
}

//! The processor time of this process, as the system counts it.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

/// The system counts in these, whatever the kernel's own pace is: `USER_HZ` is 100 on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// Time in our own code so far, in all threads.
pub(super) fn user_time() -> Result<Duration> {
    let [user, _] = ticks(&fs::read_to_string("/proc/self/stat")?)?;
    Ok(TICK * u32::try_from(user)?)
}

/// User and system ticks in a `/proc/self/stat`. What comes after the program's name, which may hold anything, begins with
/// the third field; the 14th and 15th are ours.
pub(super) fn ticks(process: &str) -> Result<[u64; 2]> {
    let (_, fields) = process.rsplit_once(')').context("no name in /proc/self/stat")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || anyhow::Ok(fields.next().context("too few fields in /proc/self/stat")?.parse()?);
    Ok([next()?, next()?])
}

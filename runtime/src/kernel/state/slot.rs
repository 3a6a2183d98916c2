//! A key in memory: its mail, and its resident while no thread is visiting it.

use super::mail::Mail;
use crate::kernel::resident::Resident;

#[derive(Debug)]
pub(crate) struct Slot {
    /// Mail that came since the last visit.
    pub(crate) mail: Vec<Mail>,
    /// `None` while a thread is visiting the key.
    pub(crate) resident: Option<Box<Resident>>,
    /// The key is in the run queue.
    pub(crate) is_queued: bool,
    /// The key was queued during a visit; the end of the visit puts it in the run queue.
    pub(crate) was_called: bool,
    /// The key is in line for the writer.
    pub(crate) is_writable: bool,
    /// The partition was lost while a thread had the resident.
    pub(crate) is_lost: bool,
    /// The key was visited since eviction for lack of room last checked it.
    pub(crate) was_used: bool,
    /// The tick of the last visit.
    pub(crate) used_at: u64,
    /// The number of calls that wait here, and their bytes.
    pub(crate) calls: usize,
    pub(crate) bytes: usize,
    /// The bytes that the key counts for in memory.
    pub(crate) weight: usize,
}

impl Slot {
    pub(crate) fn new(resident: Resident, tick: u64) -> Self {
        Self {
            mail: Vec::new(),
            weight: resident.weight(),
            resident: Some(Box::new(resident)),
            is_queued: false,
            was_called: false,
            is_writable: false,
            is_lost: false,
            was_used: true,
            used_at: tick,
            calls: 0,
            bytes: 0,
        }
    }
}

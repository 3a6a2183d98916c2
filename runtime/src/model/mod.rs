//! The shared vocabulary of the kernel, its handlers and its stores: keys, entities, inputs, commits, work.
//! These types know neither a kernel nor a store.

mod commit;
mod crashes;
mod entity;
mod hot;
mod input;
mod key;
mod letter;
mod mark;
mod rows;
mod time;
mod version;
mod work;

pub use commit::{Change, Commit, Lifecycle, Message, Reply, To};
pub use crashes::{Conviction, Crashes};
pub use entity::{Entity, Fingerprint, Parked, Phase, Status};
pub use hot::Hot;
pub use input::{Cause, Idempotency, Input, Outcome, Produced, Refusal, Ticket};
pub use key::{Key, Name, Partition, key_bytes_max, name_bytes_max, stable_hash};
pub use letter::DeadLetter;
pub use mark::{Mark, Now};
pub use rows::{DropLane, Lane, Range, Row, RowKey, Rows, key_after};
pub use time::Millis;
pub use version::{Epoch, MessageId, Version};
pub use work::{Borrow, Work, WorkId};

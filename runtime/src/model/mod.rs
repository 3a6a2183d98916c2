//! The shared vocabulary of the kernel, its handlers and its stores: keys, entities, inputs, commits, work.

mod commit;
mod crashes;
mod entity;
mod handler;
mod input;
mod key;
mod letter;
mod mark;
mod registry;
mod rows;
mod time;
mod version;
mod work;

pub use commit::{Change, Commit, Lifecycle, Message, Reply, To};
pub use crashes::{Conviction, Crashes};
pub use entity::{Entity, Fingerprint, Parked, Phase, Status};
pub use handler::{Handler, Hot, Needed, Next};
pub use input::{Cause, Idempotency, Input, Outcome, Produced, Refusal, Ticket};
pub use key::{Key, Name, Partition, key_bytes_max, name_bytes_max, stable_hash};
pub use letter::DeadLetter;
pub use mark::{Mark, Now};
pub use registry::{Definition, Registry};
pub use rows::{DropLane, Lane, Range, Row, RowKey, Rows, key_after};
pub use time::Millis;
pub use version::{Epoch, MessageId, Version};
pub use work::{Borrow, Cx, Work, WorkId};
pub(crate) use work::{Sign, SignsOfLife};

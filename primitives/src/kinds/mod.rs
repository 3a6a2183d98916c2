//! The kinds of primitives: how entities behave.
//!
//! | you want | kind | the author writes | callers use |
//! |---|---|---|---|
//! | state with actions, perhaps an alarm | [`object`] | actions, `#[alarm]` | the actions |
//! | work that repeats on a schedule | [`continuous`] | `#[tick]` | `start`, `stop`, `resume`, `trigger` |
//! | items collected and handled together | [`buffer`] | `#[flush]`, `#[reduce]` | `add`, `flush`, `clear` |
//! | items handled one by one until they succeed | [`queue`] | `#[process]` | `enqueue`, `pause`, `drain` |
//! | at most n at a time, or n per second | [`semaphore`] | nothing | `acquire`, `try_acquire`, `stats` |

pub mod buffer;
pub mod continuous;
mod dead;
pub mod object;
mod past;
pub mod queue;
pub mod semaphore;

pub(crate) use dead::dead_message;
pub use past::PastError;

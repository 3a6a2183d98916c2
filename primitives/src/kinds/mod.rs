//! The kinds of primitives: how entities behave.
//!
//! | you want | kind | the author writes | callers use |
//! |---|---|---|---|
//! | state with actions, perhaps an alarm | [`object`] | actions, `#[alarm]` | the actions |
//! | something done again and again | [`continuous`] | `#[tick]` | `start`, `stop`, `trigger` |
//! | items collected and handled together | [`buffer`] | `#[flush]`, `#[reduce]` | `add`, `flush`, `clear` |

pub mod buffer;
pub mod continuous;
mod dead;
pub mod object;
mod past;

pub use past::PastError;

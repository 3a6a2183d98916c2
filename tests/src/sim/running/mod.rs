//! Running a history: the world, the processes and the clients.

pub mod client;
pub mod driver;
pub mod executor;
pub mod history;
pub mod process;
pub mod world;

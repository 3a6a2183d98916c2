//! The course of one history: its world, its processes and its clients.

pub mod client;
pub mod driver;
pub mod executor;
pub mod history;
pub mod process;
pub mod world;

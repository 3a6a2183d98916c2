//! Programs that prove the kernel.

pub mod crash;
pub mod load;
pub mod sim;
pub mod world;

//! A whole app in a test, with a clock that moves by hand (X1).

mod clock;
mod driver;
mod executor;
mod latch;
mod log;
mod machine;
mod patience;
mod place;
mod relay;
mod running;
mod setup;
mod sleep;
mod store;
mod world;

pub use clock::Clock;
pub use driver::WorldDriver;
pub use drystone_runtime::driver::block_on;
pub use executor::{Executor, Process};
pub use latch::Latch;
pub use log::Log;
pub(crate) use relay::Relay;
pub use setup::Setup;
pub use store::{Fault, Moment};
pub use world::World;

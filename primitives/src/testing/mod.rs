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

use drystone_runtime::Registry;

use crate::{App, Error};

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

/// The definitions of an app with these services, for a kernel that somebody else runs: the dead letters are among them.
pub fn registry<D: Send + Sync + 'static, A: App<D>>(services: D) -> Result<Registry, Error> {
    crate::app::registry::<D, A>(services, true)
}

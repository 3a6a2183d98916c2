//! A chain of calls, one after another, on the memory store, in a process that does nothing else.

use std::sync::Arc;

use anyhow::Result;
use clap::ValueEnum;
use drystone::Runtime;
use drystone_runtime::{Definition, Driver, Kernel, driver::TokioDriver, store::Memory};

use super::{
    App,
    appender::{self, Appender},
    cell::Cells,
    inbox::Inboxes,
};
use crate::load::{
    adder::Adder,
    kernels::Kernels,
    measuring::{callers::Writer, file, processor},
};

/// The number of calls before the measurement. It excludes the cost of binding and first allocations.
const WARM_UP: u64 = 200;

/// The subject that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::load) enum Whose {
    Adder,
    Cell,
    Appender,
    Inbox,
}

impl Whose {
    /// The word for the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Adder => "adder",
            Self::Cell => "cell",
            Self::Appender => "appender",
            Self::Inbox => "inbox",
        }
    }
}

/// A number of calls of a subject.
#[derive(Clone, Copy, Debug)]
pub(in crate::load) struct Calls {
    pub(in crate::load) whose: Whose,
    pub(in crate::load) count: u64,
}

/// Makes the calls, and prints the processor time that they took in our own code, in microseconds.
pub(in crate::load) async fn child(calls: &Calls) -> Result<()> {
    let micros = match calls.whose {
        Whose::Adder => chain(&Kernels::adders(kernel(Adder::definition()).await?, 1), calls.count).await,
        Whose::Appender => {
            let kernel = kernel(Appender::definition()).await?;
            chain(&Kernels::new(kernel, "appender", 1, appender::item()), calls.count).await
        }
        Whose::Cell => chain(&Cells::new(Runtime::memory().start::<App>().await?.client(), 1), calls.count).await,
        Whose::Inbox => chain(&Inboxes::new(Runtime::memory().start::<App>().await?.client(), 1), calls.count).await,
    };
    println!("{}", micros?);
    Ok(())
}

async fn kernel(definition: Definition) -> Result<Kernel> {
    let driver = TokioDriver::new()?;
    file::kernel(Arc::new(Memory::new(move || driver.now(), 1)), definition).await
}

async fn chain(writer: &impl Writer, count: u64) -> Result<u128> {
    for _ in 0..WARM_UP {
        writer.write(0).await?;
    }
    let before = processor::user_time()?;
    for _ in 0..count {
        writer.write(0).await?;
    }
    Ok(processor::user_time()?.saturating_sub(before).as_micros())
}

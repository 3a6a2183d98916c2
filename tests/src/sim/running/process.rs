//! The processes of a history. Each is a group of tasks with a kernel, and is restarted when it dies.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{
    Call, Error, Kernel,
    kernel::{Listener, Report},
};
use tokio::sync::oneshot;

use super::{driver::VirtualDriver, executor::Group, world::World};
use crate::sim::{
    apps::registry,
    faults::store::FaultyStore,
    handlers::Stage,
    recording::log::{Class, lock},
};

/// All processes, by number.
#[derive(Default)]
pub struct Processes(Mutex<Vec<Process>>);

/// A process with its current group and kernel.
#[derive(Clone)]
struct Process {
    group: Group,
    kernel: Option<Kernel>,
    openings: u32,
    /// Whether an orderly shutdown is under way. The process must not be restarted before it has ended.
    closing: bool,
}

/// The reason why a call got no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The process was down; nothing was asked.
    Down,
    /// The process died before it answered.
    Died,
    /// The kernel returned an error.
    Error(Error),
}

impl Processes {
    /// Starts all processes of this history.
    pub fn start(world: &Arc<World>) {
        for number in 0..world.swarm.processes.count {
            let group = world.executor.group();
            lock(&world.processes.0).push(Process { group, kernel: None, openings: 0, closing: false });
            open(world, number);
        }
    }

    /// The number of processes.
    pub fn count(&self) -> usize {
        lock(&self.0).len()
    }

    /// The current group of a process.
    pub fn group(&self, number: usize) -> Group {
        lock(&self.0)[number].group
    }

    /// The kernel of a process, if it is open.
    pub fn kernel(&self, number: usize) -> Option<Kernel> {
        lock(&self.0)[number].kernel.clone()
    }

    /// Whether all processes are open and none is shutting down.
    pub fn are_open(world: &World) -> bool {
        let is_open = |process: &Process| process.kernel.is_some() && !process.closing;
        lock(&world.processes.0).iter().all(|process| is_open(process) && world.executor.alive(process.group))
    }

    /// Restarts the dead processes.
    pub fn revive(world: &Arc<World>) {
        for number in 0..world.processes.count() {
            let closing = lock(&world.processes.0)[number].closing;
            if !closing && !world.executor.alive(world.processes.group(number)) {
                restart(world, number);
            }
        }
    }

    /// Kills a process.
    pub fn kill(world: &World, number: usize) {
        world.chronicle.note(|| format!("k{number} is killed"));
        world.chronicle.sometimes("a process was killed");
        world.executor.kill(world.processes.group(number));
    }

    /// Shuts a process down in order and restarts it.
    pub async fn restart_in_order(world: &Arc<World>, number: usize) {
        let Some(group) = world.processes.close(number) else { return };
        world.chronicle.note(|| format!("k{number} is shut down"));
        let limit = Duration::from_millis(500);
        let end = Self::ask(world, number, move |kernel| async move { kernel.shutdown(limit).await }).await;
        if let Ok(Ok(())) = end {
            world.chronicle.sometimes("a process ended in order");
        }
        world.executor.kill(group);
        lock(&world.processes.0)[number].closing = false;
        restart(world, number);
    }

    /// Drops the kernel of a process without a shutdown, then starts the process again.
    pub async fn restart_by_drop(world: &Arc<World>, number: usize) {
        let Some(group) = world.processes.close(number) else { return };
        let (kernel, opening) = {
            let process = &mut lock(&world.processes.0)[number];
            (process.kernel.take(), process.openings)
        };
        let ended = match kernel.map(|kernel| kernel.listen()) {
            // Only callers hold other handles of the kernel, and they wait 4 s at most.
            Some(listener) => world.executor.within(Duration::from_secs(8), over(listener)).await.is_some(),
            None => false,
        };
        world.chronicle.note(|| format!("k{number} was dropped, and has ended: {ended}"));
        // A process whose lease has ended by its own clock has nothing to release.
        let is_sure = world.swarm.faults.are_none() && world.clocks_are_honest() && !world.time_is_lost();
        if ended && world.executor.alive(group) && is_sure {
            world.chronicle.sometimes("a process was dropped");
            world.witness.leases().dropped(&format!("k{number}-{opening}"));
        }
        world.executor.kill(group);
        lock(&world.processes.0)[number].closing = false;
        restart(world, number);
    }

    /// Marks a process as closing and returns its group. Returns `None` if it is closing already or not
    /// open.
    fn close(&self, number: usize) -> Option<Group> {
        let mut processes = lock(&self.0);
        let process = processes.get_mut(number).filter(|process| !process.closing && process.kernel.is_some())?;
        process.closing = true;
        Some(process.group)
    }

    /// Makes a call in a process. `told` sees a successful reply in the same poll in which the kernel
    /// returns it.
    pub async fn call(
        world: &Arc<World>,
        number: usize,
        call: Call,
        told: impl FnOnce(&Bytes) + Send + 'static,
    ) -> Result<Bytes, NoAnswer> {
        let ask = async move |kernel: Kernel| {
            let reply = kernel.call(call).await;
            if let Ok(bytes) = &reply {
                told(bytes);
            }
            reply
        };
        Self::ask(world, number, ask).await?.map_err(NoAnswer::Error)
    }

    /// Asks a kernel something inside its process. If the process dies, there is no answer.
    pub async fn ask<T, F>(world: &World, number: usize, ask: impl FnOnce(Kernel) -> F) -> Result<T, NoAnswer>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let asking = ask(world.processes.kernel(number).ok_or(NoAnswer::Down)?);
        let (answered, answer) = oneshot::channel();
        let task = async move {
            let _ = answered.send(asking.await);
        };
        world.executor.spawn(world.processes.group(number), "call", Box::pin(task)).ok_or(NoAnswer::Down)?;
        answer.await.map_err(|_| NoAnswer::Died)
    }

    /// Opens one more kernel after all others have ended, and returns its report.
    pub async fn open_again(world: &Arc<World>) -> Result<Report, Error> {
        let group = world.executor.group();
        open_once(world, 0, group, u32::MAX).await.map(|(_, report)| report)
    }

    /// Drops all kernels.
    pub fn clear(&self) {
        let kernels: Vec<_> = lock(&self.0).iter_mut().map(|process| process.kernel.take()).collect();
        kernels.iter().flatten().for_each(Kernel::abandon);
    }
}

/// Waits until a kernel has ended.
async fn over(mut listener: Listener) {
    while listener.next().await.is_some() {}
}

fn restart(world: &Arc<World>, number: usize) {
    let group = world.executor.group();
    let offset = world.executor.offset_ms(world.processes.group(number));
    world.executor.jump(group, offset);
    let dead = {
        let mut processes = lock(&world.processes.0);
        let process = &mut processes[number];
        process.group = group;
        process.openings += 1;
        process.kernel.take()
    };
    // The process was killed, or has shut down.
    dead.iter().for_each(Kernel::abandon);
    open(world, number);
}

/// Opens the kernel, and retries until that succeeds.
fn open(world: &Arc<World>, number: usize) {
    let (group, opening) = {
        let process = &lock(&world.processes.0)[number];
        (process.group, process.openings)
    };
    let opener = world.clone();
    let task = async move {
        loop {
            match open_once(&opener, number, group, opening).await {
                Ok((kernel, _)) => {
                    opener.chronicle.note(|| format!("k{number} is open"));
                    lock(&opener.processes.0)[number].kernel = Some(kernel);
                    return;
                }
                Err(Error::Store(error)) if error.is_retryable() => {
                    opener.executor.sleep(Duration::from_millis(200)).await;
                }
                Err(error) => return opener.chronicle.violation(Class::Broken, "R1", format!("k{number}: {error}")),
            }
        }
    };
    world.executor.spawn(group, "open", Box::pin(task));
}

async fn open_once(world: &Arc<World>, number: usize, group: Group, opening: u32) -> Result<(Kernel, Report), Error> {
    let stage = Stage { world: world.clone(), process: number, group };
    let driver = Arc::new(VirtualDriver::new(world.executor.clone(), group));
    let store = Arc::new(FaultyStore::new(world.clone(), number, group));
    let options = world.swarm.options(number, opening);
    Kernel::open(store, registry(&stage), driver, options).await
}

//! The tasks of the executor by number, and their wakers.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Wake, Waker},
    time::Duration,
};

use drystone_runtime::driver::Task;

use super::{Group, Shared};
use crate::sim::drawing::random::Chance;

/// The id of a task. Ids are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskId {
    index: u32,
    generation: u32,
}

impl TaskId {
    pub(super) fn mark(self) -> u64 {
        (u64::from(self.generation) << 32) | u64::from(self.index)
    }
}

#[derive(Default)]
pub(super) struct Tasks {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

struct Slot {
    generation: u32,
    live: Option<Live>,
}

struct Live {
    group: Group,
    name: &'static str,
    /// `None` during a poll.
    task: Option<Task>,
    alarm: Arc<Bell>,
    waker: Waker,
    doom: Doom,
    frozen_until: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doom {
    No,
    AfterOneMorePoll,
    Now,
}

/// Wakes a task. `queued` keeps the task from being in the list of runnable tasks twice.
struct Bell {
    id: TaskId,
    queued: AtomicBool,
    shared: Arc<Shared>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            self.shared.ready.lock().unwrap_or_else(PoisonError::into_inner).push(self.id);
        }
    }
}

impl Tasks {
    pub(super) fn insert(&mut self, group: Group, name: &'static str, task: Task, shared: &Arc<Shared>) -> TaskId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, live: None });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.generation += 1;
        let id = TaskId { index, generation: slot.generation };
        let alarm = Arc::new(Bell { id, queued: AtomicBool::new(true), shared: shared.clone() });
        let waker = Waker::from(alarm.clone());
        let frozen_until = Duration::ZERO;
        slot.live = Some(Live { group, name, task: Some(task), alarm, waker, doom: Doom::No, frozen_until });
        id
    }

    /// Takes a task out for a poll. A stopped task goes to the graveyard instead.
    pub(super) fn take(&mut self, id: TaskId, graveyard: &mut Vec<Task>) -> Option<(Task, Waker, &'static str)> {
        if self.live(id)?.doom == Doom::Now {
            graveyard.extend(self.remove(id.index));
            return None;
        }
        let live = self.live_mut(id)?;
        live.alarm.queued.store(false, Ordering::Relaxed);
        Some((live.task.take()?, live.waker.clone(), live.name))
    }

    /// Puts a task back after its poll. A task that has ended, or was killed or stopped, goes to the
    /// graveyard.
    pub(super) fn put_back(&mut self, id: TaskId, task: Task, ended: bool, graveyard: &mut Vec<Task>) {
        match self.live_mut(id) {
            Some(live) if !ended && live.doom == Doom::No => live.task = Some(task),
            Some(_) => {
                self.remove(id.index);
                graveyard.push(task);
            }
            None => graveyard.push(task),
        }
    }

    /// Marks a task as stopped. Returns `None` if there is no such task, and otherwise whether the task
    /// needs no further wake-up.
    pub(super) fn doom(&mut self, id: TaskId, late: bool) -> Option<bool> {
        let live = self.live_mut(id)?;
        let queued = live.alarm.queued.swap(true, Ordering::Relaxed);
        let in_its_poll = live.task.is_none();
        live.doom = if queued && late && live.doom == Doom::No { Doom::AfterOneMorePoll } else { Doom::Now };
        // A task in its poll goes to the graveyard when the poll ends.
        Some(queued || in_its_poll)
    }

    pub(super) fn remove_group(&mut self, group: Group, graveyard: &mut Vec<Task>) {
        self.remove_where(|live| live.group == group, graveyard);
    }

    pub(super) fn remove_all(&mut self, graveyard: &mut Vec<Task>) {
        self.remove_where(|_| true, graveyard);
    }

    pub(super) fn freeze_one(&mut self, group: Group, until: Duration, chance: &mut Chance) -> Option<&'static str> {
        let mut threads: Vec<_> =
            self.slots.iter_mut().filter_map(|slot| slot.live.as_mut()).filter(|live| live.group == group).collect();
        if threads.is_empty() {
            return None;
        }
        let place = chance.index(threads.len());
        threads[place].frozen_until = until;
        Some(threads[place].name)
    }

    pub(super) fn thaw(&mut self) {
        for live in self.slots.iter_mut().filter_map(|slot| slot.live.as_mut()) {
            live.frozen_until = Duration::ZERO;
            // The task may have been queued to wake at the end of the freeze. Waking it early as well does
            // no harm.
            live.waker.wake_by_ref();
        }
    }

    pub(super) fn unqueue(&mut self, id: TaskId) {
        if let Some(live) = self.live(id) {
            live.alarm.queued.store(false, Ordering::Relaxed);
        }
    }

    pub(super) fn frozen_until(&self, id: TaskId) -> Option<Duration> {
        self.live(id).map(|live| live.frozen_until)
    }

    pub(super) fn group(&self, id: TaskId) -> Group {
        self.live(id).expect("asked of live tasks only").group
    }

    pub(super) fn waker(&self, id: TaskId) -> Waker {
        self.live(id).expect("asked of live tasks only").waker.clone()
    }

    pub(super) fn running(&self, id: TaskId) -> bool {
        self.live(id).is_some_and(|live| live.doom == Doom::No)
    }

    fn live(&self, id: TaskId) -> Option<&Live> {
        self.slots.get(id.index as usize).filter(|slot| slot.generation == id.generation)?.live.as_ref()
    }

    fn live_mut(&mut self, id: TaskId) -> Option<&mut Live> {
        self.slots.get_mut(id.index as usize).filter(|slot| slot.generation == id.generation)?.live.as_mut()
    }

    fn remove_where(&mut self, which: impl Fn(&Live) -> bool, graveyard: &mut Vec<Task>) {
        for index in 0..self.slots.len() {
            if self.slots[index].live.as_ref().is_some_and(&which) {
                graveyard.extend(self.remove(index as u32));
            }
        }
    }

    fn remove(&mut self, index: u32) -> Option<Task> {
        let live = self.slots[index as usize].live.take()?;
        self.free.push(index);
        live.task
    }
}

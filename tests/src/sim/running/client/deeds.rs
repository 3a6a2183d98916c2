//! Actions of a caller that take several calls, or whose answers need checks of their own.

use bytes::Bytes;
use drystone_runtime::{Kernel, kernel::Wait};

use super::{Ask, Client, Heard};
use crate::sim::{
    drawing::roster::{Number, Role},
    handlers::{
        Uid, Visit, Way,
        codec::{pack, unpack},
    },
    recording::log::Class,
    running::process::Processes,
};

impl Client {
    pub(super) async fn line(&mut self, member: Number) {
        match self.chance.below(4) {
            0 => {
                let open = Ask::gate(self, member, "open");
                self.tell(open).await;
            }
            1 => {
                let wait = Ask::gate(self, member, "wait");
                if let Heard::Told(_) = self.ask(&wait).await {
                    self.world.chronicle.sometimes("a caller waited for a gate");
                }
            }
            _ => self.enter(member).await,
        }
    }

    /// Waits in line, stays inside for a while, and leaves. It also leaves if it got no answer, because it
    /// may have been let in.
    async fn enter(&mut self, member: Number) {
        let enter = Ask::enter(self, member);
        let key = self.world.cast.member(member).key.clone();
        let heard = self.ask(&enter).await;
        if let Heard::Told(_) = heard {
            let other = self.world.ledger.let_in(&key, enter.number);
            self.world.chronicle.check(other.is_none(), Class::Broken, "S5", || {
                format!("{:x} and {:x} are both inside {key}", enter.number, other.unwrap_or_default())
            });
            self.pause().await;
            self.world.ledger.left(enter.number);
        } else {
            self.world.chronicle.sometimes("a caller left a line");
        }
        self.tell(Ask::leave(member, enter.number)).await;
    }

    /// Makes a call that passes through several callers. A path that returns to a caller on it must be
    /// refused (M3).
    pub(super) async fn visit(&mut self, member: Number) {
        let callers = self.world.cast.with(Role::Caller);
        let mut way = vec![member];
        (0..self.chance.below(4)).for_each(|_| way.push(self.chance.pick(&callers)));
        let returns = (1..way.len()).any(|place| way[..place].contains(&way[place]));
        let ask = Ask::visit(self, member, Way::through(&way[1..]));
        let Heard::Told(bytes) = self.ask(&ask).await else { return };
        let there = bytes == pack(&[Visit::There as u64]);
        if there == returns {
            self.misheard(&ask, &format!("{bytes:?} on the way {way:?}"));
        }
        self.world.chronicle.sometimes(match there {
            true => "a call reached others through one",
            false => "a call was refused because it would wait for itself",
        });
        if there {
            way.iter().for_each(|visited| self.world.takes.answered(&self.world, *visited, ask.number));
        }
    }

    /// Has a message sent, and looks for it at the receiver if both entities are in one process (M2).
    pub(super) async fn ping(&mut self, member: Number) {
        let to = self.chance.pick(&self.world.cast.with(Role::Relay));
        let ping = Ask::ping(self, member, to);
        let Heard::Told(bytes) = self.ask(&ping).await else { return };
        let process = self.last;
        let epochs = self.epochs(member, to, process);
        let seen = Ask::seen(self, to);
        self.guess = Some(process);
        let Heard::Told(taken) = self.ask(&seen).await else { return };
        let uid = unpack(&bytes).map_or(0, |[uid]| uid);
        // A message that can never be taken delays later messages of its sender.
        let owned = epochs.is_some() && epochs == self.epochs(member, to, process) && self.last == process;
        if owned && !self.world.swarm.traffic.poison {
            self.world.chronicle.sometimes("a message was there before its sender's answer");
            let there = taken.chunks(8).any(|number| Bytes::copy_from_slice(number) == pack(&[uid]));
            self.world.chronicle.check(there, Class::Broken, "M2", || {
                format!("{:?} was answered before its receiver had it", Uid::of(uid))
            });
        }
    }

    /// Calls through another definition, which must be refused and change nothing (E2).
    pub(super) async fn mistake(&mut self, member: Number) {
        let bound = self.world.witness.entity(member).is_some();
        let ask = Ask::mistyped(self, member);
        let heard = self.ask(&ask).await;
        // An unbound key is refused for being unbound.
        if !matches!(heard, Heard::Mistyped | Heard::Nothing) && (bound || !matches!(heard, Heard::Refused(_))) {
            self.misheard(&ask, &format!("{heard:?} although it belongs to another definition"));
        }
    }

    /// Views a key from outside. The view must be durable, and the key never stuck (E14, R7).
    pub(super) async fn look(&mut self, member: Number) {
        let process = self.chance.index(self.world.processes.count());
        let key = self.world.cast.member(member).key.clone();
        self.world.chronicle.note(|| format!("client {} looks at {key} in k{process}", self.name));
        let looking = async move |kernel: Kernel| (kernel.view(&key).await, kernel.explain(&key).await);
        let Ok((view, explained)) = Processes::ask(&self.world, process, looking).await else { return };
        if let Ok(Some(view)) = view {
            let durable = self.world.witness.durable().holds(member, view.entity.version);
            self.world.chronicle.check(durable, Class::Broken, "E14", || format!("the view shows {:?}", view.entity));
        }
        if let Ok(explained) = explained {
            let stuck = explained.waits.contains(&Wait::Stuck);
            self.world.chronicle.check(!stuck, Class::Stuck, "R7", || format!("k{process}: {explained}"));
        }
    }

    /// Repeats an answered request, or makes another one with the same idempotency key (E12).
    pub(super) async fn repeat(&mut self, ask: &Ask, told: &Bytes) {
        if self.chance.coin() {
            let heard = self.ask(ask).await;
            if !matches!(&heard, Heard::Told(again) if again == told) {
                self.misheard(ask, &format!("{told:?}, and then with {heard:?}"));
            }
        } else {
            let other = Ask { body: pack(&[self.number()]), ..ask.clone() };
            let heard = self.ask(&other).await;
            if !matches!(heard, Heard::Mismatch) {
                self.misheard(&other, &format!("{heard:?} although its key was used for something else"));
            }
        }
    }

    /// The epochs of both partitions, if the process owns both.
    fn epochs(&self, one: Number, other: Number, process: usize) -> Option<(u32, u32)> {
        let leases = self.world.witness.leases();
        let epoch = |member| leases.epoch(self.world.cast.member(member).partition, &format!("k{process}"));
        Some((epoch(one)?.0, epoch(other)?.0))
    }
}

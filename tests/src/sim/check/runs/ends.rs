//! W1, V1, D1, L1, L3: the checks of all runs at the end of a history.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drystone::{testing::replay, workflow::History};
use drystone_runtime::{Entity, Key, Name};

use super::answers::may_be_lost;
use crate::sim::{
    apps::{Errand, Till, heads},
    check::Span,
    drawing::roster::{Number, Role, SPACE},
    recording::{
        log::Class,
        witness::{Durable, Run, Story},
    },
    running::world::World,
    workflows::{Asked, End, Kind, Ledgered, Life, Op, Phase, Waiting},
};

/// The number of journal prefixes that are replayed, the longest first. The limit bounds the time: a
/// history has many runs, and some are long.
const PREFIXES_MAX: usize = 40;

/// Checks every run of a history.
pub(in crate::sim::check) fn finish(world: &World) {
    once(world);
    family(world);
    let letters = letters(world);
    for member in world.cast.with(Role::Errand) {
        let durable = world.witness.durable();
        let any_parked = world.cast.iter().any(|(number, _)| durable.story(number).is_parked());
        let story = durable.story(member);
        // L9: no history lasts as long as the retention, so every run must still be there.
        let is_destroyed = world.calls.of(member).iter().any(Span::drops);
        world.chronicle.check(is_destroyed || story.past.is_empty(), Class::Lost, "L9", || {
            format!("{} was kept no longer", world.cast.member(member).key)
        });
        let Some(entity) = story.entity.as_ref().filter(|_| !story.is_parked()) else { continue };
        let Some(run) = durable.errands().of(member) else { continue };
        let Some(life) = &run.life else { continue };
        let resting = Resting { world, durable: &durable, member, entity, run, life, any_parked };
        resting.is_done();
        resting.acted();
        resting.repeats();
        resting.rang();
        resting.booked();
        if !is_destroyed && !world.calls.of(member).iter().any(Span::restarts) {
            resting.keeps_its_word(&letters);
        }
    }
}

/// Checks that each task was rung and booked at most once (M5, W6). After a restart a task may run again.
fn once(world: &World) {
    if world.calls.any("restart") {
        return;
    }
    let durable = world.witness.durable();
    for (law, mut tasks) in [("M5", rung(world, &durable)), ("W6", durable.table().tasks().collect())] {
        tasks.sort_unstable();
        let twice = tasks.windows(2).find(|pair| pair[0] == pair[1]);
        world.chronicle.check(twice.is_none(), Class::Doubled, law, || format!("{twice:x?} was done twice"));
    }
}

/// The tasks that the tills were given.
fn rung(world: &World, durable: &Durable) -> Vec<u64> {
    let tills = world.cast.with(Role::Till).into_iter();
    let tills = tills.filter_map(|till| durable.story(till).entity.as_ref());
    tills.flat_map(|entity| heads::state::<Till>(entity).rung).collect()
}

/// Checks all children (L6): a child that was begun has lived, a child that was released is cancelled, and
/// no other child is.
fn family(world: &World) {
    let durable = world.witness.durable();
    let family = durable.errands().family();
    for key in family.begun() {
        let key = Key { space: SPACE, key: key.clone() };
        let member = world.cast.number(&key);
        let story = member.map(|member| durable.story(member));
        let has_lived = story.is_some_and(|story| story.version.is_some());
        world.chronicle.check(has_lived, Class::Lost, "L6", || format!("{key} was begun, and never lived"));
        let Some(life) = member.and_then(|member| durable.errands().of(member)).and_then(|run| run.life.as_ref())
        else {
            continue;
        };
        let is_parked = story.is_some_and(Story::is_parked);
        let calls = member.map(|member| world.calls.of(member)).unwrap_or_default();
        let may_be_another = calls.iter().any(|span| span.restarts() || span.drops());
        let is_let_go = family.is_cancelled(&key.key) && !is_parked && !may_be_another;
        world.chronicle.check(!is_let_go || life.is_over() || life.is_cancelled, Class::Lost, "L6", || {
            format!("{key} was let go, and is in {:?}", life.phase)
        });
        let is_asked = family.is_cancelled(&key.key) || calls.iter().any(|span| span.verb.starts_with("cancel"));
        world.chronicle.check(!life.is_cancelled || is_asked, Class::Broken, "L6", || {
            format!("{key} is cancelled, and nobody wanted that")
        });
    }
}

struct Resting<'a> {
    world: &'a World,
    durable: &'a Durable,
    member: Number,
    entity: &'a Entity,
    run: &'a Run,
    life: &'a Life,
    /// Whether any member is parked. If so, dead letters may still be on their way.
    any_parked: bool,
}

impl Resting<'_> {
    /// Checks that a run which has not ended waits for events that nobody sent, and for nothing else.
    fn is_done(&self) {
        let open = &self.life.ground.open;
        let is_done = match self.life.phase {
            Phase::Over(_) | Phase::Panicked => true,
            Phase::Body | Phase::Cleanup => open.iter().all(|op| self.may_wait(op)),
            Phase::Deferred | Phase::Winding | Phase::Undoing(_) => false,
        };
        self.check(is_done, Class::Stuck, "R7", || format!("is in {:?}, and waits for {open:?}", self.life.phase));
        self.count();
    }

    /// Whether a run may wait for this operation at the end of a history: for an event without a timeout,
    /// for a child that lives, or for a permit whose holder waits.
    fn may_wait(&self, op: &Op) -> bool {
        match &op.asked {
            Asked::Wait(wanted) => wanted.timeout_ms.is_none(),
            Asked::Child { .. } => self.waits_for(op),
            Asked::Permit => true,
            _ => false,
        }
    }

    fn waits_for(&self, op: &Op) -> bool {
        let pending = self.run.record.pending.iter().find(|pending| pending.op == op.id);
        let Some(Waiting::Child(childing)) = pending.map(|pending| &pending.what) else { return false };
        let key = Key { space: SPACE, key: Bytes::from(childing.key.clone()) };
        let Some(member) = self.world.cast.number(&key) else { return false };
        let life = self.durable.errands().of(member).and_then(|run| run.life.as_ref());
        self.durable.story(member).is_parked() || life.is_some_and(|life| !life.is_over())
    }

    fn count(&self) {
        let chronicle = &self.world.chronicle;
        match &self.life.phase {
            Phase::Over(End::Succeeded(_)) => chronicle.sometimes("a run succeeded"),
            Phase::Over(End::Failed(_)) => chronicle.sometimes("a run failed"),
            Phase::Over(End::Fault(_)) => chronicle.sometimes("a run failed with a fault"),
            Phase::Over(End::Cancelled(None)) => chronicle.sometimes("a run was cancelled"),
            Phase::Over(End::Cancelled(Some(_))) => chronicle.sometimes("a run was cancelled, and its cleanup failed"),
            Phase::Over(End::Terminated) => chronicle.sometimes("a run was terminated"),
            Phase::Panicked => chronicle.sometimes("a run panicked"),
            Phase::Deferred | Phase::Body | Phase::Cleanup | Phase::Winding | Phase::Undoing(_) => {
                chronicle.sometimes("a run waits for what nobody sent");
            }
        }
    }

    /// Checks that each recorded outcome of a step was returned by one of its executions, and is recorded
    /// once (W1).
    fn acted(&self) {
        let acted = &self.world.recorder.acted;
        let values: BTreeSet<_> = self.life.values.iter().map(|(_, value)| value).collect();
        self.check(values.len() == self.life.values.len(), Class::Doubled, "W1", || {
            format!("has recorded {:?}", self.life.values)
        });
        for (task, value) in &self.life.values {
            let whose = acted.task_of(*value);
            let is_its = whose == Some(*task) && acted.count(*task) > 0 || acted.was_given(*value);
            self.check(is_its, Class::Lost, "W1", || {
                format!("has recorded {value} of {task:x}, and that is of {whose:x?}")
            });
        }
    }

    /// Checks that the answer of a till agrees with the till's list (M5).
    fn rang(&self) {
        let rung = rung(self.world, self.durable);
        for (task, count) in &self.life.rung {
            let found = usize::try_from(*count).ok().and_then(|count| rung.get(count.checked_sub(1)?));
            self.check(found == Some(task), Class::Lost, "M5", || {
                format!("was told {count} for {task:x} of {rung:x?}")
            });
        }
    }

    /// Checks that each recorded booking has exactly one row (W6).
    fn booked(&self) {
        for (task, value) in &self.life.values {
            let rows: Vec<u64> = self.durable.table().of(*value).collect();
            let is_booking = self.durable.table().count(*task) > 0;
            self.check(
                !is_booking || rows == [*task] || self.world.recorder.acted.was_given(*value),
                Class::Lost,
                "W6",
                || format!("has booked {value} of {task:x}, and there is {rows:x?}"),
            );
        }
    }

    /// Checks that the journal and its longest prefixes replay (R5, fC13).
    fn repeats(&self) {
        // The body of a deferred generation has not been polled yet.
        if self.life.phase == Phase::Deferred {
            return;
        }
        let journal = &self.run.journal;
        self.replays(journal);
        for length in (1..journal.len()).rev().take(PREFIXES_MAX) {
            // A prefix that ends right before an entry of the run's end would look like a body that ends
            // too early.
            let is_cut_off = Run::entry(&journal[length]).is_ok_and(|next| next.is_of_the_end());
            if !is_cut_off {
                self.replays(&journal[..length]);
            }
        }
    }

    fn replays(&self, journal: &[Bytes]) {
        let entries: Vec<_> = journal.iter().map(|entry| String::from_utf8_lossy(entry)).collect();
        let (key, seed, count) = (self.entity.key.key.to_vec(), self.run.record.seed, journal.len());
        let text =
            format!("{{\"workflow\":\"errand\",\"key\":{key:?},\"seed\":{seed},\"entries\":[{}]}}", entries.join(","));
        let replayed = History::from_json(&text).map_err(|error| error.to_string());
        let replayed = replayed.and_then(|history| replay::<Errand>(&history).map_err(|error| error.to_string()));
        let as_drawn = self.has_panicked() && replayed.as_ref().is_err_and(|error| error.contains("as drawn"));
        self.check(replayed.is_ok() || as_drawn, Class::Broken, "R5", || {
            format!("does not replay {count} of {} entries: {replayed:?}", self.run.journal.len())
        });
    }

    fn has_panicked(&self) -> bool {
        format!("{:?}", self.life.trip.plan).contains("Panic")
    }

    /// Checks that the answers to callers still hold.
    fn keeps_its_word(&self, letters: &BTreeMap<u64, usize>) {
        let calls = self.world.calls.of(self.member);
        let said = |verb| calls.iter().any(|span: &Span| span.verb == verb && span.told.as_deref() == Some(b"true"));
        let end = match &self.life.phase {
            Phase::Over(end) => Some(end),
            _ => None,
        };
        let is_cancelled = matches!(end, None | Some(End::Cancelled(_) | End::Terminated)) && self.life.is_cancelled;
        let was_told = said("cancel") || said("cancel_abandoning_steps");
        self.check(!was_told || is_cancelled, Class::Lost, "L3", || {
            format!("was cancelled, and is {:?}", self.life.phase)
        });
        self.check(!said("terminate") || end == Some(&End::Terminated), Class::Lost, "L3", || {
            format!("was terminated, and is {:?}", self.life.phase)
        });
        let is_event = |span: &&Span| matches!(span.verb, "send" | "start_with" | "send_or_start");
        for span in calls.iter().filter(is_event).filter(|span| span.told.is_some()) {
            self.event(span.number, letters);
        }
        for number in &self.run.buried {
            let count = letters.get(number).copied().unwrap_or(0);
            let is_kept = count == 1 || self.any_parked;
            self.check(is_kept, Class::Lost, "D1", || format!("buried {number:x}, which is in {count} letters"));
        }
    }

    /// Checks that an acknowledged event is in exactly one place (V1).
    fn event(&self, number: u64, letters: &BTreeMap<u64, usize>) {
        let Some(kind) = self.world.recorder.acted.kind_of(number) else { return };
        let queued = self.run.queues.get(&kind).into_iter().flat_map(BTreeMap::values);
        let queued = queued.filter(|queued| queued.number == number).count();
        let buried = usize::from(self.run.buried.contains(&number));
        // An older generation may have taken the event. If the event is still somewhere, the body heard it
        // in a turn that never became durable.
        let is_nowhere = self.run.record.generation > 1 && queued + buried == 0;
        let is_told = is_nowhere && self.world.recorder.acted.was_heard(number);
        let taken = usize::from(self.run.taken.contains(&number) || is_told);
        let places = queued + taken + buried;
        self.check(places < 2, Class::Doubled, "V1", || format!("has {number:x} in several places: {letters:?}"));
        let is_over = self.life.is_over();
        let may_be_nowhere = may_be_lost(self.run, kind) || is_over && kind == Kind::Bid;
        self.check(places == 1 || may_be_nowhere, Class::Lost, "V1", || format!("has lost {number:x}"));
        self.check(queued == 0 || !is_over, Class::Stuck, "D1", || format!("has ended, and keeps {number:x}"));
    }

    fn check(&self, holds: bool, class: Class, law: &'static str, message: impl FnOnce() -> String) {
        self.world.chronicle.check(holds, class, law, || format!("{} {}", self.entity.key, message()));
    }
}

/// The number of dead letters of each event.
fn letters(world: &World) -> BTreeMap<u64, usize> {
    let mut letters = BTreeMap::new();
    let durable = world.witness.durable();
    let Some(number) = world.cast.with(Role::Box).first().copied() else { return letters };
    let Some(entity) = &durable.story(number).entity else { return letters };
    let bodies = durable.lanes().own(&(entity.id, Name::new("bodies")));
    for body in bodies.into_iter().flat_map(BTreeMap::values) {
        if let Ok(event) = serde_json::from_slice::<Ledgered>(body) {
            *letters.entry(event.number).or_default() += 1;
        }
    }
    letters
}

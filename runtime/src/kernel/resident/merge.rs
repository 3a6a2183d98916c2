//! How the commit of a turn joins the chain of its entity.

use bytes::Bytes;

use super::{
    Resident,
    parts::chain::Link,
    source::{End, Origin, Source},
};
use crate::{
    Commit, Crashes, Definition, Entity, Error, Fingerprint, Limit, Millis, Parked, Status, To, Version,
    kernel::{
        api::pending_call::Pending,
        mutants,
        state::{effects::Effects, shared::Shared},
    },
    planted::Bug,
    store::{Outgoing, Remembered, Touched},
};

impl Resident {
    /// Takes in a turn's commit. A commit that writes joins the chain. The answers of any other commit wait
    /// only until the state that the turn saw is durable.
    pub(crate) fn stack(
        &mut self,
        source: Source,
        commit: Commit,
        definition: &Definition,
        at: &Shared,
        out: &mut Effects,
    ) {
        if let Err(error) = self.check(&commit, &source, at) {
            return self.refused(source, &error, at, out);
        }
        let remember = self.to_remember(&source, &commit, at);
        let settles_crashes = matches!(source, Source::End(_)) && self.is_doubted();
        let writes = commit.writes()
            || source.message().is_some()
            || !remember.is_empty()
            || settles_crashes
            || matches!(source, Source::Changed);
        if !writes {
            return self.stack_empty(source, commit, out);
        }
        if !self.has_room(&commit, at) {
            // The full chain goes to the store first; then the turn is taken again on the entity that the
            // chain leaves.
            self.commits.chain_mut().close();
            self.hot.clear();
            return self.put_back(source);
        }
        self.stack_written(source, commit, remember, definition, at, out);
    }

    fn stack_written(
        &mut self,
        source: Source,
        commit: Commit,
        remember: Vec<Remembered>,
        definition: &Definition,
        at: &Shared,
        out: &mut Effects,
    ) {
        let now = at.time.now();
        let version =
            self.commits.chain().version().unwrap_or_else(|| mutants::version(&self.key, &self.lease, &self.tip));
        let mut after = self.after(&commit, definition, version, now);
        if let (Some(after), Some(found)) = (&mut after, at.registry.find(&definition.name)) {
            after.config = found.fingerprint;
        }
        self.reads.drop_pages();
        self.succeeded(&source);
        if commit.state.is_some() && source.pending().is_some() {
            self.work.call_changed_struct();
        }
        self.join(source, commit, remember, version, after, now, at);
        self.work.request_list();
        if Bug::ReplyBeforeCommit.planted() {
            mutants::reply_at_once(self.commits.chain_mut(), out);
        }
    }

    /// Appends the turn to the chain and makes the entity after the turn the tip.
    #[expect(clippy::too_many_arguments, reason = "one turn, taken apart once and joined here")]
    fn join(
        &mut self,
        source: Source,
        mut commit: Commit,
        remember: Vec<Remembered>,
        version: Version,
        after: Option<Entity>,
        now: Millis,
        at: &Shared,
    ) {
        let before = self.tip.as_ref();
        let chain = self.commits.chain_mut();
        chain.open(version, before);
        chain.touch(touched(before, after.as_ref()));
        chain.apply(&mut commit, before.is_none());
        if let Some(taken) = source.message() {
            chain.take(taken);
            self.inbox.forget_message(taken);
        }
        chain.remember(remember);
        for message in commit.send.drain(..) {
            let partition = message.to.partition(at.partitions());
            let crate::Message { to, definition, verb, body } = message;
            let mark = Some(at.now().mark);
            chain.send(|id| Outgoing { id, partition, to, definition, verb, body, mark });
        }
        chain.link(link(source, commit));
        self.tip = after;
        if let Some(tip) = &mut self.tip {
            tip.version = version;
            tip.updated_at = now;
        }
    }

    /// Returns the entity as the turn leaves it; `None` if the turn destroys the entity or binds none.
    fn after(&self, commit: &Commit, definition: &Definition, version: Version, now: Millis) -> Option<Entity> {
        if commit.destroy {
            return None;
        }
        let mut entity = match &self.tip {
            Some(tip) => tip.clone(),
            None if commit.binds() => newborn(self, definition, version, now),
            None => return None,
        };
        if let Some(head) = &commit.head {
            entity.head = head.clone();
        }
        if let Some(state) = &commit.state {
            entity.state = state.clone();
        }
        if let Some(status) = &commit.status {
            entity.status = status.clone();
        }
        entity.alarm = commit.alarm.apply(entity.alarm);
        Some(entity)
    }

    /// Takes in a turn that writes nothing. Its answers wait until the state that the turn saw is durable,
    /// and no longer.
    fn stack_empty(&mut self, source: Source, commit: Commit, out: &mut Effects) {
        // A call that writes nothing changes no work. With any other input a piece of work may have ended,
        // or time may have passed.
        if !matches!(source, Source::Call(_)) {
            self.work.request_list();
        }
        self.reads.drop_pages();
        self.succeeded(&source);
        self.after_what_it_saw(link(source, commit), out);
    }

    /// Notes that a turn succeeded. Without a caller that resets the count of failures. The end of doubted
    /// work is kept until a listing judges it: rows may be read first, and the turn's commit may be long
    /// gone by then.
    fn succeeded(&mut self, source: &Source) {
        if let Source::End(end) = source
            && self.is_doubted()
        {
            self.work.note_end(end.work.id.clone());
        }
        if matches!(source, Source::Alarm(_) | Source::Gone(_) | Source::Changed) {
            self.inputs.reset_failures();
        }
    }

    /// Releases the answers of a turn that wrote nothing: with the chain or the batch that the turn saw, or
    /// at once.
    fn after_what_it_saw(&mut self, link: Link, out: &mut Effects) {
        if let Some(link) = self.commits.keep_link(link) {
            self.release(link, out);
        }
    }

    /// Answers a caller with an error. The author's own error is remembered under the call's idempotency
    /// key (E12).
    pub(crate) fn answer_error(&mut self, source: Source, error: &Error, at: &Shared, out: &mut Effects) {
        let Some(pending) = source.pending() else { return };
        let (ticket, is_asked_once) = (pending.ticket, pending.once.is_some());
        let commit = Commit::reply(ticket, Err(error.clone()));
        if is_asked_once && matches!(error, Error::Failed(_)) {
            if !self.has_room(&commit, at) {
                self.commits.chain_mut().close();
                return self.put_back(source);
            }
            let remember = self.to_remember(&source, &commit, at);
            let version = self.commits.chain().version().unwrap_or_else(|| self.lease.next_version());
            let (after, now) = (self.tip.clone(), at.time.now());
            return self.join(source, commit, remember, version, after, now, at);
        }
        self.after_what_it_saw(link(source, commit), out);
    }

    /// Changes the record on behalf of the kernel itself: a count of crashes, a parking.
    pub(crate) fn stack_own(&mut self, at: &Shared, link: Link, change: impl FnOnce(&mut Entity)) {
        let Some(mut after) = self.tip.clone() else { return };
        change(&mut after);
        let touched = touched(self.tip.as_ref(), Some(&after));
        let version = self.open_own(at, link);
        self.commits.chain_mut().touch(touched);
        self.tip = Some(Entity { version, updated_at: at.time.now(), ..after });
    }

    /// Opens the chain for a change by the kernel itself; returns the version that the chain makes.
    pub(crate) fn open_own(&mut self, at: &Shared, link: Link) -> Version {
        let version = self.commits.chain().version().unwrap_or_else(|| self.lease.next_version());
        let chain = self.commits.chain_mut();
        chain.open(version, self.tip.as_ref());
        // If the chain already has turns, skip an internal link without a caller: it adds nothing.
        if chain.is_empty() || !link.is_bare() {
            chain.link(link);
        }
        if let Some(tip) = &mut self.tip {
            tip.version = version;
            tip.updated_at = at.time.now();
        }
        version
    }

    pub(crate) fn park(&mut self, reason: Parked, at: &Shared) {
        self.park_with(reason, Link::kernel(), at);
    }

    pub(crate) fn park_with(&mut self, reason: Parked, link: Link, at: &Shared) {
        tracing::error!(key = %self.key, %reason, "parked");
        self.hot.clear();
        self.work.drop_listed();
        self.stack_own(at, link, |entity| entity.parked = Some(reason));
        self.commits.chain_mut().set_listed(Vec::new());
        self.work.list_was_requested();
    }

    /// Resumes a parked entity, and answers the call that asked for it.
    pub(crate) fn unpark(&mut self, asked: Option<(Pending, Bytes)>, at: &Shared) {
        let link = asked.map_or_else(Link::kernel, |(pending, answer)| Link {
            replies: vec![(To::Ticket(pending.ticket), Ok(answer))],
            source: Source::Call(pending),
            ..Link::kernel()
        });
        self.stack_own(at, link, |entity| {
            entity.parked = None;
            entity.crashes = Crashes::NONE;
            entity.suspect = None;
        });
        self.work.request_list();
        self.inputs.ring();
        self.inbox.forget();
    }

    fn has_room(&self, commit: &Commit, at: &Shared) -> bool {
        let (chain, limits) = (self.commits.chain(), &at.options);
        // A birth and an end do not fit one write: the guard of the birth cannot be the guard of the end.
        let ends_its_birth = commit.destroy && chain.binds();
        chain.is_empty()
            || (!chain.is_closed()
                && !ends_its_birth
                && chain.turns() < limits.chain_turns_max
                && chain.added() + commit.added() + self.record_after(commit) <= limits.commit_bytes_max
                && chain.row_changes() + commit.row_changes() < limits.commit_rows_max)
    }

    /// Returns the size of the record that the store gets with this commit. The record is written once,
    /// however many turns have changed it.
    fn record_after(&self, commit: &Commit) -> usize {
        let tip = self.tip.as_ref();
        let head = commit.head.as_ref().or(tip.map(|tip| &tip.head));
        let state = commit.state.as_ref().or(tip.map(|tip| &tip.state));
        head.map_or(0, Bytes::len) + state.map_or(0, Bytes::len)
    }

    /// Checks the limits of K3, and that only code which borrows the struct changes it.
    fn check(&self, commit: &Commit, source: &Source, at: &Shared) -> Result<(), Error> {
        let limits = &at.options;
        let within =
            |what, found, limit| if found > limit { Err(Error::TooLarge { what, found, limit }) } else { Ok(()) };
        let payload = |bytes: &Bytes| within(Limit::PayloadBytes, bytes.len(), limits.payload_bytes_max);
        commit.head.iter().chain(&commit.state).try_for_each(payload)?;
        commit
            .put
            .iter()
            .map(|row| &row.body)
            .chain(commit.send.iter().map(|message| &message.body))
            .try_for_each(payload)?;
        commit.replies.iter().filter_map(|(_, reply)| reply.as_ref().ok()).try_for_each(payload)?;
        commit.put.iter().try_for_each(|row| within(Limit::KeyBytes, row.key.len(), crate::key_bytes_max()))?;
        within(Limit::CommitBytes, commit.weight(), limits.commit_bytes_max)?;
        within(Limit::CommitRows, commit.row_changes() + 1, limits.commit_rows_max)?;
        if self.tip.is_none() && !commit.binds() && (commit.row_changes() > commit.send.len() || commit.destroy) {
            return Err(Error::NotBound { key: self.key.clone() });
        }
        // Such a commit leaves nothing in the store that would show whether it happened, if its outcome
        // were unknown.
        let is_once = source.pending().is_some_and(|pending| pending.once.is_some());
        let leaves_a_trace = commit.binds() || source.message().is_some() || is_once;
        if self.tip.is_none() && !commit.send.is_empty() && !leaves_a_trace {
            return Err(Error::NotBound { key: self.key.clone() });
        }
        if commit.state.is_some() && self.is_lent() && !matches!(source, Source::End(_)) {
            let message = "a turn changed the state while code that borrows it was running".to_owned();
            return Err(Error::Panicked { key: self.key.clone(), message });
        }
        Ok(())
    }
}

fn newborn(resident: &Resident, definition: &Definition, version: Version, now: Millis) -> Entity {
    Entity {
        id: version,
        key: resident.key.clone(),
        kind: definition.kind.clone(),
        definition: definition.name.clone(),
        version,
        status: Status::resting("bound"),
        config: Fingerprint::default(),
        active: false,
        head: Bytes::new(),
        state: Bytes::new(),
        alarm: None,
        crashes: Crashes::NONE,
        suspect: None,
        parked: None,
        created_at: now,
        updated_at: now,
    }
}

fn link(source: Source, commit: Commit) -> Link {
    Link { source, replies: commit.replies, hold: commit.hold, emit: commit.emit }
}

fn touched(before: Option<&Entity>, after: Option<&Entity>) -> Touched {
    let both = before.zip(after);
    both.map_or(Touched::All, |(before, after)| Touched::between(before, after))
}

/// Returns the call of a pure piece of work, so that its turn can be taken again. Messages are read from
/// the inbox again instead.
pub(crate) fn again(end: End) -> Option<Source> {
    match end.origin {
        Origin::Call(pending) if end.work.pure => Some(Source::Call(pending)),
        _ => None,
    }
}

//! The commits of one entity that are not durable yet: the chain that waits for the writer, and the chain in
//! the batch in flight.

use super::chain::{Chain, Link};
use crate::{Entity, Key, MessageId, Parked, Partition, Version, Work, store::Write};

/// A chain in the batch in flight, and the entity after it.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) chain: Chain,
    pub(crate) after: Option<Entity>,
}

/// One chain waits, and one is in flight: a later chain expects the version that the earlier one makes.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    waiting: Chain,
    in_flight: Option<InFlight>,
    /// Set when the store refused the last chain because of a bug of ours. The entity is parked with this
    /// reason once it is read again.
    refusal: Option<Parked>,
}

impl Commits {
    /// The chain that the next turn joins.
    pub(crate) fn chain(&self) -> &Chain {
        &self.waiting
    }

    pub(crate) fn chain_mut(&mut self) -> &mut Chain {
        &mut self.waiting
    }

    /// Whether no more turns may join the waiting chain.
    pub(crate) fn is_closed(&self) -> bool {
        self.waiting.is_closed()
    }

    /// Whether everything is durable.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.is_none()
    }

    /// Whether a chain waits for the writer, and none is in flight.
    pub(crate) fn is_writable(&self) -> bool {
        self.waiting.writes() && self.in_flight.is_none()
    }

    /// Whether the commit that destroys the entity is in flight.
    pub(crate) fn is_destroying(&self) -> bool {
        self.in_flight.as_ref().is_some_and(|flight| flight.chain.destroys())
    }

    /// Whether the author's struct is stored as the last turn left it.
    pub(crate) fn state_is_durable(&self) -> bool {
        !self.chains().any(Chain::changes_state)
    }

    /// Whether a chain takes this message.
    pub(crate) fn takes(&self, id: MessageId) -> bool {
        self.chains().any(|chain| chain.takes(id))
    }

    /// The chains, in order.
    pub(crate) fn chains(&self) -> impl Iterator<Item = &Chain> + Clone {
        self.in_flight.iter().map(|flight| &flight.chain).chain([&self.waiting])
    }

    /// The turns of all chains, in order.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        self.chains().flat_map(Chain::links)
    }

    /// The version of the entity after the batch in flight; `None` if nothing is in flight, `Some(None)` if
    /// the batch destroys the entity.
    pub(crate) fn version_in_flight(&self) -> Option<Option<Version>> {
        self.in_flight.as_ref().map(|flight| flight.after.as_ref().map(|entity| entity.version))
    }

    /// The work lists that become durable with the chains, the latest first.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &Vec<Work>> {
        let in_flight = self.in_flight.as_ref().and_then(|flight| flight.chain.listed());
        self.waiting.listed().into_iter().chain(in_flight)
    }

    /// Keeps a work list until the turns that led to it are durable. Returns the list if they are.
    pub(crate) fn keep_list(&mut self, listed: Vec<Work>) -> Option<Vec<Work>> {
        match &mut self.in_flight {
            _ if !self.waiting.is_empty() => self.waiting.set_listed(listed),
            Some(flight) => flight.chain.set_listed(listed),
            None => return Some(listed),
        }
        None
    }

    /// Keeps a turn without writes until the state that the turn saw is durable. Returns the turn if the
    /// state is durable already.
    pub(crate) fn keep_link(&mut self, link: Link) -> Option<Link> {
        match &mut self.in_flight {
            _ if !self.waiting.is_empty() => self.waiting.link(link),
            Some(flight) => flight.chain.link(link),
            None => return Some(link),
        }
        None
    }

    /// Takes the chain for the next batch, with the version that the chain makes. Returns `None` if the
    /// chain writes nothing, or if the chain before is still in flight. `latest` is the entity after the
    /// last turn.
    pub(crate) fn take_write(
        &mut self,
        key: &Key,
        partition: Partition,
        latest: Option<&Entity>,
    ) -> Option<(Version, Write)> {
        let version = self.waiting.version().filter(|_| self.in_flight.is_none())?;
        let chain = std::mem::take(&mut self.waiting);
        let write = chain.write(key, partition, latest)?;
        self.in_flight = Some(InFlight { chain, after: latest.cloned() });
        Some((version, write))
    }

    /// Takes the chain in flight if it `is_meant` by a verdict.
    pub(crate) fn take_in_flight(&mut self, is_meant: impl FnOnce(&Chain) -> bool) -> Option<InFlight> {
        self.in_flight.take_if(|flight| is_meant(&flight.chain))
    }

    /// Takes the chain that waits: its turns are taken again.
    pub(crate) fn take_waiting(&mut self) -> Chain {
        std::mem::take(&mut self.waiting)
    }

    /// Has the entity parked once it is read again.
    pub(crate) fn refuse(&mut self, reason: Parked) {
        self.refusal = Some(reason);
    }

    pub(crate) fn take_refusal(&mut self) -> Option<Parked> {
        self.refusal.take()
    }

    /// Drops all chains. Callers of the chains get an unknown outcome.
    pub(crate) fn abandon(&mut self) {
        self.waiting = Chain::default();
        self.in_flight = None;
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            super::source::Source,
            samples::{call, key, ticket, work},
        },
        *,
    };
    use crate::Borrow;

    fn link(number: u64) -> Link {
        Link { source: Source::Call(call(number)), ..Link::kernel() }
    }

    /// Commits whose chain has one turn and makes the version.
    fn opened(version: u64) -> Commits {
        let mut commits = Commits::default();
        commits.chain_mut().open(Version(version), None);
        commits.chain_mut().link(link(version));
        commits
    }

    #[test]
    fn one_chain_is_in_flight_at_a_time() {
        let mut commits = opened(1);
        assert!(commits.is_writable() && !commits.is_empty());
        let (version, _) = commits.take_write(&key("k"), Partition(0), None).unwrap();
        assert_eq!(version, Version(1));
        assert!(!commits.is_writable() && !commits.is_empty());
        commits.chain_mut().open(Version(2), None);
        commits.chain_mut().link(link(2));
        assert!(commits.take_write(&key("k"), Partition(0), None).is_none());
        let numbers: Vec<_> = commits.links().filter_map(|link| Some(link.source.pending()?.ticket)).collect();
        assert_eq!(numbers, [ticket(1), ticket(2)]);
        assert!(commits.take_in_flight(|chain| chain.version() == Some(Version(9))).is_none());
        assert!(commits.take_in_flight(|chain| chain.version() == Some(Version(1))).is_some());
        assert!(commits.is_writable());
    }

    /// E4
    #[test]
    fn a_turn_that_writes_nothing_waits_for_what_it_saw() {
        let mut commits = Commits::default();
        assert!(commits.keep_link(link(1)).is_some(), "nothing is on its way");
        let mut commits = opened(1);
        assert!(commits.keep_link(link(2)).is_none());
        commits.take_write(&key("k"), Partition(0), None).unwrap();
        assert!(commits.keep_link(link(3)).is_none());
        assert_eq!(commits.take_in_flight(|_| true).unwrap().chain.links().count(), 3);
    }

    #[test]
    fn a_list_becomes_durable_with_the_last_turn_before_it() {
        let listed = || vec![work("a", Borrow::None)];
        assert!(Commits::default().keep_list(listed()).is_some());
        let mut commits = opened(1);
        assert!(commits.keep_list(listed()).is_none());
        commits.take_write(&key("k"), Partition(0), None).unwrap();
        assert_eq!(commits.lists().count(), 1);
        assert!(commits.keep_list(Vec::new()).is_none());
        assert!(commits.lists().all(Vec::is_empty), "a later list replaces the earlier one");
    }
}

//! What memory knows of the stored inbox of one entity: whether it was read, and which messages need care.

use std::collections::BTreeSet;

use crate::{MessageId, Millis, store::Letter};

/// The state of the inbox. The messages themselves wait in the [`Queue`](super::queue::Queue).
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// The value of `Shared::unseen` for which the inbox was last read. Messages wait until that is the
    /// current value.
    read_for: Option<u64>,
    /// The value of `Shared::unseen` when the inbox was last requested.
    requested_for: u64,
    /// The message after which the next page begins; `None` for the first page.
    after: Option<MessageId>,
    /// The inbox may hold messages that are not queued.
    has_more: bool,
    /// A message arrived that was not queued, and the inbox was not requested since.
    has_missed: bool,
    /// The inbox is being read for a missed message. Calls wait for that read, because a message that
    /// arrived before a call is taken before the call (M2).
    is_awaited: bool,
    /// The number of held messages in the last page.
    held: usize,
    /// Messages whose code is not pure: it starts only on a durable state.
    impure: BTreeSet<MessageId>,
    /// Held messages that are to be tried again.
    to_release: Vec<Letter>,
}

impl Inbox {
    /// Notes that the inbox may hold any number of unknown messages, so it is read from its beginning.
    pub(crate) fn look(&mut self) {
        self.read_for = None;
        self.after = None;
        self.miss();
    }

    /// Notes a message that was not queued.
    pub(crate) fn miss(&mut self) {
        self.has_more = true;
        self.has_missed = true;
    }

    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Whether the inbox was read for this value of `Shared::unseen`.
    pub(crate) fn is_read_for(&self, unseen: u64) -> bool {
        self.read_for == Some(unseen)
    }

    /// Whether calls wait for the inbox.
    pub(crate) fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    /// Whether to read more of the inbox: at once if a message was missed, otherwise when no message in the
    /// queue can be taken.
    pub(crate) fn wants_read(&self, has_room: impl FnOnce() -> bool, has_ready: impl FnOnce() -> bool) -> bool {
        self.has_more && (self.has_missed && has_room() || !has_ready())
    }

    /// Notes a request for the next page; returns the message after which the page begins.
    ///
    /// `unseen` is the value before the read: a message that is expected from now on may not be in the page.
    pub(crate) fn begin_read(&mut self, unseen: u64) -> Option<MessageId> {
        self.is_awaited = std::mem::take(&mut self.has_missed);
        self.requested_for = unseen;
        self.after
    }

    /// Notes that a page has arrived. Messages at the end of time are held for a person.
    pub(crate) fn page_arrived(&mut self, page: &[Letter]) {
        self.read_for = Some(self.requested_for);
        self.held = page.iter().filter(|letter| letter.at == Millis::MAX).count();
    }

    /// Notes whether a page was full. If no message of a full page was queued, `skipped_to` is the last
    /// message of the page, and the next read begins behind it.
    pub(crate) fn page_queued(&mut self, is_full: bool, skipped_to: Option<MessageId>) {
        self.has_more = is_full || self.has_missed;
        self.after = skipped_to.filter(|_| is_full);
    }

    /// Notes that a read has ended. A read that was outdated must be made again.
    pub(crate) fn end_read(&mut self, is_current: bool) {
        self.has_missed |= std::mem::take(&mut self.is_awaited) && !is_current;
    }

    /// Makes messages wait until the inbox is read again.
    pub(crate) fn forget(&mut self) {
        self.read_for = None;
    }

    /// How many messages of the last page are held for a person.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Notes that the code of a message is not pure.
    pub(crate) fn note_impure(&mut self, id: MessageId) {
        self.impure.insert(id);
    }

    pub(crate) fn is_impure(&self, id: MessageId) -> bool {
        self.impure.contains(&id)
    }

    /// Forgets what was noted about a message that was taken, or whose turn failed.
    pub(crate) fn forget_message(&mut self, id: MessageId) {
        self.impure.remove(&id);
    }

    /// Notes held messages that are to be tried again.
    pub(crate) fn request_release(&mut self, letters: Vec<Letter>) {
        self.to_release.extend(letters);
    }

    pub(crate) fn has_to_release(&self) -> bool {
        !self.to_release.is_empty()
    }

    /// Takes the held messages that are to be tried again. No message of the page counts as held any more.
    pub(crate) fn take_released(&mut self) -> Vec<Letter> {
        self.held = 0;
        std::mem::take(&mut self.to_release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Version};

    fn id(index: u32) -> MessageId {
        MessageId { version: Version(1), index }
    }

    fn letter(index: u32, at: Millis) -> Letter {
        Letter {
            id: id(index),
            from: Key::new("app", "sender").unwrap(),
            definition: "d".into(),
            verb: "v".into(),
            body: bytes::Bytes::new(),
            attempts: 0,
            at,
            mark: None,
        }
    }

    /// M2
    #[test]
    fn calls_wait_for_the_read_of_a_missed_message_only() {
        let mut inbox = Inbox::default();
        inbox.begin_read(0);
        assert!(!inbox.is_awaited());
        inbox.end_read(true);
        inbox.miss();
        inbox.begin_read(0);
        assert!(inbox.is_awaited());
        inbox.end_read(true);
        assert!(!inbox.is_awaited());
    }

    /// M2
    #[test]
    fn an_outdated_read_leaves_the_message_missed() {
        let mut inbox = Inbox::default();
        inbox.miss();
        inbox.begin_read(0);
        inbox.end_read(false);
        assert!(inbox.wants_read(|| true, || true));
        inbox.begin_read(0);
        assert!(inbox.is_awaited());
    }

    /// M1
    #[test]
    fn a_page_counts_for_the_value_that_was_current_at_its_request() {
        let mut inbox = Inbox::default();
        assert!(!inbox.is_read_for(7));
        inbox.begin_read(7);
        inbox.page_arrived(&[]);
        inbox.page_queued(false, None);
        assert!(inbox.is_read_for(7) && !inbox.is_read_for(8));
        inbox.forget();
        assert!(!inbox.is_read_for(7));
    }

    #[test]
    fn a_full_page_of_which_nothing_was_queued_is_passed_over() {
        let mut inbox = Inbox::default();
        inbox.page_queued(true, Some(id(3)));
        assert!(inbox.has_more());
        assert_eq!(inbox.begin_read(0), Some(id(3)));
        inbox.page_queued(false, Some(id(4)));
        assert!(!inbox.has_more());
        assert_eq!(inbox.begin_read(0), None);
        inbox.page_queued(true, Some(id(5)));
        inbox.look();
        assert_eq!(inbox.begin_read(0), None, "the first page may have new messages");
    }

    #[test]
    fn released_messages_no_longer_count_as_held() {
        let mut inbox = Inbox::default();
        inbox.page_arrived(&[letter(1, Millis(5)), letter(2, Millis::MAX)]);
        assert_eq!(inbox.held(), 1);
        inbox.request_release(vec![letter(2, Millis::MAX)]);
        assert!(inbox.has_to_release());
        assert_eq!(inbox.take_released().len(), 1);
        assert_eq!((inbox.held(), inbox.has_to_release()), (0, false));
    }
}

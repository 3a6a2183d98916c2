//! The answer to a publisher, packed into the one number that a child reports for an operation.

use drystone::Published;

/// The bits for the number of waits. There are never more waits than fit.
const WAITING_BITS: u32 = 16;

/// The number of an event, and the number of waits when it was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) number: u64,
    pub(super) waiting: u64,
}

impl Answer {
    pub(super) fn packed(self) -> u64 {
        self.number << WAITING_BITS | self.waiting
    }

    pub(super) fn unpacked(packed: u64) -> Self {
        Self { number: packed >> WAITING_BITS, waiting: packed & ((1 << WAITING_BITS) - 1) }
    }
}

impl From<Published> for Answer {
    fn from(published: Published) -> Self {
        Self { number: published.number, waiting: published.waiting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_as_it_was() {
        let answer = Answer { number: 70_000, waiting: 40 };
        assert_eq!(Answer::unpacked(answer.packed()), answer);
    }
}

//! Work that a visit has begun, until somebody polls it.
//!
//! Most of it goes to the driver's tasks at once. A lone piece, begun while nothing else waits, is polled for the first time by
//! the hand itself, which has put its body back: code that is ready at once then costs no other thread, and its end is what
//! this hand does next. Code that blocks there holds up nobody: it is polled so only while another hand is free, and the last
//! free hand never does. No spare hand replaces the one that it blocks, for spares are few and are for turns that block.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use super::{core::Released, mail::Mail, shared::Shared, working::Watched};
use crate::{Key, Outcome, Work, driver::Handle};

/// A piece of work whose code nobody has polled yet.
pub(crate) struct Begun {
    pub(crate) run: u64,
    pub(crate) key: Key,
    pub(crate) work: Work,
    pub(crate) code: Watched,
    hold: Weak<Mutex<Option<Handle>>>,
}

/// Held by whoever wants it to run: the code goes when this does, wherever it is by then.
pub(crate) struct Hold {
    _task: Arc<Mutex<Option<Handle>>>,
}

impl Begun {
    pub(crate) fn new(run: u64, key: Key, work: Work, code: Watched) -> (Self, Hold) {
        let task = Arc::default();
        (Self { run, key, work, code, hold: Arc::downgrade(&task) }, Hold { _task: task })
    }
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Begun").field("run", &self.run).field("work", &self.work.id).finish_non_exhaustive()
    }
}

impl Shared {
    /// Hands what was begun to the driver; or, if `here`, polls it once before that.
    pub(crate) fn begin(&self, begun: Vec<Begun>, here: bool) {
        for mut piece in begun {
            let is_wanted = piece.hold.strong_count() > 0;
            let ended = if here && is_wanted { self.poll_here(&mut piece.code) } else { None };
            match ended {
                Some(outcome) => self.ended_here(piece, outcome),
                None => self.begin_there(piece),
            }
        }
    }

    fn poll_here(&self, code: &mut Watched) -> Option<Outcome> {
        let mut polled = Poll::Pending;
        self.driver.inside(&mut || {
            // Whoever polls it next leaves a waker, and looks first whether there is need of one.
            polled = Pin::new(&mut *code).poll(&mut Context::from_waker(Waker::noop()));
        });
        match polled {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        }
    }

    /// No other hand is called: this one visits the key next.
    fn ended_here(&self, piece: Begun, outcome: Outcome) {
        let Begun { run, key, work, code, .. } = piece;
        self.let_go(Released { trash: vec![Box::new(code)], ..Released::default() });
        self.lock().post_resident(&key, Mail::Ended { run, work, outcome });
    }

    fn begin_there(&self, piece: Begun) {
        let Begun { run, key, work, code, hold } = piece;
        match hold.upgrade() {
            Some(task) => {
                let started = self.spawn_run(run, key, work, code);
                *task.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
            }
            // It was dropped meanwhile.
            None => self.let_go(Released { trash: vec![Box::new(code)], ..Released::default() }),
        }
    }
}

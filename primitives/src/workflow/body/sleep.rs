//! Sleeps in a body.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use crate::workflow::replay::{
    ask::{Ask, Until},
    core::Core,
    op::Op,
};

/// A sleep. Its end is fixed when the body first awaits it, however often the run is replayed (H1).
#[derive(Debug)]
#[must_use = "a sleep does nothing until it is awaited"]
pub struct Sleep(Op);

impl Sleep {
    pub(in crate::workflow) fn new(core: &Core, until: Until) -> Self {
        Self(Op::new(core, Ask::Sleep(until), None))
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll(context).map(drop)
    }
}

//! Something done again and again: a tick.

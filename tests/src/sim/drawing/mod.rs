//! The draws of a seed: its parameters, its roster, and the histories that are kept by name.

pub mod drawn;
pub mod named;
pub mod parameters;
pub mod random;
pub mod roster;

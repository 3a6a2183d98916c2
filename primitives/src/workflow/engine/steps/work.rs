//! The names of a run's work, which the kernel carries from the list to the end of the work.

use std::fmt;

use drystone_runtime::{Name, Work};

use crate::workflow::{engine::generations::continue_as::of_work, replay::op_id::OpId};

/// The prefix of work that only asks for another turn.
const LOOK: &str = "look:";

/// The prefix of work that runs a query. The name of the query and the number of the call follow.
const QUERY: &str = "query:";

/// A piece of a run's work, parsed from its name.
pub(in crate::workflow::engine) enum RunWork<'a> {
    /// Asks for another turn: `look:7`.
    Look,
    /// Runs a query: `query:total/3`.
    Query(&'a str),
    /// Runs an operation of a generation: `charge#1`, `@2/charge#1`.
    Step { generation: u32, op: OpId },
}

impl<'a> RunWork<'a> {
    pub(in crate::workflow::engine) fn parse(name: &'a str) -> Self {
        if name.starts_with(LOOK) {
            return Self::Look;
        }
        if let Some(query) = name.strip_prefix(QUERY) {
            return Self::Query(query.rsplit_once('/').map_or(query, |(name, _)| name));
        }
        let (generation, op) = of_work(name);
        Self::Step { generation, op }
    }

    /// Returns work whose only effect is another turn. `why` keeps it apart from earlier work of this kind.
    pub(in crate::workflow::engine) fn look(why: impl fmt::Display) -> Work {
        Work::new(Name::from(format!("{LOOK}{why}")))
    }

    /// Returns the work of a query, for the call with this number.
    pub(in crate::workflow::engine) fn query(name: &str, number: u64) -> Work {
        Work::new(Name::from(format!("{QUERY}{name}/{number}")))
    }

    /// Whether the work with this name belongs to this generation.
    pub(in crate::workflow::engine) fn is_of(name: &str, generation: u32) -> bool {
        of_work(name).0 == generation
    }
}

//! Names that an author's function cannot have, because another method already has them.
//!
//! This file has only constants, so that a test of the library can include it and compare the lists with the
//! real methods.

/// The methods of `Flow`. A step of such a name could never be called.
pub(crate) const FLOW_METHODS: &[&str] = &[
    "run",
    "try_run",
    "sleep",
    "sleep_until",
    "wait_for",
    "wait_until",
    "publish",
    "update",
    "look",
    "now",
    "random",
    "uuid",
    "key",
    "key_text",
    "clone",
    "call",
    "try_call",
    "child",
    "client",
    "permit",
    "version",
    "continue_as",
];

/// Methods that any value has. They would hide a step in the same way.
pub(crate) const EVERY_VALUE: &[&str] = &["into", "try_into", "to_owned", "within"];

/// The verbs of a run. A query of such a name would hide the verb.
pub(crate) const RUN_VERBS: &[&str] = &[
    "start",
    "start_or_get",
    "execute",
    "start_new",
    "start_with",
    "send_or_start",
    "result",
    "try_result",
    "status",
    "state",
    "send",
    "events",
    "events_after",
    "cancel",
    "terminate",
    "resume",
    "history",
    "destroy",
    "force_destroy",
    "key",
    "explain",
    "view",
    "unpark",
    "address",
    "schedule",
    "unschedule",
    "schedule_status",
    "pause",
    "resume_shifted",
    "restart",
    "restart_with",
    "restart_from",
    "cancel_abandoning_steps",
];

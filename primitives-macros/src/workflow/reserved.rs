//! Names that an author's function cannot have, because something else is reached by them.
//!
//! Constants alone, so that a test of the library can read this file and compare it with what there is.

/// What `Flow` answers to itself: a step of this name would never be reached.
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

/// What every value answers to, in a body or anywhere: likewise.
pub(crate) const EVERY_VALUE: &[&str] = &["into", "try_into", "to_owned", "within"];

/// The verbs of a run: a query of this name would hide one.
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

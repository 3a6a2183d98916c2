//! Names that an author's function cannot have, because another method already has them.

/// The methods of every handle. No action and no constructor may have one of these names.
pub const COMMON_VERBS: &[&str] = &[
    "start",
    "start_with",
    "replace",
    "state",
    "status",
    "destroy",
    "force_destroy",
    "key",
    "explain",
    "view",
    "unpark",
    "address",
];

/// The methods of `Flow`, and `continue_as`, which every body has beside its steps. No step may have one of these
/// names, because the method would hide the step.
pub const FLOW_METHODS: &[&str] = &[
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
pub const EVERY_VALUE: &[&str] = &["into", "try_into", "to_owned", "within"];

/// The verbs of a run. No query and no update may have one of these names, because it would hide the verb.
pub const RUN_VERBS: &[&str] = &[
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

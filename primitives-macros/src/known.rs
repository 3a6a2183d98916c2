//! What the macro knows of our own kinds, for nicer words than the compiler's. A kind from outside is known to nobody but
//! itself: its module says the same by its items.

use crate::suggest;

/// One of our kinds.
pub(crate) struct Known {
    /// Its name, and its module's.
    pub(crate) name: &'static str,
    /// Its options, and what each is set to.
    pub(crate) options: &'static [(&'static str, Value)],
    /// Options of which exactly one is written.
    pub(crate) one_of: &'static [&'static str],
    /// Its hook.
    pub(crate) hook: &'static str,
    /// How its hook is written, if it cannot do without.
    pub(crate) needs_hook: Option<&'static str>,
    /// Its verbs.
    pub(crate) verbs: &'static [&'static str],
}

/// What an option is set to.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    /// A number from 1.
    Count,
    /// `"59m"`.
    Duration,
    /// `"1m"`, `"1s..1m"`.
    Pause,
    /// `"0 3 * * *"`.
    Cron,
    /// `"Europe/Berlin"`.
    Zone,
    /// One of these texts.
    Word(&'static [&'static str]),
    /// Nothing: its name is enough.
    Flag,
    /// The path of a function that looks at an error.
    Function,
    /// The name of a step.
    Step,
}

const KINDS: &[Known] = &[
    Known {
        name: "object",
        options: &[("max_attempts", Value::Count), ("retry", Value::Pause), ("timeout", Value::Duration)],
        one_of: &[],
        hook: "alarm",
        needs_hook: None,
        verbs: &[],
    },
    Known {
        name: "continuous",
        options: &[
            ("every", Value::Duration),
            ("after", Value::Duration),
            ("cron", Value::Cron),
            ("zone", Value::Zone),
            ("missed", Value::Word(&["skip", "once", "backfill"])),
            ("first", Value::Word(&["now"])),
            ("max_attempts", Value::Count),
            ("retry", Value::Pause),
            ("on_exhausted", Value::Word(&["stop", "continue", "destroy"])),
            ("timeout", Value::Duration),
        ],
        one_of: &["every", "after", "cron"],
        hook: "tick",
        needs_hook: Some("#[tick] async fn tick(&mut self) -> Result<(), E>"),
        verbs: &["stop", "resume", "trigger"],
    },
    Known {
        name: "buffer",
        options: &[
            ("max_items", Value::Count),
            ("max_wait", Value::Duration),
            ("reset_on_add", Value::Flag),
            ("max_attempts", Value::Count),
            ("backoff", Value::Pause),
            ("strict_order", Value::Flag),
            ("timeout", Value::Duration),
            ("max_stored", Value::Count),
            ("max_stored_bytes", Value::Count),
        ],
        one_of: &[],
        hook: "flush",
        needs_hook: Some("#[flush] async fn flush(&mut self, batch: Batch<Item>) -> Result<(), E>"),
        verbs: &["add", "flush", "clear", "replay_batch"],
    },
    Known {
        name: "queue",
        options: &[
            ("concurrency", Value::Count),
            ("max_attempts", Value::Count),
            ("backoff", Value::Pause),
            ("strict_order", Value::Flag),
            ("timeout", Value::Duration),
            ("heartbeat", Value::Duration),
            ("max_depth", Value::Count),
        ],
        one_of: &[],
        hook: "process",
        needs_hook: Some("#[process] async fn process(&self, item: Item<T>) -> Result<(), E>"),
        verbs: &[
            "enqueue",
            "enqueue_with",
            "enqueue_many",
            "enqueue_many_with",
            "pause",
            "resume",
            "drain",
            "stats",
            "peek",
            "replay_item",
        ],
    },
    Known {
        name: "semaphore",
        options: &[("permits", Value::Count), ("lease", Value::Duration), ("window", Value::Duration)],
        one_of: &[],
        hook: NO_HOOK,
        needs_hook: None,
        verbs: &["acquire", "try_acquire", "release", "renew", "stats"],
    },
];

/// The hook of a kind that has none: no attribute has this name.
const NO_HOOK: &str = "";

/// The methods of every handle.
const COMMON_VERBS: &[&str] = &[
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

impl Known {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// The kind whose name is nearly this.
    pub(crate) fn near(name: &str) -> Option<&'static Self> {
        suggest::nearest(name, &Self::names()).and_then(Self::named)
    }

    pub(crate) fn names() -> Vec<&'static str> {
        KINDS.iter().map(|kind| kind.name).collect()
    }

    /// The kind that has a hook of this name.
    pub(crate) fn of_hook(hook: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.own_hook() == Some(hook))
    }

    /// What an option is set to.
    pub(crate) fn option(&self, name: &str) -> Option<Value> {
        self.options.iter().find(|(option, _)| *option == name).map(|(_, value)| *value)
    }

    /// Those of its options that speak of its hook, and may stand there.
    pub(crate) fn options_of_hook(&self) -> Vec<&'static str> {
        const OF_HOOKS: &[&str] = &["max_attempts", "retry", "backoff", "timeout", "heartbeat"];
        self.options.iter().map(|(option, _)| *option).filter(|option| OF_HOOKS.contains(option)).collect()
    }

    /// Its hook, if it has one.
    pub(crate) fn own_hook(&self) -> Option<&'static str> {
        Some(self.hook).filter(|hook| *hook != NO_HOOK)
    }

    /// An option that cannot be left out, how it is written, and what it tells.
    pub(crate) fn needs_option(&self) -> Option<(&'static str, &'static str, &'static str)> {
        (self.name == "semaphore").then_some(("permits", "permits = 10", "how many"))
    }

    /// Two options that exclude each other, and may both be left out.
    pub(crate) fn excluding(&self) -> Option<[&'static str; 2]> {
        (self.name == "semaphore").then_some(["lease", "window"])
    }

    /// Whether it needs no functions: then it goes on the struct as well.
    pub(crate) fn goes_on_struct(&self) -> bool {
        self.name == "semaphore"
    }

    /// Whose verb `name` is, if it is one.
    pub(crate) fn owner_of_verb(&self, name: &str) -> Option<&'static str> {
        if COMMON_VERBS.contains(&name) {
            return Some("every handle");
        }
        self.verbs.contains(&name).then_some("its kind")
    }
}

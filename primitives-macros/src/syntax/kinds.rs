//! The built-in kinds as the macro knows them, so that its messages are better than the compiler's. A kind
//! from another crate is not listed: generated code takes the same facts from the items of that kind's
//! module.

use drystone_syntax::names::COMMON_VERBS;

use super::suggest;

/// A built-in kind.
pub(crate) struct Known {
    /// The name of the kind, which is also the name of its module.
    pub(crate) name: &'static str,
    /// The options, and the type of value that each takes.
    pub(crate) options: &'static [(&'static str, Value)],
    /// Alternative options: exactly one must be set.
    pub(crate) one_of: &'static [&'static str],
    /// The name of the hook, or [`NO_HOOK`].
    pub(crate) hook: &'static str,
    /// How to write the hook, if the kind requires one.
    pub(crate) needs_hook: Option<&'static str>,
    /// The verbs of the kind's handle, besides [`COMMON_VERBS`].
    pub(crate) verbs: &'static [&'static str],
}

/// The type of value that an option takes.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    /// A number, at least 1.
    Count,
    /// A duration: `"59m"`.
    Duration,
    /// A constant pause, `"1m"`, or a doubling one, `"1s..1m"`.
    Pause,
    /// A cron expression: `"0 3 * * *"`.
    Cron,
    /// A time zone: `"Europe/Berlin"`.
    Zone,
    /// One of these words.
    Word(&'static [&'static str]),
    /// No value: the option is set by its name alone.
    Flag,
    /// The path of a function that takes an error and returns a `bool`.
    Function,
    /// The name of a step.
    Step,
}

/// All built-in kinds.
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

/// The `hook` of a kind without a hook. No attribute has this name.
const NO_HOOK: &str = "";

impl Known {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Returns the kind with the nearest name, if one is near.
    pub(crate) fn near(name: &str) -> Option<&'static Self> {
        suggest::nearest(name, &Self::names()).and_then(Self::named)
    }

    pub(crate) fn names() -> Vec<&'static str> {
        KINDS.iter().map(|kind| kind.name).collect()
    }

    /// Returns the kind that has a hook of this name.
    pub(crate) fn of_hook(hook: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.own_hook() == Some(hook))
    }

    /// Returns the type of value that an option takes.
    pub(crate) fn option(&self, name: &str) -> Option<Value> {
        self.options.iter().find(|(option, _)| *option == name).map(|(_, value)| *value)
    }

    /// Returns the options that configure the hook, which may be written on the hook too.
    pub(crate) fn options_of_hook(&self) -> Vec<&'static str> {
        const OF_HOOKS: &[&str] = &["max_attempts", "retry", "backoff", "timeout", "heartbeat"];
        self.options.iter().map(|(option, _)| *option).filter(|option| OF_HOOKS.contains(option)).collect()
    }

    /// Returns the name of the hook, if the kind has one.
    pub(crate) fn own_hook(&self) -> Option<&'static str> {
        Some(self.hook).filter(|hook| *hook != NO_HOOK)
    }

    /// Returns the option that the kind requires: its name, an example, and its meaning in words. `None` if
    /// all options may be left out.
    pub(crate) fn needs_option(&self) -> Option<(&'static str, &'static str, &'static str)> {
        (self.name == "semaphore").then_some(("permits", "permits = 10", "how many"))
    }

    /// Returns two mutually exclusive options. Both may be left out.
    pub(crate) fn excluding(&self) -> Option<[&'static str; 2]> {
        (self.name == "semaphore").then_some(["lease", "window"])
    }

    /// Whether the kind needs no functions. Then the attribute may go on the struct as well.
    pub(crate) fn goes_on_struct(&self) -> bool {
        self.name == "semaphore"
    }

    /// Returns the owner of the verb `name`, worded for a message. `None` if `name` is not a verb.
    pub(crate) fn owner_of_verb(&self, name: &str) -> Option<&'static str> {
        if COMMON_VERBS.contains(&name) {
            return Some("every handle");
        }
        self.verbs.contains(&name).then_some("its kind")
    }
}

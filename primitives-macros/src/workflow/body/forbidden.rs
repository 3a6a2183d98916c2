//! Functions and macros that a body cannot use, because they differ in every replay or are lost in a crash.
//! Each is refused by name, with what to write instead.

/// The end of a path, the reason why it is refused, and what to write instead.
type Rule = (&'static [&'static str], &'static str, &'static str);

// The reasons for refusals, each with what to write instead.
const CLOCK: (&str, &str) = ("is another time in every replay", "`flow.now()`");
const CHANCE: (&str, &str) = ("is another number in every replay", "`flow.random()`");
const UUID: (&str, &str) = ("is another one in every replay", "`flow.uuid()`");
const SPAWN: (&str, &str) = (
    "is lost in a crash, and repeated by every replay",
    "a `#[step]` for work, `join!` or `join_all` for several at once",
);
const BLOCK_ON: (&str, &str) = ("blocks all that runs beside it", "a `#[step]`, and await that");
const SELECT: (&str, &str) = ("may choose otherwise in a replay", "`select!`, which is ours in a body");
const JOIN: (&str, &str) = ("is not durable", "`join!`, which is ours in a body");
const TRY_JOIN: (&str, &str) = ("is not durable", "`let (a, b) = join!(..);` and then `a?`, `b?`");

const fn rule(path: &'static [&'static str], (why, instead): (&'static str, &'static str)) -> Rule {
    (path, why, instead)
}

/// The functions that are refused.
const FUNCTIONS: &[Rule] = &[
    rule(&["SystemTime", "now"], CLOCK),
    rule(&["Instant", "now"], CLOCK),
    rule(&["Utc", "now"], CLOCK),
    rule(&["Local", "now"], CLOCK),
    rule(&["Timestamp", "now"], CLOCK),
    rule(&["Zoned", "now"], CLOCK),
    rule(&["OffsetDateTime", "now_utc"], CLOCK),
    rule(&["OffsetDateTime", "now_local"], CLOCK),
    rule(&["UtcDateTime", "now"], CLOCK),
    rule(&["rand", "random"], CHANCE),
    rule(&["rand", "random_iter"], CHANCE),
    rule(&["rand", "rng"], CHANCE),
    rule(&["thread_rng"], CHANCE),
    rule(&["from_os_rng"], CHANCE),
    rule(&["from_entropy"], CHANCE),
    rule(&["OsRng"], CHANCE),
    rule(&["Uuid", "new_v4"], UUID),
    rule(&["Uuid", "now_v7"], UUID),
    rule(&["spawn"], SPAWN),
    rule(&["spawn_blocking"], SPAWN),
    rule(&["spawn_local"], SPAWN),
    rule(&["thread", "sleep"], ("blocks all that runs beside it", "`flow.sleep(\"5m\").await`")),
    rule(&["block_on"], BLOCK_ON),
];

/// Crates whose root functions give random values.
const CHANCES: &[&str] = &["rand", "fastrand", "getrandom"];

/// The macros that are refused, unless they are our own.
const MACROS: &[Rule] = &[
    rule(&["select"], SELECT),
    rule(&["select_biased"], SELECT),
    rule(&["join"], JOIN),
    rule(&["try_join"], TRY_JOIN),
];

/// Returns the message about the path of a function, if the path is refused.
pub(in crate::workflow) fn function(path: &[String], is_called: bool) -> Option<String> {
    let is_chance = is_called && matches!(path, [krate, _] if CHANCES.contains(&krate.as_str()));
    said(FUNCTIONS, path, "").or_else(|| is_chance.then(|| refused(path, "", CHANCE)))
}

/// Returns the message about the path of a macro, if the path is refused.
pub(in crate::workflow) fn macro_(path: &[String]) -> Option<String> {
    let is_ours = is_made_ours(path) || path.first().is_some_and(|krate| krate == "drystone");
    if is_ours { None } else { said(MACROS, path, "!") }
}

/// Whether this path of a macro means our own macro in a body.
pub(in crate::workflow) fn is_made_ours(path: &[String]) -> bool {
    matches!(path, [name] if name == "select" || name == "join")
}

fn said(rules: &[Rule], path: &[String], mark: &str) -> Option<String> {
    let (_, why, instead) = rules.iter().find(|(end, ..)| ends_with(path, end))?;
    Some(refused(path, mark, (why, instead)))
}

fn refused(path: &[String], mark: &str, (why, instead): (&str, &str)) -> String {
    format!("`{}{mark}` {why}: write {instead}", path.join("::"))
}

fn ends_with(path: &[String], end: &[&str]) -> bool {
    path.len() >= end.len() && path[path.len() - end.len()..].iter().zip(end).all(|(written, name)| written == name)
}

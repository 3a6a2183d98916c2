//! Checks the layers that ARCHITECTURE.md describes: which folder must not import what.
//!
//! The test reads the text of the sources: `use` items, and paths that begin with `crate::` or `super::`.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::collections::{BTreeMap, BTreeSet};

use drystone_tests::sources::{sources, text_of};

/// A layer: the files under `folder` import nothing under the paths in `without`.
struct Layer {
    folder: &'static str,
    without: &'static [&'static str],
}

const fn layer(folder: &'static str, without: &'static [&'static str]) -> Layer {
    Layer { folder, without }
}

const IO: [&str; 7] = ["std::fs", "std::io", "std::net", "std::process", "std::thread", "tokio", "rusqlite"];

const LAYERS: [Layer; 18] = [
    layer("runtime/src/model", &["kernel", "store"]),
    layer("runtime/src/store", &["kernel"]),
    layer("runtime/src/driver", &["kernel", "model", "store"]),
    layer("runtime/src/kernel/util", &["kernel::resident", "kernel::threads", "kernel::state", "store"]),
    layer("primitives/src/kind", &["kinds", "handler", "workflow", "system", "testing"]),
    layer("primitives/src/kinds", &["handler", "workflow", "system", "testing", "runtime::Kernel", "runtime::Store"]),
    layer("primitives/src/kinds", &IO),
    layer("primitives/src/handler", &["workflow", "system", "testing"]),
    layer(
        "primitives/src/handler",
        &["kinds::buffer", "kinds::continuous", "kinds::object", "kinds::queue", "kinds::semaphore"],
    ),
    layer("primitives/src/event", &["workflow", "system", "handler", "kinds", "testing"]),
    layer("primitives/src/system", &["workflow", "handler", "testing"]),
    layer("primitives/src/workflow/body", &["workflow::engine"]),
    layer("primitives/src/workflow/client", &["workflow::engine"]),
    layer("primitives/src/workflow/replay", &["workflow::engine", "system"]),
    layer("primitives/src/workflow/record", &["workflow::engine"]),
    layer("primitives/src/workflow/testing", &["workflow::engine"]),
    layer("primitives/src/client", &["kinds", "handler", "testing"]),
    layer("primitives/src", &["testing"]),
];

/// The kinds. No kind imports another.
const KINDS: [&str; 5] = ["buffer", "continuous", "object", "queue", "semaphore"];

/// Files that are tests, or that only tests use.
fn is_of_tests(path: &str) -> bool {
    let ends = ["tests.rs", "property.rs", "model.rs", "harness.rs", "oracle.rs"];
    path.starts_with("primitives/src/") && ends.iter().any(|end| path.ends_with(end))
}

/// Returns the code of a file, without comments and without its module of tests.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.split(" // ").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Returns the modules of a file in its crate: `["kernel", "api", "cx"]` of `runtime/src/kernel/api/cx.rs`.
fn module_of(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").unwrap().1.trim_end_matches(".rs");
    let mut module: Vec<String> = inside.split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| ["mod", "lib"].contains(&last.as_str())) {
        module.pop();
    }
    module
}

/// Splits the inside of braces at its commas, but not inside of further braces.
fn split_list(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

/// Adds the paths of a `use` tree.
fn expand(before: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, list)) = tree.split_once('{') else {
        if !tree.is_empty() {
            paths.push(format!("{before}{tree}"));
        }
        return;
    };
    let list = &list[..list.rfind('}').unwrap_or(list.len())];
    for part in split_list(list) {
        expand(&format!("{before}{}", head.trim()), part, paths);
    }
}

/// Returns the paths in a file: from `use` items, and from code if they begin with `crate::` or `super::`.
fn paths_in(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let before = rest[..at].rsplit('\n').next().unwrap().trim();
        let is_item = before.is_empty() || before.starts_with("pub");
        rest = &rest[at + 4..];
        if is_item && let Some((tree, _)) = rest.split_once(';') {
            expand("", tree, &mut paths);
        }
    }
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
            let path: String = code[at..].chars().take_while(|letter| is_path(*letter)).collect();
            paths.push(path.trim_end_matches(':').to_owned());
        }
    }
    paths
}

/// Returns the path from the root of the crate; another crate's path stays as it is. The crate
/// `drystone_runtime` is `runtime` in it.
fn resolved(path: &str, module: &[String]) -> String {
    let path = path.split(" as ").next().unwrap().trim().replace("drystone_runtime::", "runtime::");
    let mut parts: Vec<&str> = path.split("::").collect();
    let mut base: Option<Vec<String>> = None;
    while let Some(first) = parts.first() {
        match *first {
            "crate" => base = Some(Vec::new()),
            "self" => base = Some(base.unwrap_or_else(|| module.to_vec())),
            "super" => {
                let mut at = base.unwrap_or_else(|| module.to_vec());
                at.pop();
                base = Some(at);
            }
            _ => break,
        }
        parts.remove(0);
    }
    base.unwrap_or_default().into_iter().chain(parts.into_iter().map(str::to_owned)).collect::<Vec<_>>().join("::")
}

/// Returns what the names at the root of a crate stand for: `Handler` is `kernel::api::handler::Handler`.
fn aliases(crate_of: &str) -> BTreeMap<String, String> {
    let code = code_of(&text_of(&format!("{crate_of}/src/lib.rs")));
    let root = code.split("pub mod author").next().unwrap();
    let mut names = BTreeMap::new();
    for path in paths_in(root) {
        let name = path.rsplit([' ', ':']).next().unwrap().to_owned();
        names.insert(name, resolved(&path, &[]));
    }
    names
}

/// Returns everything that a file imports, as paths from the root of its crate.
fn imports(path: &str, text: &str, aliases: &BTreeMap<String, String>) -> BTreeSet<String> {
    let module = module_of(path);
    let full = |path: String| {
        let path = resolved(&path, &module);
        let first = path.split("::").next().unwrap();
        match aliases.get(first).filter(|_| first.starts_with(char::is_uppercase)) {
            Some(meant) => path.replacen(first, meant, 1),
            None => path,
        }
    };
    paths_in(&code_of(text)).into_iter().map(full).collect()
}

fn is_under(path: &str, folder: &str) -> bool {
    path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with("::"))
}

/// Returns the imports of a layer that its rule forbids.
fn breaches(layer: &Layer, sources: &BTreeMap<String, String>) -> Vec<String> {
    let aliases = aliases(layer.folder.split('/').next().unwrap());
    let own = layer.without.iter().map(|path| format!("primitives/src/{path}")).collect::<Vec<_>>();
    let is_own = |path: &str| own.iter().any(|own| path.starts_with(&format!("{own}/")) || path == format!("{own}.rs"));
    let (folder, file) = (format!("{}/", layer.folder), format!("{}.rs", layer.folder));
    let files = sources.iter().filter(|(path, _)| path.starts_with(&folder) || **path == file);
    let files = files.filter(|(path, _)| !is_of_tests(path) && !is_own(path) && !path.ends_with("src/lib.rs"));
    let mut breaches = Vec::new();
    for (path, text) in files {
        for import in imports(path, text, &aliases) {
            let is_forbidden = layer.without.iter().any(|without| is_under(&import, without));
            if is_forbidden {
                breaches.push(format!("{path} imports {import}"));
            }
        }
    }
    breaches
}

#[test]
fn no_layer_imports_what_it_must_not_know() {
    let sources = sources();
    let found: Vec<_> = LAYERS.iter().flat_map(|layer| breaches(layer, &sources)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_kind_knows_another() {
    let sources = sources();
    for kind in KINDS {
        let others: Vec<String> =
            KINDS.iter().filter(|other| **other != kind).map(|at| format!("kinds::{at}")).collect();
        let own = format!("primitives/src/kinds/{kind}");
        let files = sources.iter().filter(|(path, _)| path.starts_with(&own));
        for (path, text) in files {
            let imports = imports(path, text, &aliases("primitives"));
            let other = imports.iter().find(|import| others.iter().any(|other| is_under(import, other)));
            assert_eq!(other, None, "{path} knows another kind");
        }
    }
}

#[test]
fn a_forbidden_import_is_found() {
    let code = "use super::{Key, work::Work};\nuse crate::{\n    Error, Handler,\n    kernel::{Door, api::Call as Asked},\n};\nfn at() { crate::store::open() }\n";
    let imports = imports("runtime/src/model/entity.rs", code, &aliases("runtime"));
    let found = ["kernel::Door", "kernel::api::Call", "kernel::api::handler::Handler", "model::Key", "store::open"];
    for path in found {
        assert!(imports.contains(path), "{path} is not in {imports:?}");
    }
}

//! The pictures of the docs match their texts, and the tests named beside them exist.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{env, fs, path::PathBuf};

use drystone_tests::{
    picture::drawn,
    sources::{first_file, sources},
};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// With `PICTURES=overwrite` the test draws the picture anew.
#[test]
fn the_picture_of_events_is_that_of_its_text() {
    let (text, picture) = (file("primitives/docs/events.txt"), file("primitives/docs/events.svg"));
    let drawn = drawn(&fs::read_to_string(text).unwrap());
    if env::var_os("PICTURES").is_some_and(|what| what == "overwrite") {
        fs::write(&picture, &drawn).unwrap();
    }
    let stored = fs::read_to_string(picture).unwrap_or_default();
    assert!(stored == drawn, "run `PICTURES=overwrite cargo test -p drystone-tests --test pictures`");
}

#[test]
fn the_page_of_events_names_tests_that_are_there() {
    let page = fs::read_to_string(file("primitives/src/system/topics/which_event_goes_where.rs")).unwrap();
    let named: Vec<&str> =
        page.split('`').filter(|word| word.contains("::") && !word.contains([' ', '<', '('])).collect();
    let tests =
        named.iter().filter_map(|word| word.split_once("::")).filter(|(of, _)| of.starts_with(char::is_lowercase));
    let mut count = 0;
    for (of, function) in tests {
        let head = format!("async fn {function}() {{");
        assert!(
            sources(of).iter().any(|text| text.contains(&head)),
            "there is no test `{function}` in tests/{}",
            first_file(of)
        );
        count += 1;
    }
    assert!(count >= 12, "{count} tests are named");
}

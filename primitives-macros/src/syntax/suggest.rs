//! Suggestions for misspelled names.

/// Returns ``; did you mean `every`?`` if one of `names` is near, otherwise ``; expected one of: ..``.
pub(crate) fn among(written: &str, names: &[&str]) -> String {
    match nearest(written, names) {
        Some(name) => format!("; did you mean `{name}`?"),
        None if names.is_empty() => String::new(),
        None => format!("; expected one of: {}", names.join(", ")),
    }
}

/// Returns the name nearest to `written`, if one is near.
pub(crate) fn nearest<'a>(written: &str, names: &[&'a str]) -> Option<&'a str> {
    let distances = names.iter().map(|name| (distance(written, name), *name));
    distances.min().filter(|(distance, name)| *distance <= 1 + name.len() / 4).map(|(_, name)| name)
}

/// The Levenshtein distance: how many letters must be inserted, removed or replaced to turn one word into
/// the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, of_other) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(letter != of_other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::among;

    #[test]
    fn a_near_name_is_suggested_and_else_all_are_listed() {
        assert_eq!(among("evry", &["every", "after"]), "; did you mean `every`?");
        assert_eq!(among("continous", &["object", "continuous"]), "; did you mean `continuous`?");
        assert_eq!(among("speed", &["every", "after"]), "; expected one of: every, after");
        assert_eq!(among("speed", &[]), "");
    }
}

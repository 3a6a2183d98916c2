//! Cron expressions and time zones, checked where they stand.
//!
//! The three files are those of `drystone`, letter by letter: both must read alike, and a crate of macros cannot give
//! functions to others.

mod expression;
mod names;
mod words;

use crate::suggest;

/// What is wrong with an expression, if anything is.
pub(crate) fn check(text: &str) -> Result<(), String> {
    expression::Expression::parse(text).map(drop).map_err(|words| words.as_str().to_owned())
}

/// What is wrong with the name of a time zone, if anything is.
pub(crate) fn check_zone(name: &str) -> Result<(), String> {
    if names::NAMES.contains(&name) {
        return Ok(());
    }
    // People write the city alone.
    let city = |zone: &&&str| zone.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(name));
    let near = names::NAMES.iter().find(city).copied().or_else(|| suggest::nearest(name, names::NAMES));
    match near {
        Some(zone) => Err(format!("there is no time zone `{name}`; did you mean \"{zone}\"?")),
        None => Err(format!("there is no time zone `{name}`; write for example \"Europe/Berlin\" or \"UTC\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_zone_is_suggested() {
        assert_eq!(check_zone("Europe/Berlin"), Ok(()));
        assert!(check_zone("Europe/Berln").unwrap_err().contains("\"Europe/Berlin\""));
        assert!(check_zone("new_york").unwrap_err().contains("\"America/New_York\""));
        assert!(check_zone("Mars/Olympus_Mons").unwrap_err().contains("write for example"));
    }

    #[test]
    fn an_expression_is_read_as_the_library_does() {
        assert_eq!(check("0 3 * * *"), Ok(()));
        assert!(check("0 24 * * *").unwrap_err().contains("`24` is no hour"));
    }
}

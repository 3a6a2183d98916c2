//! Durations as people write them: `59m`, `1h 30m`, `250 ms`.

/// Parses `text` into milliseconds. The error says what is wrong and what to write instead.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("the duration is empty; write for example \"5s\"".to_owned());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, after) = split(rest, |letter| letter.is_ascii_digit());
        let (unit, after) = split(after.trim_start(), char::is_alphabetic);
        let count: u64 = number.parse().map_err(|_| no_number(text, rest))?;
        let part = count.checked_mul(millis_of(unit).ok_or_else(|| no_unit(text, unit))?);
        total = part.and_then(|part| total.checked_add(part)).ok_or_else(|| format!("`{text}` is too long"))?;
        rest = after.trim_start();
    }
    Ok(total)
}

fn split(text: &str, is_part: fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|letter| !is_part(letter)).unwrap_or(text.len()))
}

fn millis_of(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" => 1,
        "s" | "sec" | "second" | "seconds" => 1_000,
        "m" | "min" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        _ => return None,
    })
}

fn no_number(text: &str, rest: &str) -> String {
    format!("`{text}`: a number is expected at `{rest}`; write for example \"59m\" or \"59 minutes\"")
}

fn no_unit(text: &str, unit: &str) -> String {
    match unit {
        "" if text.contains('.') => format!("`{text}`: numbers are whole; write for example \"1h 30m\""),
        "" => format!("`{text}` has no unit; write for example \"59m\" or \"59 minutes\""),
        _ => format!("`{text}`: `{unit}` is not a unit; write for example \"59m\" or \"59 minutes\""),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(parse("59m"), Ok(59 * 60_000));
        assert_eq!(parse(" 1h 30 minutes "), Ok(90 * 60_000));
        assert_eq!(parse("250ms"), Ok(250));
        assert_eq!(parse("0s"), Ok(0));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        assert!(parse("59 minuts").unwrap_err().contains("`minuts` is not a unit"));
        assert!(parse("59").unwrap_err().contains("has no unit"));
        assert!(parse("1.5h").unwrap_err().contains("numbers are whole"));
        assert!(parse("m").unwrap_err().contains("a number is expected"));
        assert!(parse("").unwrap_err().contains("empty"));
        assert!(parse("-5s").unwrap_err().contains("a number is expected"));
        assert!(parse("99999999999999999999s").is_err());
        assert!(parse("300000000000d").unwrap_err().contains("too long"));
    }
}

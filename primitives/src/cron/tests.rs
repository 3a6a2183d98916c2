//! The nights on which clocks are changed, by hand, and the messages about mistakes.

use super::*;

/// Returns the times after a point, as the clocks of the zone show them.
fn shown(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let after: jiff::Timestamp = after.parse().unwrap();
    let cron = Cron::new(expression).zone(zone);
    let mut base = Timestamp::from_millis(after.as_millisecond());
    let next = || {
        base = cron.next(base).unwrap();
        let time = jiff::Timestamp::from_millisecond(base.as_millis()).unwrap().in_tz(zone).unwrap();
        Some(time.strftime("%d. %H:%M %:z").to_string())
    };
    std::iter::from_fn(next).take(count).collect()
}

/// C1
#[test]
fn a_time_that_the_clock_leaves_out_comes_when_it_jumps() {
    let night = "2026-03-28T00:00:00Z";
    let berlin = |expression| shown(expression, "Europe/Berlin", night, 3);
    assert_eq!(berlin("30 2 * * *"), ["28. 02:30 +01:00", "29. 03:00 +02:00", "30. 02:30 +02:00"]);
    // Together with another time that was skipped, and with the time that is due at that moment.
    assert_eq!(berlin("*/20 2,3 29 * *")[..2], ["29. 03:00 +02:00", "29. 03:20 +02:00"]);
    let new_york = shown("30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", 2);
    assert_eq!(new_york, ["08. 03:00 -04:00", "09. 02:30 -04:00"]);
    let lord_howe = shown("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", 2);
    assert_eq!(lord_howe, ["04. 02:30 +11:00", "05. 02:15 +11:00"]);
}

/// C1
#[test]
fn a_time_that_the_clock_shows_twice_comes_the_first_time() {
    let berlin = shown("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
    assert_eq!(berlin, ["25. 02:30 +02:00", "26. 02:30 +01:00"]);
    let new_york = shown("0,30 1,2 * * *", "America/New_York", "2026-10-31T12:00:00Z", 5);
    assert_eq!(
        new_york,
        ["01. 01:00 -04:00", "01. 01:30 -04:00", "01. 02:00 -05:00", "01. 02:30 -05:00", "02. 01:00 -05:00"]
    );
    let lord_howe = shown("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", 2);
    assert_eq!(lord_howe, ["05. 01:45 +11:00", "06. 01:45 +10:30"]);
    // Asked in the middle of the repeated hour.
    let second = shown("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1);
    assert_eq!(second, ["26. 02:30 +01:00"]);
}

/// C1
#[test]
fn what_leaves_the_hour_or_the_minute_open_comes_in_every_one_that_passes() {
    let spring = shown("0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 3);
    assert_eq!(spring, ["29. 03:00 +02:00", "29. 04:00 +02:00", "29. 05:00 +02:00"]);
    let autumn = shown("30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 3);
    assert_eq!(autumn, ["25. 02:30 +02:00", "25. 02:30 +01:00", "25. 03:30 +01:00"]);
    let lord_howe = shown("45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:40:00Z", 3);
    assert_eq!(lord_howe, ["05. 01:45 +11:00", "05. 01:45 +10:30", "05. 02:45 +10:30"]);
    let minutes = shown("* * * * *", "Europe/Berlin", "2026-10-25T00:58:30Z", 3);
    assert_eq!(minutes, ["25. 02:59 +02:00", "25. 02:00 +01:00", "25. 02:01 +01:00"]);
}

/// C1
#[test]
fn a_zone_that_never_changes_and_the_end_of_a_month() {
    let kolkata = shown("30 2 * * *", "Asia/Kolkata", "2026-03-28T12:00:00Z", 2);
    assert_eq!(kolkata, ["29. 02:30 +05:30", "30. 02:30 +05:30"]);
    let last = shown("0 12 L * *", "UTC", "2028-01-31T12:00:00Z", 3);
    assert_eq!(last, ["29. 12:00 +00:00", "31. 12:00 +00:00", "30. 12:00 +00:00"]);
    // Either the day or the weekday.
    let either = shown("0 0 13 * FRI", "UTC", "2026-11-16T00:00:00Z", 5);
    assert_eq!(either.iter().map(|time| &time[..3]).collect::<Vec<_>>(), ["20.", "27.", "04.", "11.", "13."]);
    let leap = Cron::new("0 0 29 2 *").next(Timestamp::from_millis(3_981_398_400_000)).unwrap();
    assert_eq!(leap.to_string(), "2104-02-29T00:00:00.000Z");
}

/// A whole day that a zone skipped comes at the moment of the jump, once.
#[test]
fn a_day_that_was_left_out_comes_at_the_jump() {
    let apia = shown("0 3,4 30 12 *", "Pacific/Apia", "2011-12-28T00:00:00Z", 2);
    assert_eq!(apia, ["31. 00:00 +14:00", "30. 03:00 +14:00"]);
}

#[test]
fn what_is_wrong_is_named_with_what_to_write() {
    let wrong = |text: &str| Expression::parse(text).map_err(|words| words.as_str().to_owned()).unwrap_err();
    assert!(wrong("0 3 * *").contains("five fields") && wrong("0 3 * *").contains("not 4"));
    assert!(wrong("0 0 3 * * * *").contains("not 7") && wrong("").contains("not 0"));
    assert_eq!(wrong("61 * * * *"), "`61` is no minute: they go from 0 to 59");
    assert_eq!(wrong("* * 0 * *"), "`0` is no day: they go from 1 to 31");
    assert_eq!(wrong("* * * FOO *"), "`FOO` is no month; write for example \"*\", \"1\" or \"1-5\"");
    assert!(wrong("* * * * 5-2").contains("goes backwards"));
    assert!(wrong("*/0 * * * *").contains("a step is a number from 1"));
    assert!(wrong("5/10 * * * *").contains("a step goes through a range"));
    assert!(wrong("5,,6 * * * *").contains("`` is no minute"));
    assert!(wrong("0 0 30 2 *").contains("never comes") && wrong("0 0 31 4,6 *").contains("never comes"));
    assert!(wrong("@noon").contains("@daily"));
    assert!(wrong("0 0 1W * *").contains("is no day"));
    assert!(wrong("é * * * *").contains("`é` is no minute"));
    for good in ["0 0 30 2 MON", "0 0 L 2 *", "0 0 29 2 *", "0 0 31 4,5 *", "0 0 * * 7", "0 0 * * fri-7"] {
        assert!(Expression::parse(good).is_ok(), "{good}");
    }
}

#[test]
fn what_is_stored_is_the_shortest_that_means_the_same() {
    let stored = |expression: &str| Cron::new(expression).to_string();
    assert_eq!(stored("@daily"), "0 0 * * * in UTC");
    assert_eq!(stored("*/20 0-23 1,2,3,9,L JAN-MAR SUN,7"), "0,20,40 * 1-3,9,L 1-3 0 in UTC");
    assert_eq!(stored("*/30 0 0 * * *"), "0,30 0 0 * * * in UTC");
    assert!(crate::decode::<Cron>(br#"{"expression":"0 61 * * *","zone":"UTC"}"#).unwrap_err().contains("no hour"));
    assert!(crate::decode::<Cron>(br#"{"expression":"0 1 * * *","zone":"Mars"}"#).unwrap_err().contains("`Mars`"));
}

#[test]
fn every_zone_is_found_and_is_in_the_database() {
    assert!(names::NAMES.len() > 500 && names::NAMES.is_sorted());
    for name in names::NAMES {
        let zone = Zone::find(name).unwrap();
        assert_eq!((zone.name(), zone.get().iana_name()), (*name, Some(*name)));
    }
    assert!(Zone::find("Europe/Berln").is_none() && Zone::find("").is_none());
}

#[test]
fn the_end_of_all_calendars_is_no_time() {
    let nightly = Cron::new("0 3 * * *").zone("Europe/Berlin");
    assert_eq!(nightly.next(Timestamp::from_millis(i64::MAX)), None);
    assert_eq!(nightly.count(Timestamp::from_millis(i64::MAX - 1), Timestamp::from_millis(i64::MAX)), 0);
}

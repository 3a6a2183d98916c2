//! Compares with croner, which reads the same expressions in its own way: thousands of expressions, at
//! thousands of times.

use std::str::FromStr;

use jiff::{Timestamp as Time, tz::TimeZone};
use proptest::prelude::*;

use super::*;

/// A field: anything, a value, a range, a step, a list.
fn field(min: u64, max: u64) -> impl Strategy<Value = String> {
    let range = move || (min..=max, min..=max).prop_map(|(one, other)| (one.min(other), one.max(other)));
    let part = prop_oneof![
        3 => (min..=max).prop_map(|value| value.to_string()),
        2 => range().prop_map(|(first, last)| format!("{first}-{last}")),
        1 => (range(), 1_u64..20).prop_map(|((first, last), step)| format!("{first}-{last}/{step}")),
    ];
    prop_oneof![
        3 => Just("*".to_owned()),
        1 => (2_u64..30).prop_map(|step| format!("*/{step}")),
        5 => prop::collection::vec(part, 1..3).prop_map(|parts| parts.join(",")),
    ]
}

fn days() -> impl Strategy<Value = String> {
    prop_oneof![8 => field(1, 31), 1 => Just("L".to_owned()), 1 => Just("13,L".to_owned())]
}

fn names(field: &str, names: &[&str], min: usize) -> String {
    let is_plain = !field.contains(['/', '*', 'L']);
    let named = |value: &str| value.parse::<usize>().ok().and_then(|value| names.get(value - min).copied());
    let part = |part: &str| {
        part.split('-').map(|value| named(value).unwrap_or(value).to_owned()).collect::<Vec<_>>().join("-")
    };
    if is_plain { field.split(',').map(part).collect::<Vec<_>>().join(",") } else { field.to_owned() }
}

const MONTHS: [&str; 12] = ["JAN", "feb", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "Dec"];
const WEEKDAYS: [&str; 7] = ["SUN", "mon", "TUE", "WED", "THU", "FRI", "SAT"];

fn expressions() -> impl Strategy<Value = String> {
    let fields =
        (prop::option::weighted(0.3, field(0, 59)), field(0, 59), field(0, 23), days(), field(1, 12), field(0, 6));
    (fields, any::<bool>()).prop_map(|((second, minute, hour, day, month, weekday), is_named)| {
        let second = second.map_or_else(String::new, |second| format!("{second} "));
        let month = if is_named { names(&month, &MONTHS, 1) } else { month };
        let weekday = if is_named { names(&weekday, &WEEKDAYS, 0) } else { weekday };
        format!("{second}{minute} {hour} {day} {month} {weekday}")
    })
}

/// Whether croner reads an expression as this library does. The two disagree about "any day": a step through
/// all days, and all days by number. And croner takes `SUN-SUN` for the whole week.
fn is_alike(expression: &str) -> bool {
    let fields: Vec<&str> = expression.split(' ').rev().collect();
    let (weekday, day) = (fields[0], fields[2]);
    let is_doubtful = |field: &str, all: u64, index| {
        field != "*"
            && (field.contains('*')
                || Expression::parse(&only(field, index)).is_ok_and(|read| read.masks[index] == all))
    };
    !expression.contains("SUN-SUN")
        && !is_doubtful(weekday, Expression::all(5), 5)
        && !is_doubtful(day, Expression::all(3), 3)
}

fn only(field: &str, index: usize) -> String {
    (1..6).map(|place| if place == index { field } else { "*" }).collect::<Vec<_>>().join(" ")
}

fn theirs(expression: &str, zone: &str, base: i64, count: usize) -> Vec<i64> {
    let parser = croner::parser::CronParser::builder().seconds(croner::parser::Seconds::Optional).build();
    let cron = parser.parse(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let zone = TimeZone::get(zone).unwrap();
    let from = Time::from_second(base).unwrap().to_zoned(zone);
    cron.iter_after(from).take(count).map(|time| time.timestamp().as_second()).collect()
}

/// Returns a time of the day on each of 25 days, by jiff's rules: the first of two equal times, and the end
/// of a gap for a time within the gap.
fn daily(hour: i8, minute: i8, zone: &str, base: i64) -> Vec<i64> {
    use jiff::tz::AmbiguousOffset;

    let zone = TimeZone::get(zone).unwrap();
    let first = Time::from_second(base).unwrap().to_zoned(zone.clone()).date().yesterday().unwrap();
    let days = first.series(jiff::Span::new().days(1)).take(25);
    let at = |time: jiff::civil::DateTime| match zone.to_ambiguous_timestamp(time).offset() {
        AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
            offset.to_timestamp(time).unwrap().as_second()
        }
        // By the offset after the jump, a time within the gap lies before the jump.
        AmbiguousOffset::Gap { after, .. } => {
            let before = after.to_timestamp(time).unwrap();
            zone.following(before).next().unwrap().timestamp().as_second()
        }
    };
    days.map(|day| at(day.at(hour, minute, 0, 0))).filter(|time| *time > base).collect()
}

fn ours(cron: Cron, base: i64, count: usize) -> Vec<i64> {
    let mut base = Timestamp::from_millis(base * 1_000);
    let next = || {
        base = cron.next(base)?;
        Some(base.as_millis() / 1_000)
    };
    std::iter::from_fn(next).take(count).collect()
}

/// The seconds from 1980 to 2070.
fn moments() -> std::ops::Range<i64> {
    315_532_800..3_155_760_000
}

/// Moments around the days on which clocks are changed.
fn changes() -> impl Strategy<Value = i64> {
    (2008_i16..2040, prop_oneof![Just(3_i8), Just(4), Just(10), Just(11)], 1_i8..29, 0_i64..86_400).prop_map(
        |(year, month, day, second)| {
            let midnight = jiff::civil::date(year, month, day).to_zoned(TimeZone::UTC).unwrap();
            midnight.timestamp().as_second() + second
        },
    )
}

const ZONES: [&str; 5] =
    ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Santiago"];

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 8, ..ProptestConfig::default() })]

    /// C1
    #[test]
    fn any_expression_comes_when_croner_says(expression in expressions(), base in moments()) {
        let read = Expression::parse(&expression);
        prop_assume!(read.is_ok() && is_alike(&expression));
        let cron = Cron::new(&expression);
        prop_assert_eq!(ours(cron, base, 5), theirs(&expression, "UTC", base, 5), "{}", expression);
    }

    /// C1
    #[test]
    fn the_clock_itself_comes_when_croner_says_in_any_zone(
        (hour, clock) in (0..5, field(0, 59)), zone in 0..ZONES.len(), base in changes(),
    ) {
        for expression in [format!("{clock} * * * *"), format!("* {hour}-23 * * *")] {
            let cron = Cron::new(&expression).zone(ZONES[zone]);
            let (ours, theirs) = (ours(cron, base, 6), theirs(&expression, ZONES[zone], base, 6));
            prop_assert_eq!(ours, theirs, "{} in {} after {}", expression, ZONES[zone], base);
        }
    }

    /// C1. Not compared with croner, which on the day of a jump repeats a time that came before the jump.
    #[test]
    fn a_time_of_the_day_comes_once_a_day_in_any_zone(
        (minute, hour) in (0..60_i8, 0..5_i8), zone in 0..ZONES.len(), base in changes(),
    ) {
        let cron = Cron::new(&format!("{minute} {hour} * * *")).zone(ZONES[zone]);
        let theirs = daily(hour, minute, ZONES[zone], base);
        prop_assert_eq!(ours(cron, base, 20), &theirs[..20], "{} after {}", cron, base);
    }

    /// The stored form has the same meaning.
    #[test]
    fn an_expression_is_written_and_read_back(expression in expressions(), zone in 0..ZONES.len()) {
        prop_assume!(Expression::parse(&expression).is_ok());
        let cron = Cron::new(&expression).zone(ZONES[zone]);
        let stored = crate::encode(&cron).unwrap();
        prop_assert_eq!(crate::decode::<Cron>(&stored).unwrap(), cron, "{}", expression);
    }

    /// Times strictly increase, no time is early, and the count is the number of times.
    #[test]
    fn times_increase_and_are_counted(expression in expressions(), zone in 0..ZONES.len(), base in changes(), left in 0_usize..9) {
        prop_assume!(Expression::parse(&expression).is_ok());
        let cron = Cron::new(&expression).zone(ZONES[zone]);
        let times = ours(cron, base, 40);
        prop_assert!(times.windows(2).all(|pair| pair[0] < pair[1]) && times.iter().all(|time| *time > base));
        let (from, until) = (Timestamp::from_millis(base * 1_000), Timestamp::from_millis(times[times.len() - 1] * 1_000));
        prop_assert_eq!(cron.count(from, until), times.len() as u64, "{}", expression);
        let later = cron.last(from, until, left as u64);
        prop_assert_eq!(ours(cron, later.as_millis() / 1_000, left), &times[times.len() - left.min(times.len())..]);
    }
}

#[test]
fn croner_reads_what_we_call_by_name() {
    for alias in ["@yearly", "@monthly", "@weekly", "@daily", "@hourly"] {
        let cron = croner::Cron::from_str(alias).unwrap();
        let from = Time::from_second(1_000_000_000).unwrap().to_zoned(TimeZone::UTC);
        let theirs: Vec<i64> = cron.iter_after(from).take(3).map(|time| time.timestamp().as_second()).collect();
        assert_eq!(ours(Cron::new(alias), 1_000_000_000, 3), theirs, "{alias}");
    }
}

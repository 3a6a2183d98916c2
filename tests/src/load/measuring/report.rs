//! The results for two readers: a table for a person, and `load.json` for a program.

use std::{fmt::Write, fs, path::Path, time::Duration};

use anyhow::Result;

use super::goal::Goal;

/// Everything that one run measured.
#[derive(Debug, Default)]
pub(in crate::load) struct Report {
    lines: Vec<Line>,
    goals: Vec<Goal>,
}

/// One line of the table. Columns that do not apply are empty.
#[derive(Clone, Debug, Default)]
pub(in crate::load) struct Line {
    pub(in crate::load) what: String,
    pub(in crate::load) per_second: Option<f64>,
    pub(in crate::load) p50: Option<Duration>,
    pub(in crate::load) p99: Option<Duration>,
    pub(in crate::load) ratio: Option<f64>,
    pub(in crate::load) note: String,
}

impl Report {
    pub(in crate::load) fn line(&mut self, line: Line) {
        self.lines.push(line);
    }

    pub(in crate::load) fn goal(&mut self, goal: Goal) {
        self.goals.push(goal);
    }

    pub(in crate::load) fn all_met(&self) -> bool {
        self.goals.iter().all(Goal::met)
    }

    /// Whether all goals that hold even on a busy machine are met.
    pub(in crate::load) fn holds_on_a_busy_machine(&self) -> bool {
        self.goals.iter().filter(|goal| goal.holds_on_a_busy_machine()).all(Goal::met)
    }

    /// The table, the goals, and a last line that says whether the goals are met.
    pub(in crate::load) fn table(&self) -> String {
        let mut out = format!("{:<38}{:>10}{:>14}{:>14}{:>8}\n", "", "per second", "p50", "p99", "ratio");
        for line in &self.lines {
            let _ = writeln!(out, "{}", line.show());
        }
        let _ = writeln!(out, "\n{:<28}{:>12}{:>12}", "goal", "wanted", "measured");
        for goal in &self.goals {
            let word = match goal.met() {
                true => "met",
                false if goal.value.is_nan() => "NOT MEASURED",
                false if goal.holds_on_a_busy_machine() => "NOT MET, busy or not",
                false => "NOT MET",
            };
            let _ = writeln!(out, "{:<28}{:>12}{:>12.3}  {word}", goal.name, goal.bound.to_string(), goal.value);
        }
        let missed = self.goals.iter().filter(|goal| !goal.met()).count();
        let unmeasured = self.goals.iter().filter(|goal| goal.value.is_nan()).count();
        let _ = writeln!(out, "\n{} goals, {missed} not met ({unmeasured} of them not measured)", self.goals.len());
        out
    }

    /// Writes `load.json` into the target directory.
    pub(in crate::load) fn save(&self, directory: &Path, quick: bool) -> Result<()> {
        fs::create_dir_all(directory)?;
        Ok(fs::write(directory.join("load.json"), self.json(quick))?)
    }

    fn json(&self, quick: bool) -> String {
        let lines: Vec<_> = self.lines.iter().map(Line::json).collect();
        let goals: Vec<_> = self.goals.iter().map(goal_json).collect();
        let (lines, goals) = (lines.join(",\n    "), goals.join(",\n    "));
        format!(
            "{{\n  \"quick\": {quick},\n  \"lines\": [\n    {lines}\n  ],\n  \"goals\": {{\n    {goals}\n  }}\n}}\n"
        )
    }
}

impl Line {
    fn show(&self) -> String {
        let rate = self.per_second.filter(|rate| rate.is_finite()).map(|rate| format!("{rate:.0}")).unwrap_or_default();
        let (p50, p99) = (show_time(self.p50), show_time(self.p99));
        let ratio = self.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let line = format!("{:<38}{rate:>10}{p50:>14}{p99:>14}{ratio:>8}  {}", self.what, self.note);
        line.trim_end().to_owned()
    }

    fn json(&self) -> String {
        let micros = |time: Option<Duration>| number(time.map(|time| time.as_secs_f64() * 1e6));
        format!(
            "{{ \"what\": {:?}, \"per_second\": {}, \"p50_us\": {}, \"p99_us\": {}, \"ratio\": {}, \"note\": {:?} }}",
            self.what,
            number(self.per_second),
            micros(self.p50),
            micros(self.p99),
            number(self.ratio),
            self.note
        )
    }
}

fn goal_json(goal: &Goal) -> String {
    let (bound, value) = (goal.bound.to_string(), number(Some(goal.value)));
    format!("\"{}\": {{ \"goal\": \"{bound}\", \"value\": {value}, \"met\": {} }}", goal.name, goal.met())
}

/// JSON cannot represent a value that is not a number, so it is written as `null`.
fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(|| "null".to_owned(), |value| format!("{value:.4}"))
}

fn show_time(time: Option<Duration>) -> String {
    time.map(|time| format!("{:.3} ms", time.as_secs_f64() * 1e3)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::measuring::goal::Bound;

    fn report() -> Report {
        let mut report = Report::default();
        report.line(Line { what: "bare".into(), p50: Some(Duration::from_micros(250)), ..Line::default() });
        report.goal(Goal { name: "good", bound: Bound::AtLeast(0.5), value: 0.75 });
        report.goal(Goal { name: "unknown", bound: Bound::Below(5.0), value: f64::NAN });
        report
    }

    #[test]
    fn the_table_says_aloud_what_is_not_met() {
        let table = report().table();
        assert!(table.contains("NOT MEASURED") && table.ends_with("2 goals, 1 not met (1 of them not measured)\n"));
        assert!(!report().all_met());
    }

    #[test]
    fn on_a_busy_machine_only_some_goals_must_be_met() {
        let mut report = report();
        assert!(report.holds_on_a_busy_machine());
        report.goal(Goal { name: "alarms_fired_once", bound: Bound::AtLeast(2.0), value: 1.0 });
        assert!(!report.holds_on_a_busy_machine());
        assert!(report.table().contains("NOT MET, busy or not"));
    }

    #[test]
    fn json_maps_each_goal_to_what_was_wanted_and_found() {
        let json = report().json(true);
        assert!(json.contains(r#""good": { "goal": ">= 0.5", "value": 0.7500, "met": true }"#));
        assert!(json.contains(r#""unknown": { "goal": "< 5", "value": null, "met": false }"#));
        assert!(json.contains(r#""p50_us": 250.0000, "p99_us": null"#));
    }
}

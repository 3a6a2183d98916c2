//! The pictures of the docs: boxes and arrows, drawn from a text that people can read and change.

use std::fmt::Write as _;

const COLUMN: f64 = 440.0;
const ROW: f64 = 58.0;
const WIDTH: f64 = 262.0;
const HEIGHT: f64 = 52.0;
const MARGIN: f64 = 24.0;

/// A box with its place and its text.
struct Shape<'a> {
    name: &'a str,
    kind: &'a str,
    x: f64,
    y: f64,
    lines: Vec<&'a str>,
}

impl<'a> Shape<'a> {
    fn read(words: &[&'a str], text: &'a str) -> Option<Self> {
        let &["box", name, column, row, kind] = words else { return None };
        let (column, row): (f64, f64) = (column.parse().ok()?, row.parse().ok()?);
        let lines = text.split('|').map(str::trim).collect();
        Some(Self { name, kind, x: MARGIN + column * COLUMN, y: MARGIN + row * ROW, lines })
    }

    fn draw(&self, out: &mut String) {
        let Self { kind, x, y, lines, .. } = self;
        let _ = writeln!(out, r#"<rect class="{kind}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8"/>"#);
        let middle = x + WIDTH / 2.0;
        let first = y + HEIGHT / 2.0 + 4.5 - 8.5 * (lines.len() as f64 - 1.0);
        for (index, line) in lines.iter().enumerate() {
            let (class, base) = (if index == 0 { "name" } else { "more" }, first + 17.0 * index as f64);
            let line = escaped(line);
            let _ = writeln!(out, r#"<text class="{class}" x="{middle}" y="{base}">{line}</text>"#);
        }
    }
}

/// An arrow between two boxes, with its label.
struct Arrow<'a> {
    from: &'a Shape<'a>,
    to: &'a Shape<'a>,
    side: &'a str,
    label: &'a str,
}

impl<'a> Arrow<'a> {
    fn read(words: &[&'a str], label: &'a str, shapes: &'a [Shape<'a>]) -> Option<Self> {
        let &["arrow", from, to, side] = words else { return None };
        let named = |name| shapes.iter().find(|shape| shape.name == name);
        Some(Self { from: named(from)?, to: named(to)?, side, label: label.trim() })
    }

    /// Draws the arrow from side to side, downwards (`v`), or around on the left (`l`).
    fn draw(&self, out: &mut String) {
        let Self { from, to, .. } = self;
        let middle = HEIGHT / 2.0;
        let (path, x, y, anchor) = match self.side {
            "v" => {
                let (x, top, bottom) = (from.x + WIDTH / 2.0, from.y + HEIGHT, to.y);
                (format!("M {x} {top} L {x} {bottom}"), x + 8.0, f64::midpoint(top, bottom) + 4.0, "start")
            }
            "l" => {
                let (x, top, bottom) = (from.x, from.y + middle, to.y + middle);
                let left = x - 48.0;
                let path = format!("M {x} {top} C {left} {top} {left} {bottom} {x} {bottom}");
                (path, x - 30.0, bottom - 18.0, "end")
            }
            _ => {
                let (x, y, to_x, to_y) = (from.x + WIDTH, from.y + middle, to.x, to.y + middle);
                let half = f64::midpoint(x, to_x);
                (
                    format!("M {x} {y} C {half} {y} {half} {to_y} {to_x} {to_y}"),
                    half,
                    f64::midpoint(y, to_y) - 6.0,
                    "middle",
                )
            }
        };
        let _ = writeln!(out, r#"<path d="{path}" marker-end="url(#tip)"/>"#);
        let label = escaped(self.label);
        let _ = writeln!(out, r#"<text class="label" x="{x}" y="{y}" style="text-anchor:{anchor}">{label}</text>"#);
    }
}

const STYLE: &str = "<style>\
    .picture rect{stroke:#5b6472;stroke-width:1.2}.picture .code{fill:#eaf2ff}.picture .store{fill:#f3efe4}\
    .picture .end{fill:#f2f2f2;stroke-dasharray:4 3}.picture path{fill:none;stroke:#5b6472;stroke-width:1.3}\
    .picture text{font:12.5px ui-monospace,monospace;fill:#1d2430;text-anchor:middle}\
    .picture .more{font-size:11px;fill:#5b6472}.picture .label{font:11px sans-serif;fill:#3a4250;stroke:#fff;stroke-width:4px;paint-order:stroke}</style>";

const TIP: &str = r#"<marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" style="fill:#5b6472;stroke:none"/></marker>"#;

/// Draws a text as SVG.
pub fn drawn(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let parts: Vec<(Vec<&str>, &str)> = lines
        .filter_map(|line| line.split_once(" : "))
        .map(|(words, said)| (words.split_whitespace().collect(), said))
        .collect();
    let shapes: Vec<Shape<'_>> = parts.iter().filter_map(|(words, said)| Shape::read(words, said)).collect();
    let arrows: Vec<Arrow<'_>> = parts.iter().filter_map(|(words, said)| Arrow::read(words, said, &shapes)).collect();
    assert_eq!(parts.len(), shapes.len() + arrows.len(), "every line of a picture is a box, or an arrow between two");
    let right = shapes.iter().map(|shape| shape.x + WIDTH).fold(0.0, f64::max) + MARGIN;
    let bottom = shapes.iter().map(|shape| shape.y + HEIGHT).fold(0.0, f64::max) + MARGIN;
    let mut out = format!(
        "<svg class=\"picture\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{right}\" viewBox=\"0 0 {right} {bottom}\" style=\"max-width:100%\" role=\"img\">\n{STYLE}\n<defs>{TIP}</defs>\n"
    );
    arrows.iter().for_each(|arrow| arrow.draw(&mut out));
    shapes.iter().for_each(|shape| shape.draw(&mut out));
    out.push_str("</svg>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

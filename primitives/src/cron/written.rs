//! A schedule as it is stored and shown: the shortest text with the same meaning.

use serde::{Deserialize, Serialize};

use super::{
    Cron, Zone,
    calendar::DAY,
    expression::{Expression, LAST_DAY},
    unknown,
};

/// The stored form of a schedule.
#[derive(Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) expression: String,
    pub(super) zone: String,
}

impl From<Cron> for Written {
    fn from(cron: Cron) -> Self {
        let masks = cron.expression.masks;
        // The second is written only if it is not 0.
        let from = usize::from(masks[0] == 1);
        let fields = (from..masks.len()).map(|field| written(&cron.expression, field));
        Self { expression: fields.collect::<Vec<_>>().join(" "), zone: cron.zone.name().to_owned() }
    }
}

impl TryFrom<Written> for Cron {
    type Error = String;

    fn try_from(Written { expression, zone }: Written) -> Result<Self, String> {
        let expression = Expression::parse(&expression).map_err(|wrong| wrong.as_str().to_owned())?;
        let zone = Zone::find(&zone).ok_or_else(|| unknown(&zone).as_str().to_owned())?;
        Ok(Self { expression, zone })
    }
}

fn written(expression: &Expression, field: usize) -> String {
    if expression.is_open(field) {
        return "*".to_owned();
    }
    let mask = expression.masks[field];
    let mut parts = runs(if field == DAY { mask & !LAST_DAY } else { mask });
    if field == DAY && mask & LAST_DAY != 0 {
        parts.push("L".to_owned());
    }
    parts.join(",")
}

/// Returns the values of a mask. Three or more in a row become a range.
fn runs(mask: u64) -> Vec<String> {
    let (mut parts, mut value) = (Vec::new(), 0);
    while value < u64::BITS {
        let length = (mask >> value).trailing_ones();
        match length {
            0 => {}
            1 | 2 => parts.extend((value..value + length).map(|value| value.to_string())),
            _ => parts.push(format!("{value}-{}", value + length - 1)),
        }
        value += length.max(1);
    }
    parts
}

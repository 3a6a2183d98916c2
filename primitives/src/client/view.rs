//! Everything stored of one entity, for a person to look at (E14).

use drystone_runtime::{self as runtime, Parked, Phase};
use serde::Serialize;
use serde_json::Value;

use crate::Timestamp;

/// The `primitive:*` view of an entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// The entity's key, as text; bytes that are not UTF-8 are replaced.
    pub key: String,
    /// `primitive:type`: the kind.
    #[serde(rename = "primitive:type")]
    pub kind: String,
    /// `primitive:name`: the definition.
    #[serde(rename = "primitive:name")]
    pub name: String,
    /// `primitive:state`: the author's struct.
    #[serde(rename = "primitive:state")]
    pub state: Value,
    /// `primitive:config`: the options that the entity was last run with.
    #[serde(rename = "primitive:config")]
    pub config: Value,
    /// `primitive:meta`: facts beside the state.
    #[serde(rename = "primitive:meta")]
    pub meta: Meta,
}

/// Facts about an entity beside its state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Meta {
    /// The status, in the word of the kind.
    pub status: String,
    /// Whether the entity needs attention: its kind gave it up, or it is parked.
    pub is_failing: bool,
    /// The time of its alarm.
    pub alarm: Option<Timestamp>,
    /// Why the entity is parked, if it is.
    pub parked: Option<String>,
    /// When the entity was bound.
    pub created_at: Timestamp,
    /// When the entity last changed.
    pub updated_at: Timestamp,
    /// How often the process died with this entity since it last made progress.
    pub crashes: u8,
    /// The kind's own record.
    pub record: Value,
}

impl View {
    pub(crate) fn of(entity: &runtime::Entity, config: Option<&[u8]>) -> Self {
        Self {
            key: String::from_utf8_lossy(&entity.key.key).into_owned(),
            kind: entity.kind.to_string(),
            name: entity.definition.to_string(),
            state: json(&entity.state),
            config: config.map_or(Value::Null, json),
            meta: Meta {
                status: entity.status.word.to_string(),
                is_failing: entity.status.phase == Phase::Failing || entity.parked.is_some(),
                alarm: entity.alarm.map(Into::into),
                parked: entity.parked.as_ref().map(Parked::to_string),
                created_at: entity.created_at.into(),
                updated_at: entity.updated_at.into(),
                crashes: entity.crashes.deaths(),
                record: json(&entity.head),
            },
        }
    }
}

impl From<runtime::kernel::View> for View {
    fn from(view: runtime::kernel::View) -> Self {
        Self::of(&view.entity, view.config.as_deref())
    }
}

/// Reads bytes as JSON; other bytes are shown as text.
pub(crate) fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

//! Which matches belong together: those with the same values of some fields.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    event::EventView,
    rule::{Definition, definition::GroupField},
};

/// A longer one is known by its hash: agents and regions have short names, and a rule may remember
/// thousands of groups.
const TEXT_BYTES_MAX: usize = 256;

/// The values of the fields that matches are grouped by, as a JSON array. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Group(Arc<str>);

/// The groups a match belongs to; `None` where its rule has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    pub threshold: Option<Group>,
    pub suppress: Option<Group>,
}

impl Groups {
    pub fn of(rule: &Definition, event: &EventView<'_>) -> Self {
        let group = |fields: &[GroupField]| Group::of(fields, event);
        Self {
            threshold: rule.threshold.as_ref().map(|it| group(&it.group_by)),
            suppress: rule.suppress.as_ref().map(|it| group(&it.group_by)),
        }
    }
}

impl Group {
    /// A field that is not there counts as null.
    pub fn of(fields: &[GroupField], event: &EventView<'_>) -> Self {
        let values = fields.iter().map(|field| value_of(field, event)).collect();
        let mut values = Value::Array(values);
        // Members in another order are the same value; whether they keep it is up to a feature of serde_json.
        values.sort_all_objects();
        let text = values.to_string();
        if text.len() <= TEXT_BYTES_MAX {
            return Self(text.into());
        }
        let digest = hex::encode(Sha256::digest(text.as_bytes()));
        Self(format!("sha256:{digest}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Group {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Group> for String {
    fn from(group: Group) -> Self {
        group.as_str().to_owned()
    }
}

fn value_of(field: &GroupField, event: &EventView<'_>) -> Value {
    let mut path = field.path();
    let top = path.next().and_then(|top| event.field(top));
    let whole: Option<Value> = top.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let found = path.try_fold(whole.unwrap_or_default(), |mut value, key| {
        value.as_object_mut()?.remove(key)
    });
    found.unwrap_or_default()
}

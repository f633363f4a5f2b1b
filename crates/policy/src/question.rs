//! May this principal do this to that, in these circumstances?

use domain::fault::Fault;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A question as it was asked, whichever door it came through; recorded with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub principal: Party,
    pub action: String,
    pub resource: Party,
    #[serde(default)]
    pub context: Map<String, Value>,
}

/// Who acts, or what is acted on: a type and an id, which make an entity of Cedar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Party {
    #[serde(rename = "type")]
    pub kind: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub properties: Map<String, Value>,
}

impl Question {
    /// A question of an agent of ours: `resource` is `type:id`.
    pub fn of_agent(
        agent_id: &str,
        action: &str,
        resource: Option<&str>,
        context: Map<String, Value>,
    ) -> Self {
        let (kind, id) = resource
            .and_then(|resource| resource.split_once(':'))
            .unwrap_or(("Resource", resource.unwrap_or_default()));
        Self {
            principal: Party::new("Agent", agent_id),
            action: action.to_owned(),
            resource: Party::new(kind, id),
            context,
        }
    }
}

impl Party {
    pub fn new(kind: &str, id: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            id: id.to_owned(),
            properties: Map::new(),
        }
    }
}

/// A question in Cedar's terms, made once however many sets are asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub(crate) principal: cedar_policy::EntityUid,
    pub(crate) action: cedar_policy::EntityUid,
    pub(crate) resource: cedar_policy::EntityUid,
    pub(crate) context: cedar_policy::Context,
}

impl Asked {
    /// What has no meaning in Cedar is refused, never left out: a policy must not be passed because
    /// something was dropped. The pointers of faults are those of a [`Question`].
    pub fn new(question: &Question) -> Result<Self, Vec<Fault>> {
        let _ = question;
        Err(vec![Fault::invalid("", "not yet")])
    }
}

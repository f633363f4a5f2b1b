//! May this principal do this to that, in these circumstances?

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::Hasher;

/// What a question is about if nobody says: policies can name it like any other resource.
pub const UNSPECIFIED: &str = "unspecified";

/// The type of resources that say none of their own.
const RESOURCE: &str = "Resource";

/// The type of the principals that are agents.
pub(crate) const AGENT: &str = "Agent";

/// The type of actions. Nothing else may have it, or `action in ...` could be answered by a caller.
pub(crate) const ACTION: &str = "Action";

/// Begins what is hashed, so that the digest of a question is no digest of anything else.
const DIGEST_DOMAIN: &str = "watchbell.question.v1\n";

/// A question as it was asked, whichever door it came through; recorded with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub principal: Party,
    pub action: String,
    pub resource: Party,
    #[serde(default)]
    pub context: Map<String, Value>,
}

/// Who acts, or what is acted on: a type and an id, which make an entity of Cedar. The properties are
/// its attributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Party {
    #[serde(rename = "type")]
    pub kind: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub properties: Map<String, Value>,
}

impl Question {
    /// A question of an agent of ours: `resource` is `type:id`. What has no type that Cedar could name
    /// is a `Resource` by its whole text, so that a policy sees all of it.
    pub fn of_agent(
        agent_id: &str,
        action: &str,
        resource: Option<&str>,
        context: Map<String, Value>,
    ) -> Self {
        let whole = resource.unwrap_or(UNSPECIFIED);
        let (kind, id) = whole
            .split_once(':')
            .filter(|(kind, _)| is_type(kind))
            .unwrap_or((RESOURCE, whole));
        Self {
            principal: Party::new(AGENT, agent_id),
            action: action.to_owned(),
            resource: Party::new(kind, id),
            context,
        }
    }

    /// Names the question and what is to be done (`sha256:` and 64 hexadecimal digits), whatever the
    /// order of members in their JSON. An approval is bound to it.
    pub fn digest(&self, payload: Option<&Value>) -> String {
        let mut hasher = Hasher::new(DIGEST_DOMAIN);
        for party in [&self.principal, &self.resource] {
            hasher.text(&party.kind);
            hasher.text(&party.id);
            hasher.object(&party.properties);
        }
        hasher.text(&self.action);
        hasher.object(&self.context);
        match payload {
            None => hasher.mark("-"),
            Some(payload) => {
                hasher.mark("+");
                hasher.value(payload);
            }
        }
        hasher.finish()
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

    /// The subject of an AuthZEN request, whose standard spells the type of agents in small letters.
    pub fn of_subject(kind: &str, id: &str, properties: Map<String, Value>) -> Self {
        let kind = if kind == "agent" { AGENT } else { kind };
        Self {
            properties,
            ..Self::new(kind, id)
        }
    }
}

/// Whether a party may have this type: an identifier of Cedar that has no other meaning.
pub(crate) fn is_type(text: &str) -> bool {
    /// Words of Cedar's grammar, and what is kept for its own use.
    const KEPT: [&str; 10] = [
        "true", "false", "if", "then", "else", "in", "is", "like", "has", "__cedar",
    ];
    let mut bytes = text.bytes();
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    bytes.next().is_some_and(is_first)
        && bytes.all(|byte| is_first(byte) || byte.is_ascii_digit())
        && text.len() <= TYPE_BYTES_MAX
        && text != ACTION
        && !KEPT.contains(&text)
}

/// Longer than any name of a type that somebody would write in a policy.
pub(crate) const TYPE_BYTES_MAX: usize = 128;

//! What is asked, whichever door it came through.

use domain::{DecisionId, fault::Fault};
use policy::{Asked, Question};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A question that can be answered.
#[derive(Debug)]
pub struct Ask {
    pub question: Question,
    asked: Asked,
    /// What the decision's audit event says of it.
    pub named: Named,
    /// What the agent is about to send; policies do not see it.
    pub payload: Option<Value>,
    pub mode: Mode,
    /// The decision that a person approved.
    pub approval: Option<DecisionId>,
}

/// A question in the words of the trail.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    pub agent_id: String,
    pub action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Whether the agent obeys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Enforce,
    /// The answer is `allow`, and `shadow` says what it would be.
    Shadow,
}

impl Ask {
    /// The pointers of faults are those of a [`Question`].
    pub fn new(question: Question, named: Named) -> Result<Self, Vec<Fault>> {
        Ok(Self {
            asked: Asked::new(&question)?,
            question,
            named,
            payload: None,
            mode: Mode::Enforce,
            approval: None,
        })
    }

    pub fn asked(&self) -> &Asked {
        &self.asked
    }
}

//! What is asked, whichever door it came through.

use std::sync::{Arc, OnceLock};

use domain::{
    DecisionId, KeyId, OrgId,
    event::check::{fault_of_call, fault_of_id},
    fault::{Fault, FaultCode},
};
use policy::{CedarRequest, Question, payload::bytes_up_to, recorded::Mode};
use serde::Serialize;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use crate::edge::{Caller, caller::DecisionsWrite, identity::Identity};

/// How long a question may be as it is recorded: the record has 16 KiB, and what is left of them must do for what
/// we say of it, because what was decided is on record whatever it was.
pub const QUESTION_BYTES_MAX: usize = 11 * 1024;

/// From here on it takes long to look at what is sent, whatever policies ask: some milliseconds. Only a hook sends as much.
const LARGE_PAYLOAD_BYTES: usize = 64 * 1024;

/// A question that can be answered, and whose answer can be recorded.
#[derive(Debug)]
pub struct Ask {
    pub question: Question,
    /// The same as it is recorded.
    pub question_json: Box<RawValue>,
    /// How long it is, with what policies see beside it.
    pub seen_bytes: usize,
    /// Whether it takes long to look at what is sent.
    pub is_large: bool,
    asked: CedarRequest,
    /// What the decision's audit event says of it.
    pub named: Named,
    /// What the agent is about to send; of a large one policies see a part. Questions about one call share it.
    payload: Option<Arc<Value>>,
    /// Names question and payload, once somebody asked for it.
    request_digest: OnceLock<String>,
    pub mode: Mode,
    /// The decision that a person approved.
    pub approval: Option<DecisionId>,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    pub org: OrgId,
    /// The data plane knows keys only, so there is one.
    pub key: Option<KeyId>,
}

impl Asker {
    pub fn of(caller: &Caller<DecisionsWrite>) -> Self {
        let key = match &caller.identity {
            Identity::Key(key) => Some(key.id),
            Identity::Session(_) => None,
        };
        Self {
            org: caller.org,
            key,
        }
    }
}

/// A question in the words of the trail.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    pub agent_id: String,
    pub action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    #[serde(flatten)]
    pub run: Run,
}

impl Named {
    /// Why this could not be recorded.
    pub fn fault(&self) -> Option<Fault> {
        fault_of_call(&self.agent_id, &self.action, self.resource.as_deref())
    }
}

/// The run of the agent that a question is a part of. It is recorded, and no policy sees it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Run {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
}

impl Run {
    /// What could not be recorded of it: nothing may be decided, nor an approval be used, that is not on record.
    fn faults(&self) -> Vec<Fault> {
        let ids = [
            ("session_id", &self.session_id),
            ("trace_id", &self.trace_id),
            ("span_id", &self.span_id),
        ];
        ids.into_iter()
            .filter_map(|(field, id)| fault_of_id(field, id.as_deref()?))
            .collect()
    }
}

impl Ask {
    /// The pointers of faults are those of a [`Question`] and of a [`Run`].
    pub fn new(question: Question, named: Named) -> Result<Self, Vec<Fault>> {
        let faults = named.run.faults();
        if !faults.is_empty() {
            return Err(faults);
        }
        let asked = CedarRequest::by_somebody(&question)?;
        let question_json = to_raw_value(&question).expect("a question always encodes");
        let question_bytes = question_json.get().len();
        if question_bytes > QUESTION_BYTES_MAX {
            let detail = format!(
                "A question can be at most {QUESTION_BYTES_MAX} bytes, because it is recorded; this one is \
                 {question_bytes}. Leave out of `context` whatever no policy looks at."
            );
            let fault = Fault::new(FaultCode::FieldTooLong, "/context", detail);
            return Err(vec![fault]);
        }
        let seen_bytes = question_bytes + asked.seen_bytes_with(None);
        Ok(Self {
            asked,
            question,
            question_json,
            seen_bytes,
            is_large: false,
            named,
            payload: None,
            request_digest: OnceLock::new(),
            mode: Mode::Enforce,
            approval: None,
        })
    }

    /// What the agent is about to send; the pointers of faults are within `/payload`.
    pub fn with_payload(self, payload: Option<Value>) -> Result<Self, Vec<Fault>> {
        let faults = payload.as_ref().map(policy::payload::faults);
        match faults.filter(|faults| !faults.is_empty()) {
            Some(faults) => Err(faults),
            None => Ok(self.about_to_send(payload.map(Arc::new))),
        }
    }

    /// The same without a look at its numbers: a hook has no way to send them otherwise.
    pub fn about_to_send(mut self, payload: Option<Arc<Value>>) -> Self {
        let sent = payload.as_deref();
        let is_large = |sent| bytes_up_to(sent, LARGE_PAYLOAD_BYTES) == LARGE_PAYLOAD_BYTES;
        self.seen_bytes = self.question_bytes() + self.asked.seen_bytes_with(sent);
        self.is_large = sent.is_some_and(is_large);
        self.payload = payload;
        self.request_digest = OnceLock::new();
        self
    }

    /// What an approval is bound to.
    pub fn request_digest(&self) -> &str {
        let digest = || self.question.digest(self.payload());
        self.request_digest.get_or_init(digest)
    }

    /// How long the question is as it is recorded.
    pub fn question_bytes(&self) -> usize {
        self.question_json.get().len()
    }

    pub fn payload(&self) -> Option<&Value> {
        self.payload.as_deref()
    }

    pub fn asked(&self) -> &CedarRequest {
        &self.asked
    }
}

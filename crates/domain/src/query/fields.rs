//! What a query can ask about: the fields of events, decisions and deliveries, and what each can hold.

use serde::{Deserialize, Serialize};

use crate::{
    event::{NAME_CHARS_MAX, RESOURCE_CHARS_MAX, check::SEVERITIES},
    nearest::nearest,
    rule::definition::URL_MAX,
};

/// What a query is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum List {
    Events,
    /// The events that the server writes for each decision.
    Decisions,
    Deliveries,
}

/// A field that can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    /// What it is, for whoever chooses one.
    pub about: &'static str,
    /// The keys down to it inside `metadata`, where the server put it there: in decisions only, so no other
    /// event has the field. Else none.
    pub inside: &'static [&'static str],
}

/// What a field can hold, and so how it can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these, the least first: `severity:>=high`.
    Ranked(&'static [&'static str]),
    /// A name of a-z, 0-9 and _.
    Name {
        chars_max: usize,
    },
    /// A dotted name.
    Action,
    /// `server`, `key`, or the id of an API key.
    Source,
    EventId,
    RuleId,
    Text {
        chars_max: usize,
    },
    Number,
    Time,
    /// `metadata`: the organization's own fields, with whatever is in them.
    Metadata,
    /// What a decision has in `metadata`: a text, a number, or a list of them.
    Any,
}

const fn field(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        name,
        kind,
        about,
        inside: &[],
    }
}

const OCCURRED_AT: Field = field("occurred_at", Kind::Time, "when it happened");
const EVENT_TYPE: Field = field(
    "event_type",
    Kind::Name { chars_max: 64 },
    "the type, such as tool_call",
);
const AGENT_ID: Field = field("agent_id", ID, "the agent");
const ACTION: Field = field(
    "action",
    Kind::Action,
    "what was done, such as payments.refund or payments.*",
);
const RESULT: Field = field(
    "result",
    Kind::Name { chars_max: 32 },
    "how it ended, such as denied",
);
const RESOURCE: Field = field(
    "resource",
    Kind::Text {
        chars_max: RESOURCE_CHARS_MAX,
    },
    "what it was done to",
);
const SESSION_ID: Field = field("session_id", ID, "the session of the agent");
const TRACE_ID: Field = field("trace_id", ID, "the trace");
const SPAN_ID: Field = field("span_id", ID, "the span in the trace");
const DECISION_ID: Field = field("decision_id", ID, "the decision that it followed");
const RECEIVED_AT: Field = field("received_at", Kind::Time, "when the server accepted it");
const METADATA: Field = field(
    "metadata",
    Kind::Metadata,
    "your own fields, such as metadata.amount",
);
const ID: Kind = Kind::Text {
    chars_max: NAME_CHARS_MAX,
};

/// What only the server's decisions have, inside their `metadata`.
const fn of_decisions(
    name: &'static str,
    inside: &'static [&'static str],
    kind: Kind,
    about: &'static str,
) -> Field {
    Field {
        inside,
        ..field(name, kind, about)
    }
}

const DECISION: Field = of_decisions(
    "decision",
    &["decision"],
    Kind::Choice(&["allow", "modify", "escalate", "deny"]),
    "of a decision: what the guard answered",
);
const POLICY: Field = of_decisions(
    "policy",
    &["policies"],
    Kind::Any,
    "of a decision: a policy that decided it",
);
const POLICY_VERSION: Field = of_decisions(
    "policy_version",
    &["policy_version"],
    Kind::Number,
    "of a decision: the version of the policies",
);
const REASON: Field = of_decisions(
    "reason",
    &["reason"],
    Kind::Any,
    "of a decision: the reason that was given",
);
const TOOK_US: Field = of_decisions(
    "took_us",
    &["took_us"],
    Kind::Number,
    "of a decision: how long the answer took, in microseconds",
);

static OF_EVENTS: [Field; 22] = [
    OCCURRED_AT,
    EVENT_TYPE,
    AGENT_ID,
    ACTION,
    RESULT,
    field("severity", Kind::Ranked(&SEVERITIES), "how serious it is"),
    RESOURCE,
    SESSION_ID,
    TRACE_ID,
    SPAN_ID,
    DECISION_ID,
    field(
        "source",
        Kind::Source,
        "who wrote it: server, key, or the id of an API key",
    ),
    field("client_event_id", ID, "the id that the client gave it"),
    field("error_code", ID, "the error code"),
    field(
        "latency_ms",
        Kind::Number,
        "how long it took, in milliseconds",
    ),
    DECISION,
    POLICY,
    POLICY_VERSION,
    REASON,
    TOOK_US,
    RECEIVED_AT,
    METADATA,
];

static OF_DECISIONS: [Field; 16] = [
    OCCURRED_AT,
    AGENT_ID,
    ACTION,
    RESULT,
    RESOURCE,
    SESSION_ID,
    TRACE_ID,
    SPAN_ID,
    DECISION_ID,
    DECISION,
    POLICY,
    POLICY_VERSION,
    REASON,
    TOOK_US,
    RECEIVED_AT,
    METADATA,
];

static OF_DELIVERIES: [Field; 9] = [
    field("occurred_at", Kind::Time, "when its event happened"),
    field(
        "state",
        Kind::Choice(&[
            "pending",
            "scheduled",
            "delivered",
            "held",
            "failed",
            "canceled",
            "suppressed",
            "snoozed",
            "shadow",
        ]),
        "how far it has got",
    ),
    field(
        "reason",
        Kind::Choice(&[
            "exhausted",
            "expired",
            "permanent",
            "paused",
            "disabled",
            "breaker",
            "retry_after",
            "blocked",
            "user",
            "rule_deleted",
            "unverified",
        ]),
        "why it is held, failed or canceled",
    ),
    field("rule_id", Kind::RuleId, "the alert rule"),
    field("event_id", Kind::EventId, "the event"),
    field(
        "event_type",
        Kind::Name { chars_max: 64 },
        "the type of its event",
    ),
    field("url", Kind::Text { chars_max: URL_MAX }, "where it goes"),
    field(
        "cause",
        Kind::Choice(&["match", "summary", "test"]),
        "why there is one",
    ),
    field("attempts", Kind::Number, "how many attempts were made"),
];

/// What people write who know other products, and what it is called here.
const CALLED_ELSEWHERE: [(&str, &str); 14] = [
    ("type", "event_type"),
    ("time", "occurred_at"),
    ("timestamp", "occurred_at"),
    ("date", "occurred_at"),
    ("from", "occurred_at"),
    ("to", "occurred_at"),
    ("user", "agent_id"),
    ("actor", "agent_id"),
    ("level", "severity"),
    ("duration", "latency_ms"),
    ("status", "result"),
    ("status", "state"),
    ("verdict", "decision"),
    ("rule", "rule_id"),
];

impl List {
    pub const ALL: [Self; 3] = [Self::Events, Self::Decisions, Self::Deliveries];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Decisions => "decisions",
            Self::Deliveries => "deliveries",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.as_str() == name)
    }

    /// What can be asked for, in the order in which it is offered.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Self::Events => &OF_EVENTS,
            Self::Decisions => &OF_DECISIONS,
            Self::Deliveries => &OF_DELIVERIES,
        }
    }

    pub fn field(self, name: &str) -> Option<&'static Field> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The field that somebody meant who wrote another name.
    pub(super) fn meant(self, name: &str) -> Option<&'static str> {
        let lowered = name.to_ascii_lowercase();
        let mut elsewhere = CALLED_ELSEWHERE
            .iter()
            .filter(|(other, _)| *other == lowered)
            .filter_map(|(_, here)| self.field(here));
        let names = self.fields().iter().map(|field| field.name);
        let elsewhere = elsewhere.next().map(|field| field.name);
        elsewhere.or_else(|| nearest(name, names))
    }

    /// One of them, as people say it.
    pub(super) fn one(self) -> &'static str {
        match self {
            Self::Events => "an event",
            Self::Decisions => "a decision",
            Self::Deliveries => "a delivery",
        }
    }
}

impl Field {
    /// Whether two conditions on it can both hold though their values differ: it has an order, or may be
    /// a list.
    pub(super) fn can_hold_twice(&self) -> bool {
        let is_ordered = matches!(self.kind, Kind::Time | Kind::Number);
        is_ordered || matches!(self.kind, Kind::Metadata | Kind::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        delivery::{Cause, Reason, State},
        event::EventView,
    };

    #[test]
    fn a_field_of_events_is_one_that_events_have() {
        let others = ["id"];
        for name in EventView::FIELDS {
            let is_listed = List::Events.field(name).is_some();
            assert_eq!(is_listed, !others.contains(name), "{name}");
        }
        let of_all = List::Events.fields().iter();
        let of_all = of_all.filter(|field| field.inside.is_empty());
        assert_eq!(of_all.count() + others.len(), EventView::FIELDS.len());
    }

    #[test]
    fn what_decisions_have_events_have_too() {
        for field in List::Decisions.fields() {
            assert_eq!(List::Events.field(field.name), Some(field));
        }
    }

    #[test]
    fn the_words_of_deliveries_are_all_there() {
        let words = |name| match List::Deliveries.field(name).map(|field| field.kind) {
            Some(Kind::Choice(words)) => words,
            other => panic!("{other:?}"),
        };
        assert_eq!(words("state"), State::ALL.map(State::as_str));
        assert_eq!(words("reason"), Reason::ALL.map(Reason::as_str));
        let causes = [Cause::Match, Cause::Summary { suppressed: 1 }, Cause::Test];
        assert_eq!(words("cause"), causes.map(Cause::as_str));
    }

    #[test]
    fn names_of_other_products_lead_to_ours() {
        for (list, name, meant) in [
            (List::Events, "results", Some("result")),
            (List::Events, "agent", Some("agent_id")),
            (List::Events, "session", Some("session_id")),
            (List::Events, "Type", Some("event_type")),
            (List::Events, "status", Some("result")),
            (List::Deliveries, "status", Some("state")),
            (List::Decisions, "verdict", Some("decision")),
            (List::Deliveries, "verdict", None),
            (List::Events, "https", None),
        ] {
            assert_eq!(list.meant(name), meant, "{name}");
        }
    }
}

//! Texts of which there are few: what the API document says they can be, from the lists that decide where there are
//! such lists.

use archive::Compression;
use domain::{
    account::{Role, Scope},
    approval::Status,
    delivery::{Cause, Outcome, Reason, State, Trigger, endpoint::Notice},
    error_code::ErrorCode,
    fault::FaultCode,
    guard::FailMode,
    query::List,
    rule::{Definition, change::What, pattern::predicate::Predicate},
};
use policy::Verdict;
use store::events::{CountedBy, Grain};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};
use webhook_signature::{NEXT_SIGNATURE_HEADER, PREVIOUS_SIGNATURE_HEADER, SIGNATURE_HEADER};

use crate::config;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $all:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let object = ObjectBuilder::new().schema_type(Type::String);
                object.enum_values(Some($all)).into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

words! {
    /// Whether the agent obeys the decision.
    Mode = ["enforce", "shadow"];
    /// How urgent something is.
    Severity = ["info", "low", "medium", "high", "critical"];
    /// The order in which events are listed, by time.
    EventOrder = ["desc", "asc"];
    /// What a query is about.
    QueryList = List::ALL.map(List::as_str);
    /// What events are counted by.
    EventField = CountedBy::ALL.map(CountedBy::as_str);
    /// The length of an interval.
    Interval = Grain::ALL.map(Grain::as_str);
    /// The format of an export's files.
    ExportFormat = ["ndjson", "json", "csv", "parquet", "bundle"];
    /// The compression of an export's files.
    ExportCompression = Compression::ALL.map(Compression::as_str);
    /// The state of an export.
    ExportState = ["queued", "running", "done", "failed", "canceled", "expired"];
    /// The state of a delivery.
    DeliveryState = State::ALL.map(State::as_str);
    /// Why a delivery is held, failed or canceled.
    DeliveryReason = Reason::ALL.map(Reason::as_str);
    /// Why a delivery exists.
    DeliveryCause = Cause::WORDS;
    /// Why an attempt was made.
    AttemptTrigger = Trigger::ALL.map(Trigger::as_str);
    /// The outcome of an attempt.
    AttemptOutcome = [
        Outcome::Delivered, Outcome::Transient, Outcome::Rejected, Outcome::Redirect, Outcome::Permanent,
        Outcome::Gone, Outcome::Blocked, Outcome::OurFault,
    ].map(Outcome::as_str);
    /// The states in which a delivery can be sent again.
    RecoverableState = State::RECOVERABLE.map(State::as_str);
    /// The state of a recovery.
    RecoveryState = ["running", "done", "canceled", "failed"];
    /// The state of an erasure.
    ErasureState = ["running", "done", "failed"];
    /// Whether deliveries are sent to an endpoint.
    EndpointStatus = ["active", "paused", "disabled"];
    /// Why an endpoint is disabled.
    EndpointDisabledWhy = ["gone", "failing"];
    /// What happened to an endpoint.
    EndpointNoticeWord = [
        Notice::BreakerOpened, Notice::BreakerClosed, Notice::FailingFor15Minutes, Notice::FailingForAnHour,
        Notice::FailingForADay, Notice::Rejecting, Notice::Redirecting, Notice::Disabled, Notice::Paused,
        Notice::Resumed, Notice::Unverified, Notice::Verified,
    ].map(Notice::as_str);
    /// Whether an endpoint has answered its challenge.
    OwnershipState = ["unverified", "verified"];
    /// The stage of a signing secret's life.
    SecretState = ["staged", "current", "previous", "dropped"];
    /// The decision.
    DecisionWord = Verdict::ALL.map(Verdict::as_str);
    /// What a policy does when it applies.
    PolicyEffect = ["permit", "forbid"];
    /// What to answer when a decision cannot be recorded.
    FailModeWord = [FailMode::Closed, FailMode::Open].map(FailMode::as_str);
    /// Which approvals to list.
    ApprovalStatus = [Status::Pending.as_str()];
    /// How an escalated decision ended.
    ApprovalOutcome = [Status::Approved, Status::Denied, Status::TimedOut].map(Status::as_str);
    /// How to answer an allowed call.
    HookOnAllow = ["pass", "allow"];
    /// What to do with a call that could not be decided.
    HookOnError = ["deny", "ask", "pass"];
    /// What a version changed about its rule.
    RuleChange = What::ALL.map(What::as_str);
    /// A person's role in the organization.
    MemberRole = Role::ALL.map(Role::as_str);
    /// What an API key may do.
    KeyScope = Scope::ALL.map(Scope::as_str);
    /// What changed about a rule.
    RuleField = Definition::FIELDS;
    /// An operator of a rule's pattern; `equals` for a plain value.
    RuleOperator = Predicate::OPERATORS;
    /// What is wrong with a field.
    FaultWord = FaultCode::ALL.map(|code| serde_json::to_value(code).expect("a word always encodes"));
    /// Something that Watchbell depends on.
    DependencyName = ["postgres", "journal", "redis"];
    /// A log of the journal that is applied to PostgreSQL.
    LogName = ["events", "outcomes"];
    /// A role of a node.
    NodeRole = config::Role::ALL.map(config::Role::name);
    /// What a day of the trail is waiting for.
    DayStateWord = ["ahead", "current", "kept", "overdue"];
    /// The header of a signature.
    SignatureHeader = [SIGNATURE_HEADER, PREVIOUS_SIGNATURE_HEADER, NEXT_SIGNATURE_HEADER];
    /// The method of a delivery.
    DeliveryMethod = ["POST"];
    /// Why a delivery is sent: on the first attempt why it exists, later why it is sent again.
    DeliveryTrigger = ["match", "summary", "test", "retry", "resend", "recover"];
    /// What a challenge says it is.
    ChallengeType = ["endpoint.verification"];
    /// Why a challenge is sent.
    ChallengeTrigger = ["verification"];
    /// The version of CloudEvents.
    CloudEventsVersion = ["1.0"];
    /// How a body is compressed.
    BodyEncoding = ["gzip", "zstd", "identity"];
    /// An agent whose hooks are understood.
    HookDialect = ["claude-code", "codex", "copilot", "cursor", "docker-mcp", "gemini"];
    /// The hook that is answered.
    HookEventAnswered = ["PreToolUse"];
    /// An error code; each has a page in docs/errors.
    ErrorCodeWord = ErrorCode::ALL.iter().map(|code| code.as_str());
}

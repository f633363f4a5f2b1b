//! Texts of which there are few: what the API document says they can be, from the lists that decide where there are
//! such lists.

use archive::{Compression, Format};
use domain::{
    account::{Role, Scope},
    approval::Status,
    delivery::{Cause, Outcome, Reason, State, Trigger, endpoint::Notice},
    error_code::ErrorCode,
    guard::FailMode,
    rule::change::What,
};
use policy::Verdict;
use store::events::{CountedBy, Grain};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

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
    /// How urgent something is.
    Severity = ["info", "low", "medium", "high", "critical"];
    /// In which order of time events are listed.
    EventOrder = ["desc", "asc"];
    /// What events are counted by.
    EventField = CountedBy::ALL.map(CountedBy::as_str);
    /// How long a bucket is.
    Interval = Grain::ALL.map(Grain::as_str);
    /// What the files of an export are.
    ExportFormat = Format::ALL.map(Format::as_str);
    /// How the files of an export are packed.
    ExportCompression = Compression::ALL.map(Compression::as_str);
    /// How far an export is.
    ExportState = ["queued", "running", "done", "failed", "canceled", "expired"];
    /// Where a delivery stands.
    DeliveryState = State::ALL.map(State::as_str);
    /// Why a delivery is held, failed or canceled.
    DeliveryReason = Reason::ALL.map(Reason::as_str);
    /// Why there is a delivery.
    DeliveryCause = [Cause::Match, Cause::Summary { suppressed: 1 }, Cause::Test].map(Cause::as_str);
    /// Why an attempt was made.
    AttemptTrigger = Trigger::ALL.map(Trigger::as_str);
    /// What came of an attempt.
    AttemptOutcome = [
        Outcome::Delivered, Outcome::Transient, Outcome::Rejected, Outcome::Redirect, Outcome::Permanent,
        Outcome::Gone, Outcome::Blocked, Outcome::OurFault,
    ].map(Outcome::as_str);
    /// In which states a delivery can be sent again.
    RecoverableState = State::RECOVERABLE.map(State::as_str);
    /// How far a recovery is.
    RecoveryState = ["running", "done", "canceled", "failed"];
    /// Whether an endpoint is sent to.
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
    /// Where a signing secret is in its life.
    SecretState = ["staged", "current", "previous", "dropped"];
    /// What is decided.
    DecisionWord = Verdict::ALL.map(Verdict::as_str);
    /// What a policy does when it applies.
    PolicyEffect = ["permit", "forbid"];
    /// What is answered when a decision cannot be recorded.
    FailModeWord = [FailMode::Closed, FailMode::Open].map(FailMode::as_str);
    /// What of approvals is listed.
    ApprovalStatus = [Status::Pending.as_str()];
    /// How an escalated decision ended.
    ApprovalOutcome = [Status::Approved, Status::Denied, Status::TimedOut].map(Status::as_str);
    /// What an allowed call is answered with.
    HookOnAllow = ["pass", "allow"];
    /// What becomes of a call that could not be decided about.
    HookOnError = ["deny", "ask", "pass"];
    /// What a version did to its rule.
    RuleChange = What::ALL.map(What::as_str);
    /// What part a person plays.
    MemberRole = Role::ALL.map(Role::as_str);
    /// What an API key may do.
    KeyScope = Scope::ALL.map(Scope::as_str);
    /// Each has a page in docs/errors.
    ErrorCodeWord = ErrorCode::ALL.iter().map(|code| code.as_str());
}

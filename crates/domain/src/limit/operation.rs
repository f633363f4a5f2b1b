//! What is limited.

/// One kind of request with a limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Sending events, per API key; a batch counts one.
    Ingest,
    /// Listing events, per API key or person. Nothing else counts here, nor in the others of the contract.
    List,
    /// Starting an export, per API key or person.
    Export,
    /// Asking for a decision, per API key.
    Decide,
    /// Creating and changing rules, per API key or person.
    RuleWrite,
    /// Signing in, per client address.
    Login,
    /// Registering, per client address.
    Register,
    /// Asking for a password reset, per client address.
    PasswordReset,
    /// Using a one-time token, per client address.
    Confirm,
    /// Presenting API keys or sessions that nobody knows, per client address and node.
    KeyLookup,
    /// Inviting people, per organization.
    Invite,
    /// Being told in the trail of refused logins, per account.
    RefusedLogin,
    /// Signing in, per account for all browsers together that are not known to it, and per browser that is.
    LoginElsewhere,
    /// Changing one's password, and whatever else takes it, per person.
    PasswordChange,
    /// Being sent mail, by whomever it was caused, per kind of mail and recipient.
    MailTo,
    /// Making and rotating API keys, per person.
    KeyWrite,
    /// Trying rules: test, backtest, trigger and suggest, and asking endpoints for their challenge, per API key or person.
    RuleTry,
    /// Trying a rule on the newest events, as people do while they write one, per API key or person.
    RulePreview,
    /// Writing versions of policies and putting them in force, per API key or person.
    PolicyWrite,
    /// Trying policies: validate, test, backtest and the report of a shadow, per API key or person.
    PolicyTry,
    /// Opening streams, of events and of what waits for approval, per API key or person.
    Stream,
    /// Counting events: statistics, facets and the overview, per API key or person.
    Stats,
    /// Asking for decisions in the words of AuthZEN, per API key.
    Evaluate,
    /// Asking for a decision by the hook of a coding agent, per API key.
    HookDecide,
    /// Sending events by the hook of a coding agent, per API key.
    HookIngest,
    /// Reading anything else, per API key or person.
    Read,
    /// Changing anything else, per API key or person.
    Write,
    /// What anybody may read, per client address and node.
    Public,
}

/// What a node does with an operation's limit while it cannot reach the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenAlone {
    /// Grants the whole limit by itself: audit data is never refused because the limiter is down.
    Full,
    /// Is always alone: it protects the node itself, and nodes do not count it together.
    Always,
    /// Grants its share, the limit divided by the number of nodes: guessing passwords must not
    /// become easier because the limiter is down.
    Share,
}

impl Operation {
    pub const ALL: [Self; 28] = [
        Self::Ingest,
        Self::List,
        Self::Export,
        Self::Decide,
        Self::RuleWrite,
        Self::Login,
        Self::Register,
        Self::PasswordReset,
        Self::Confirm,
        Self::KeyLookup,
        Self::Invite,
        Self::RefusedLogin,
        Self::LoginElsewhere,
        Self::PasswordChange,
        Self::MailTo,
        Self::KeyWrite,
        Self::RuleTry,
        Self::RulePreview,
        Self::PolicyWrite,
        Self::PolicyTry,
        Self::Stream,
        Self::Stats,
        Self::Evaluate,
        Self::HookDecide,
        Self::HookIngest,
        Self::Read,
        Self::Write,
        Self::Public,
    ];

    /// The policy's name, in headers, settings and Redis keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::List => "list",
            Self::Export => "export",
            Self::Decide => "decisions",
            Self::RuleWrite => "rule_writes",
            Self::Login => "login",
            Self::Register => "register",
            Self::PasswordReset => "password_reset",
            Self::Confirm => "confirm",
            Self::KeyLookup => "key_lookups",
            Self::Invite => "invitations",
            Self::RefusedLogin => "refused_logins",
            Self::LoginElsewhere => "login_elsewhere",
            Self::PasswordChange => "password_changes",
            Self::MailTo => "mails",
            Self::KeyWrite => "key_writes",
            Self::RuleTry => "rule_tries",
            Self::RulePreview => "rule_previews",
            Self::PolicyWrite => "policy_writes",
            Self::PolicyTry => "policy_tries",
            Self::Stream => "streams",
            Self::Stats => "stats",
            Self::Evaluate => "evaluations",
            Self::HookDecide => "hook_decisions",
            Self::HookIngest => "hook_events",
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Public => "public",
        }
    }

    /// What it is in a sentence: "the limit for ... is used up".
    pub const fn about(self) -> &'static str {
        match self {
            Self::Ingest => "sending events",
            Self::List => "listing events",
            Self::Export => "exporting events",
            Self::Decide => "asking for decisions",
            Self::RuleWrite => "creating and changing alert rules",
            Self::Login => "logging in from this address",
            Self::Register => "registering from this address",
            Self::PasswordReset => "resetting passwords from this address",
            Self::Confirm => "using links from this address",
            Self::KeyLookup => "presenting unknown API keys and sessions from this address",
            Self::Invite => "inviting people to this organization",
            Self::RefusedLogin => "recording refused logins for this account",
            Self::LoginElsewhere => "logging in with this email address",
            Self::PasswordChange => "confirming your password",
            Self::MailTo => "mail to this address",
            Self::KeyWrite => "creating and rotating API keys",
            Self::RuleTry => "testing alert rules and verifying endpoints",
            Self::RulePreview => "previewing alert rules",
            Self::PolicyWrite => "writing and activating policies",
            Self::PolicyTry => "testing policies",
            Self::Stream => "opening streams",
            Self::Stats => "counting events",
            Self::Evaluate => "asking for evaluations",
            Self::HookDecide => "asking for decisions through hooks",
            Self::HookIngest => "sending events through hooks",
            Self::Read => "reading",
            Self::Write => "making changes",
            Self::Public => "reading public information from this address",
        }
    }

    /// Whether nodes count it together.
    pub fn is_shared(self) -> bool {
        self.when_alone() != WhenAlone::Always
    }

    pub const fn when_alone(self) -> WhenAlone {
        match self {
            Self::Ingest
            | Self::List
            | Self::Decide
            | Self::Stream
            | Self::Stats
            | Self::Evaluate
            | Self::HookDecide
            | Self::HookIngest
            | Self::Read => WhenAlone::Full,
            Self::KeyLookup | Self::Public => WhenAlone::Always,
            Self::Export
            | Self::RuleWrite
            | Self::Login
            | Self::Register
            | Self::PasswordReset
            | Self::Confirm
            | Self::Invite
            | Self::RefusedLogin
            | Self::LoginElsewhere
            | Self::PasswordChange
            | Self::MailTo
            | Self::KeyWrite
            | Self::RuleTry
            | Self::RulePreview
            | Self::PolicyWrite
            | Self::PolicyTry
            | Self::Write => WhenAlone::Share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_data_is_never_refused_because_the_limiter_is_down() {
        let full: Vec<Operation> = Operation::ALL
            .into_iter()
            .filter(|one| one.when_alone() == WhenAlone::Full)
            .collect();
        assert_eq!(
            full,
            [
                Operation::Ingest,
                Operation::List,
                Operation::Decide,
                Operation::Stream,
                Operation::Stats,
                Operation::Evaluate,
                Operation::HookDecide,
                Operation::HookIngest,
                Operation::Read
            ]
        );
    }
}

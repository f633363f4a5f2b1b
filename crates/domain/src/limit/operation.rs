//! What is limited, and how much of it one caller may do.

use std::{num::NonZeroU32, time::Duration};

use super::Quota;

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

    /// The default: section 8 of the specification. The others are ours. A one-time token cannot
    /// be guessed, so `confirm` only bounds the noise; `key_lookups` bounds what inventing keys costs
    /// the journal and the database. `invitations` and `mails` bound the mail that somebody with an
    /// account, or without, can have us send: more than a team makes in a day, and more than a person
    /// asks for. `refused_logins` bounds what a stranger can write into somebody's trail. `login_elsewhere`
    /// is for guesses that come from many addresses: more than a person needs, and too few to find anything; `password_changes`
    /// is for those of somebody who found a session open. `key_writes`
    /// bounds the keys that somebody leaves behind, and `rule_tries` what reads the whole trail or sends
    /// something; `policy_writes` and `policy_tries` do the same for policies. `rule_previews` is more,
    /// because an editor asks whenever somebody pauses. `streams`, `stats`, `evaluations`, `hook_decisions` and `hook_events` are near
    /// to a row of the specification without being it, so they take nothing from it. `reads`, `writes` and `public` are for whatever has no limit of its
    /// own: far above what a person or a script needs.
    pub const fn quota(self) -> Quota {
        match self {
            Self::Ingest | Self::HookIngest | Self::Read => quota(600, MINUTE),
            Self::List | Self::Stream | Self::Stats | Self::RulePreview | Self::Write => {
                quota(120, MINUTE)
            }
            Self::Export => quota(10, MINUTE),
            Self::Decide | Self::Evaluate | Self::HookDecide => quota(5_000, MINUTE),
            Self::RuleWrite | Self::RuleTry | Self::PolicyWrite | Self::PolicyTry => {
                quota(20, MINUTE)
            }
            Self::Login | Self::PasswordChange => quota(10, 15 * MINUTE),
            Self::Register | Self::PasswordReset => quota(3, 60 * MINUTE),
            Self::Confirm => quota(30, 15 * MINUTE),
            Self::KeyLookup | Self::Public => quota(6_000, MINUTE),
            Self::RefusedLogin => quota(20, 60 * MINUTE),
            Self::LoginElsewhere => quota(60, 60 * MINUTE),
            Self::Invite => quota(50, DAY),
            Self::MailTo => quota(10, DAY),
            Self::KeyWrite => quota(60, MINUTE),
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

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

const fn quota(count: u32, window_s: u64) -> Quota {
    Quota {
        count: NonZeroU32::new(count).expect("the defaults above are not zero"),
        window: Duration::from_secs(window_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_specification() {
        let defaults: Vec<String> = Operation::ALL
            .iter()
            .map(|one| format!("{} {}", one.as_str(), one.quota()))
            .collect();
        assert_eq!(
            defaults,
            [
                "ingest 600/60s",
                "list 120/60s",
                "export 10/60s",
                "decisions 5000/60s",
                "rule_writes 20/60s",
                "login 10/15m",
                "register 3/1h",
                "password_reset 3/1h",
                "confirm 30/15m",
                "key_lookups 6000/60s",
                "invitations 50/24h",
                "refused_logins 20/1h",
                "login_elsewhere 60/1h",
                "password_changes 10/15m",
                "mails 10/24h",
                "key_writes 60/60s",
                "rule_tries 20/60s",
                "rule_previews 120/60s",
                "policy_writes 20/60s",
                "policy_tries 20/60s",
                "streams 120/60s",
                "stats 120/60s",
                "evaluations 5000/60s",
                "hook_decisions 5000/60s",
                "hook_events 600/60s",
                "reads 600/60s",
                "writes 120/60s",
                "public 6000/60s",
            ]
        );
    }

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

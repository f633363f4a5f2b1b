//! The settings `limits.*`.

use domain::limit::{Operation, Quota};
use serde::{Deserialize, Serialize};

/// How much one caller may do, by operation.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub ingest: Quota,
    pub list: Quota,
    pub export: Quota,
    pub decisions: Quota,
    pub rule_writes: Quota,
    pub login: Quota,
    pub register: Quota,
    pub password_reset: Quota,
    pub confirm: Quota,
    pub key_lookups: Quota,
    pub invitations: Quota,
    pub refused_logins: Quota,
    pub login_elsewhere: Quota,
    pub password_changes: Quota,
    pub mails: Quota,
    pub key_writes: Quota,
    pub rule_tries: Quota,
    pub rule_previews: Quota,
    pub policy_writes: Quota,
    pub policy_tries: Quota,
    pub streams: Quota,
    pub stats: Quota,
    pub evaluations: Quota,
    pub hook_decisions: Quota,
    pub hook_events: Quota,
    pub reads: Quota,
    pub writes: Quota,
    pub public: Quota,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ingest: Operation::Ingest.quota(),
            list: Operation::List.quota(),
            export: Operation::Export.quota(),
            decisions: Operation::Decide.quota(),
            rule_writes: Operation::RuleWrite.quota(),
            login: Operation::Login.quota(),
            register: Operation::Register.quota(),
            password_reset: Operation::PasswordReset.quota(),
            confirm: Operation::Confirm.quota(),
            key_lookups: Operation::KeyLookup.quota(),
            invitations: Operation::Invite.quota(),
            refused_logins: Operation::RefusedLogin.quota(),
            login_elsewhere: Operation::LoginElsewhere.quota(),
            password_changes: Operation::PasswordChange.quota(),
            mails: Operation::MailTo.quota(),
            key_writes: Operation::KeyWrite.quota(),
            rule_tries: Operation::RuleTry.quota(),
            rule_previews: Operation::RulePreview.quota(),
            policy_writes: Operation::PolicyWrite.quota(),
            policy_tries: Operation::PolicyTry.quota(),
            streams: Operation::Stream.quota(),
            stats: Operation::Stats.quota(),
            evaluations: Operation::Evaluate.quota(),
            hook_decisions: Operation::HookDecide.quota(),
            hook_events: Operation::HookIngest.quota(),
            reads: Operation::Read.quota(),
            writes: Operation::Write.quota(),
            public: Operation::Public.quota(),
        }
    }
}

impl Limits {
    pub fn quota(&self, operation: Operation) -> Quota {
        match operation {
            Operation::Ingest => self.ingest,
            Operation::List => self.list,
            Operation::Export => self.export,
            Operation::Decide => self.decisions,
            Operation::RuleWrite => self.rule_writes,
            Operation::Login => self.login,
            Operation::Register => self.register,
            Operation::PasswordReset => self.password_reset,
            Operation::Confirm => self.confirm,
            Operation::KeyLookup => self.key_lookups,
            Operation::Invite => self.invitations,
            Operation::RefusedLogin => self.refused_logins,
            Operation::LoginElsewhere => self.login_elsewhere,
            Operation::PasswordChange => self.password_changes,
            Operation::MailTo => self.mails,
            Operation::KeyWrite => self.key_writes,
            Operation::RuleTry => self.rule_tries,
            Operation::RulePreview => self.rule_previews,
            Operation::PolicyWrite => self.policy_writes,
            Operation::PolicyTry => self.policy_tries,
            Operation::Stream => self.streams,
            Operation::Stats => self.stats,
            Operation::Evaluate => self.evaluations,
            Operation::HookDecide => self.hook_decisions,
            Operation::HookIngest => self.hook_events,
            Operation::Read => self.reads,
            Operation::Write => self.writes,
            Operation::Public => self.public,
        }
    }
}

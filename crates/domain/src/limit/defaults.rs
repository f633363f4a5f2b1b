//! How much of each operation one caller may do unless the settings say otherwise.

use std::{num::NonZeroU32, time::Duration};

use super::{Operation, Quota};

impl Operation {
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
}

//! The types of the server's own events. No client sends one: what they say is believed.

use crate::{
    approval,
    delivery::{endpoint, failure_event},
    disobeyed_decision, policy_state, rule, secret,
};

/// The `event_type` of a decision.
pub const DECISION: &str = "decision";
/// The `event_type` of an export that was asked for.
pub const EXPORT: &str = "export";
/// The `event_type` of an erasure; its `metadata.ids` names the events that were erased.
pub const ERASURE: &str = "erasure";

/// All of them. Those that people's accounts are about have their names in [`crate::account::security_log`].
pub const RESERVED: [&str; 14] = [
    DECISION,
    approval::EVENT_TYPE,
    disobeyed_decision::EVENT_TYPE,
    "login",
    "key_rotation",
    "permission_change",
    "view_change",
    EXPORT,
    ERASURE,
    policy_state::EVENT_TYPE,
    rule::change::EVENT_TYPE,
    failure_event::EVENT_TYPE,
    endpoint::EVENT_TYPE,
    secret::EVENT_TYPE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::security_log::What;

    #[test]
    fn what_happens_to_accounts_is_told_by_the_server_alone() {
        for what in What::ALL {
            assert!(RESERVED.contains(&what.event_type()), "{what:?}");
        }
    }
}

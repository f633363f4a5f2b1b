//! The error codes that only an operation's own handler answers; those that follow from what it takes are in
//! [`super::errors`].

use domain::error_code::ErrorCode::{
    self, Conflict, Forbidden, Gone, LastOwner, LimitReached, NotConfigured, NotFound,
    NotInEffectYet, Overloaded, RateLimited, RequestTimeout, StateConflict, StoreUnavailable,
    TokenInvalid, TooExpensive, Unauthenticated,
};

/// A search waits for its turn, and the database may give it up.
const SEARCH: &[ErrorCode] = &[TooExpensive, Overloaded];
/// Long answers, of which an organization and a node have so many at a time.
const LONG_ANSWER: &[ErrorCode] = &[LimitReached, Overloaded];
/// A decision that is not in memory is searched for in the trail.
const LONG_ANSWER_AND_SEARCH: &[ErrorCode] = &[LimitReached, TooExpensive, Overloaded];
/// Saved, and then announced to every node.
const ANNOUNCED: &[ErrorCode] = &[NotInEffectYet];
const ANNOUNCED_BY_STATE: &[ErrorCode] = &[StateConflict, NotInEffectYet];
const ANNOUNCED_CHANGE: &[ErrorCode] = &[Conflict, LimitReached, NotInEffectYet];
/// Nobody is asked who they are, so these do not follow from that.
const PUBLIC: &[ErrorCode] = &[RateLimited];
const PUBLIC_FILE: &[ErrorCode] = &[RateLimited, RequestTimeout, StoreUnavailable];
const REGISTRATION: &[ErrorCode] = &[Forbidden, RateLimited, StoreUnavailable];
const MAILED_LINK: &[ErrorCode] = &[TokenInvalid, RateLimited, StoreUnavailable];
const MAILED_LINK_CLOSED: &[ErrorCode] = &[TokenInvalid, Forbidden, RateLimited, StoreUnavailable];
/// The organization or the member was deleted while the request was on its way.
const ONES_OWN: &[ErrorCode] = &[NotFound];

/// There is no log, or nothing in it yet.
const NOT_KEPT_YET: &[ErrorCode] = &[NotConfigured, NotFound];

/// What the handler of an operation can answer by itself.
const OWN: &[(&str, &[ErrorCode])] = &[
    // Documents and accounts.
    ("get_well_known_authzen_configuration", PUBLIC),
    ("get_openapi_json", PUBLIC),
    ("get_about", PUBLIC),
    ("auth_register", REGISTRATION),
    ("auth_verify_email", MAILED_LINK_CLOSED),
    ("auth_accept_invitation", MAILED_LINK_CLOSED),
    ("auth_password_reset_confirm", MAILED_LINK),
    ("auth_password_reset", PUBLIC),
    (
        "auth_login",
        &[Unauthenticated, RateLimited, StoreUnavailable],
    ),
    (
        "auth_logout",
        &[Forbidden, RateLimited, RequestTimeout, StoreUnavailable],
    ),
    ("get_me", ONES_OWN),
    ("get_org", ONES_OWN),
    ("update_org", ONES_OWN),
    ("org_deletion", ONES_OWN),
    ("me_password", &[NotFound, Conflict]),
    ("delete_org_deletion", &[NotFound, StateConflict]),
    ("update_member", &[LastOwner]),
    ("delete_member", &[LastOwner, NotInEffectYet]),
    ("create_invitation", &[NotFound, LimitReached]),
    ("create_api_key", &[LimitReached, NotInEffectYet]),
    ("api_key_rotate", ANNOUNCED_CHANGE),
    ("delete_api_key", ANNOUNCED),
    ("create_view", &[LimitReached]),
    // Events and exports.
    ("list_audit_events", SEARCH),
    ("get_audit_stats", SEARCH),
    ("get_audit_facets", SEARCH),
    ("get_overview", SEARCH),
    ("get_audit_events_stream", LONG_ANSWER),
    ("audit_export", &[NotFound, LimitReached, NotConfigured]),
    ("get_audit_export_file", PUBLIC_FILE),
    ("get_audit_event", &[Gone]),
    ("create_audit_erasure", &[LimitReached, NotFound]),
    // The transparency log.
    ("get_audit_event_proof", &[Gone, NotConfigured]),
    ("get_delivery_proof", &[NotConfigured]),
    ("get_log_checkpoint", NOT_KEPT_YET),
    ("get_log_keys", NOT_KEPT_YET),
    ("get_log_tile", &[NotConfigured]),
    ("get_log_witnesses", NOT_KEPT_YET),
    ("get_log", NOT_KEPT_YET),
    ("update_log", NOT_KEPT_YET),
    ("get_public_log_checkpoint", NOT_KEPT_YET),
    ("get_public_log_keys", NOT_KEPT_YET),
    ("get_public_log_tile", NOT_KEPT_YET),
    // Alert rules.
    (
        "create_alert_rule",
        &[NotFound, LimitReached, NotInEffectYet],
    ),
    ("replace_alert_rule", ANNOUNCED_CHANGE),
    ("update_alert_rule", ANNOUNCED_CHANGE),
    ("delete_alert_rule", &[Conflict, NotInEffectYet]),
    ("alert_rules_backtest", &[LimitReached]),
    ("alert_rule_backtest", &[LimitReached]),
    ("alert_rules_preview", &[NotFound, TooExpensive]),
    ("alert_rules_suggest", &[NotFound]),
    ("alert_rules_test", &[NotFound]),
    // Deliveries.
    ("list_deliveries", SEARCH),
    ("get_alert_rule_balance", SEARCH),
    ("alert_rule_recover", &[LimitReached, TooExpensive]),
    ("delivery_cancel", &[StateConflict, Overloaded]),
    ("delivery_resend", &[StateConflict, Gone, Overloaded]),
    ("list_endpoints", SEARCH),
    ("endpoint_pause", &[Conflict, Overloaded]),
    ("endpoint_resume", &[Conflict, Overloaded]),
    ("endpoint_verify", &[StateConflict]),
    (
        "create_signing_secret",
        &[StateConflict, NotConfigured, NotInEffectYet],
    ),
    ("get_signing_secrets_initial", &[NotConfigured]),
    ("signing_secret_promote", ANNOUNCED_BY_STATE),
    ("delete_signing_secret", ANNOUNCED_BY_STATE),
    // Policies.
    ("update_policies", ANNOUNCED),
    ("policies_version_activate", ANNOUNCED_BY_STATE),
    ("policies_version_shadow", ANNOUNCED_BY_STATE),
    ("policies_rollback", ANNOUNCED_BY_STATE),
    ("delete_policies_shadow", ANNOUNCED),
    ("create_policies_version", &[LimitReached]),
    ("get_policies_version_diff", &[Overloaded]),
    ("get_policies_shadow", &[NotFound, LimitReached, Overloaded]),
    ("policies_version_backtest", &[LimitReached]),
    ("policies_test", &[NotFound]),
    // Decisions and approvals.
    ("get_runtime_decision", LONG_ANSWER_AND_SEARCH),
    ("get_runtime_decision_stream", LONG_ANSWER_AND_SEARCH),
    ("get_runtime_approvals_stream", LONG_ANSWER),
    ("get_runtime_approval", SEARCH),
    ("runtime_decision_resolve", &[StateConflict, TooExpensive]),
];

pub(super) fn of(operation_id: &str) -> &'static [ErrorCode] {
    let own = OWN.iter().find(|(id, _)| *id == operation_id);
    own.map_or(&[], |(_, codes)| codes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use utoipa::OpenApi as _;

    use super::*;
    use crate::openapi::{document::Document, errors};

    #[test]
    fn every_operation_on_the_list_exists_and_is_there_once() {
        let mut paths = Document::openapi().paths.paths;
        let operations = paths.values_mut().flat_map(errors::operations);
        let known: BTreeSet<String> = operations
            .filter_map(|(_, operation)| operation.operation_id.clone())
            .collect();
        let mut listed = BTreeSet::new();
        for (id, _) in OWN {
            assert!(known.contains(*id), "there is no operation {id}");
            assert!(listed.insert(id), "{id} is there twice");
        }
    }
}

//! Which methods pass without a decision: those of the revisions 2025-03-26 to 2026-07-28 that call no tool.
//!
//! COAZ-MCP, the mapping of MCP that the AuthZEN working group drafts, asks for the same: what is not known is denied, so that no
//! later revision opens a door that nobody guards.

/// The method that is decided about.
pub(super) const TOOLS_CALL: &str = "tools/call";
/// The method that says which tools there are.
pub(super) const TOOLS_LIST: &str = "tools/list";
/// The notification that a request is given up.
pub(super) const CANCELED: &str = "notifications/cancelled";
/// The method that begins a session, up to 2025-11-25.
pub(super) const INITIALIZE: &str = "initialize";

/// What clients ask of servers, besides calls and lists of tools.
const PASSING: [&str; 19] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    // Instead of `initialize`, since 2026-07-28.
    "server/discover",
    "subscriptions/listen",
    // Calls that go on by themselves, since 2025-11-25; they begin with `tools/call`.
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tasks/update",
    TOOLS_LIST,
];

pub(super) fn passes(method: &str) -> bool {
    PASSING.contains(&method)
}

pub(super) fn is_notification(method: &str) -> bool {
    method.starts_with("notifications/")
}

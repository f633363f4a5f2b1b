//! Alert rules of the demo: one that works, one whose endpoint is broken, one that is tried out, one that rests.

use serde_json::json;

use super::client::Client;

/// Makes the rules; beside them is the one that `watchbell dev` always makes.
pub(super) async fn make_rules(client: &Client, receiver: &str) -> anyhow::Result<()> {
    let broken = format!("{receiver}/broken");
    let rules = [
        json!({
            "name": "Large payments",
            "description": "More than 600 EUR that an agent moved on its own.",
            "match": {"event_type": ["tool_call"], "metadata": {"amount": [{"numeric": [">=", 60_000]}]}, "result": ["success"]},
            "url": receiver, "severity": "high", "tags": ["billing", "finance"],
            "runbook_url": "https://example.com/runbooks/large-payments",
        }),
        json!({
            "name": "Closed tickets, to the old ticket system",
            "description": "Its endpoint has been failing since the ticket system moved.",
            "match": {"event_type": ["tool_call"], "action": ["tickets.close"]},
            "url": broken, "severity": "medium", "tags": ["support"],
        }),
        json!({
            "name": "An agent that keeps failing",
            "description": "Three errors from one agent within an hour; alerts at most once an hour.",
            "match": {"result": ["error"]},
            "threshold": {"count": 3, "window_s": 3_600, "group_by": ["agent_id"]},
            "suppress": {"for_s": 3_600, "group_by": ["agent_id"]},
            "url": receiver, "severity": "critical", "tags": ["platform"],
        }),
        json!({
            "name": "Secrets that were read",
            "description": "In shadow mode: recorded, not sent.",
            "match": {"action": ["secrets.read"]},
            "url": receiver, "severity": "high", "shadow": true, "tags": ["security"],
        }),
        json!({
            "name": "Deployments on Fridays",
            "description": "Disabled until the next freeze.",
            "match": {"action": ["deployments.create"]},
            "url": receiver, "enabled": false, "tags": ["platform"],
        }),
    ];
    for rule in &rules {
        client.post("/v1/alert-rules", rule).await?;
    }
    Ok(())
}

//! Colleagues of the demo's owner, and the keys that the agents of each team use.

use anyhow::Context as _;
use serde_json::json;

use super::client::Client;

/// The password of everybody who is invited here.
const PASSWORD: &str = "only for the demo";
const PEOPLE: [(&str, &str); 2] = [
    ("maya@example.com", "admin"),
    ("jonas@example.com", "viewer"),
];
const KEYS: [(&str, &[&str]); 4] = [
    ("billing agents", &["events:write", "decisions:write"]),
    ("support agents", &["events:write", "decisions:write"]),
    ("warehouse export", &["events:read", "events:export"]),
    ("terraform", &["rules:read", "rules:write"]),
];

pub(super) async fn settle(client: &Client) -> anyhow::Result<()> {
    for (email, role) in PEOPLE {
        let invitation = json!({"email": email, "role": role});
        let invited = client.post_as_owner("/v1/invitations", &invitation).await?;
        // A server that sends no mail hands the link over with the answer.
        let link = invited["link"].as_str().unwrap_or_default();
        let (_, token) = link
            .split_once("#token=")
            .context("the invitation link has no token")?;
        let accepted = json!({"token": token, "password": PASSWORD});
        client.post("/v1/auth/accept-invitation", &accepted).await?;
    }
    for (name, scopes) in KEYS {
        let key = json!({"name": name, "scopes": scopes});
        client.post_as_owner("/v1/api-keys", &key).await?;
    }
    Ok(())
}

//! The alert rule of `watchbell listen --match`: made when it begins, deleted when it ends.

use anyhow::Context as _;
use domain::RuleId;
use serde_json::{Value, json};

use crate::{api::Api, output::note};

pub(super) struct TemporaryRule {
    api: Api,
    id: RuleId,
}

impl TemporaryRule {
    pub(super) async fn make(api: Api, pattern: &Value, url: &str) -> anyhow::Result<Self> {
        let rule = json!({
            "name": "watchbell listen",
            "description": "Created by `watchbell listen` while it runs.",
            "match": pattern,
            "url": url,
        });
        let made = api.post("/v1/alert-rules").json(&rule).value().await;
        let made = made.context("the rule was not created")?;
        let id = made["id"].as_str().context("the rule has no id")?.parse()?;
        Ok(Self { api, id })
    }

    pub(super) fn id(&self) -> RuleId {
        self.id
    }

    pub(super) async fn delete(self) -> anyhow::Result<()> {
        let path = format!("/v1/alert-rules/{}", self.id);
        let deleted = self.api.delete(&path).repeating().send().await;
        deleted.with_context(|| {
            format!(
                "{0} was not deleted; delete it: watchbell rules delete {0}",
                self.id
            )
        })?;
        note(format_args!("watchbell: deleted {}", self.id));
        Ok(())
    }
}

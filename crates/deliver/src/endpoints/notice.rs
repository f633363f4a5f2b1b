//! What happens to an endpoint is an event of the trail, so that rules and people can watch for it.

use std::time::Duration;

use domain::{
    EndpointId, Timestamp,
    delivery::endpoint::{EVENT_TYPE, Notice, event_tail},
    event::{Source, accept::Arrival},
};
use journal::{
    appenders::Appenders,
    record::EndpointNoticed,
    system_events::{Unrecorded, record_patiently},
};
use serde::Serialize;

/// Tells the trail what becomes of endpoints. Cheap to clone.
#[derive(Clone)]
pub struct Notices {
    events: Appenders,
    retention: Duration,
}

#[derive(Serialize)]
struct EndpointEvent<'a> {
    event_type: &'static str,
    agent_id: &'a str,
    action: &'static str,
    result: &'static str,
    occurred_at: Timestamp,
    resource: String,
    metadata: EndpointMetadata<'a>,
}

#[derive(Serialize)]
struct EndpointMetadata<'a> {
    endpoint_id: EndpointId,
    url: &'a str,
    notice: Notice,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Notices {
    pub fn new(events: Appenders, retention: Duration) -> Self {
        Self { events, retention }
    }

    /// Recorded again, after a crash, it is the same event.
    pub async fn tell(&self, noticed: &EndpointNoticed) -> Result<(), Unrecorded> {
        self.tell_of(noticed, "watchbell").await
    }

    /// The same of what somebody did.
    pub async fn tell_of(&self, noticed: &EndpointNoticed, by: &str) -> Result<(), Unrecorded> {
        let (action, result) = match noticed.notice {
            Notice::BreakerOpened => ("endpoints.open", "error"),
            Notice::BreakerClosed => ("endpoints.close", "success"),
            Notice::FailingFor15Minutes | Notice::FailingForAnHour | Notice::FailingForADay => {
                ("endpoints.fail", "error")
            }
            Notice::Rejecting => ("endpoints.reject", "error"),
            Notice::Redirecting => ("endpoints.redirect", "error"),
            Notice::Disabled => ("endpoints.disable", "error"),
            Notice::Paused => ("endpoints.pause", "success"),
            Notice::Resumed => ("endpoints.resume", "success"),
            Notice::Unverified => ("endpoints.verify", "error"),
            Notice::Verified => ("endpoints.verify", "success"),
        };
        let endpoint = &noticed.endpoint;
        let event = EndpointEvent {
            event_type: EVENT_TYPE,
            agent_id: by,
            action,
            result,
            occurred_at: noticed.at,
            resource: format!("endpoint:{}", endpoint.id),
            metadata: EndpointMetadata {
                endpoint_id: endpoint.id,
                url: &endpoint.url,
                notice: noticed.notice,
                error: noticed.error.as_deref(),
            },
        };
        let arrival = Arrival {
            org: endpoint.org_id,
            source: Source::Server,
            received_at: noticed.at,
            retention: self.retention,
        };
        let tail = event_tail(endpoint.id, noticed.notice);
        record_patiently(tail, &self.events, &arrival, &event).await?;
        Ok(())
    }
}

//! The bare sender: signed POSTs of one body on connections that are kept, and nothing else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::ensure;
use bytes::Bytes;
use domain::{RuleId, Timestamp, delivery::body::body};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, header};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use testkit::Receiver;
use uuid::Uuid;

use crate::{
    events,
    lanes::{self, Figures},
    server::SECRET,
};

/// As the product keeps them.
const IDLE_MAX: usize = 8;
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Posts an alert about `event` to this many endpoints in turn, each signed afresh.
pub(crate) async fn post(
    receiver: &Receiver,
    endpoints: usize,
    event: String,
    in_flight: usize,
    lasting: Duration,
) -> anyhow::Result<Figures> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_MAX * endpoints)
        .pool_timer(TokioTimer::new())
        .build(connector);
    let urls = (0..endpoints).map(|number| receiver.url_of(&format!("/bare/{number}")));
    let (urls, turn) = (
        Arc::new(urls.collect::<Vec<_>>()),
        Arc::new(AtomicUsize::new(0)),
    );
    let event = Arc::new(event);
    lanes::run(in_flight, lasting, 1, move || {
        let (client, event, urls) = (client.clone(), Arc::clone(&event), Arc::clone(&urls));
        let number = turn.fetch_add(1, Ordering::Relaxed);
        async move {
            let request = signed(&urls[number % urls.len()], number, &event)?;
            let answer = client.request(request).await?;
            ensure!(answer.status().is_success(), "{}", answer.status());
            answer.into_body().collect().await?;
            Ok(())
        }
    })
    .await
}

fn signed(url: &str, number: usize, event: &str) -> anyhow::Result<Request<Full<Bytes>>> {
    let now = Timestamp::from_unix_millis(events::now());
    let rule = RuleId::from_uuid(Uuid::from_u128(1));
    let body = body(rule, "Endpoint 1", event, now);
    let at = now.to_string();
    let signature = webhook_signature::sign(SECRET.as_bytes(), &at, body.as_bytes());
    Ok(Request::post(url)
        .header(header::CONTENT_TYPE, "application/json")
        .header(webhook_signature::DELIVERY_ID_HEADER, number)
        .header(webhook_signature::TIMESTAMP_HEADER, at)
        .header(webhook_signature::SIGNATURE_HEADER, signature)
        .body(Full::new(Bytes::from(body)))?)
}

//! The bare journal: the same bytes, published and acknowledged, one message for each request.

use std::time::Duration;

use async_nats::jetstream::{self, stream};
use bytes::Bytes;

use crate::lanes::{self, Figures};

pub(crate) async fn publish(
    url: &str,
    payload: Bytes,
    per_request: usize,
    lanes: usize,
    duration: Duration,
) -> anyhow::Result<Figures> {
    const STREAM: &str = "bare";
    let context = jetstream::new(async_nats::connect(url).await?);
    let config = stream::Config {
        name: STREAM.to_owned(),
        subjects: vec![STREAM.to_owned()],
        storage: stream::StorageType::File,
        ..stream::Config::default()
    };
    context.create_stream(config).await?;
    let publisher = context.clone();
    let figures = lanes::run(lanes, duration, per_request, move || {
        let (publisher, payload) = (publisher.clone(), payload.clone());
        async move {
            publisher.publish(STREAM, payload).await?.await?;
            Ok(())
        }
    })
    .await?;
    context.delete_stream(STREAM).await?;
    Ok(figures)
}

//! Logs as lines of JSON (or text), and traces by OTLP when the standard variables ask for them.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing_subscriber::{
    EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use super::in_request::WithRequest;
use crate::config::{self, LogFormat};

/// Held by the command; when it goes, the last spans are sent.
#[must_use = "dropping it ends telemetry"]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

/// Starts logs and traces. Lines go to standard error: standard output belongs to the commands.
pub fn start(settings: &config::Log) -> anyhow::Result<Telemetry> {
    let filter = EnvFilter::try_new(&settings.filter).context("read log.filter")?;
    let traces = config::otel_is_configured().then(exporter).transpose()?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match settings.format {
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            // Where no spans are made, a line's request takes their place.
            .with_span_list(traces.is_some())
            .map_event_format(WithRequest)
            .boxed(),
        LogFormat::Text => lines
            .with_ansi(has_colors())
            .map_event_format(|format| WithRequest(format.with_ansi(has_colors())))
            .boxed(),
    };
    let spans = traces
        .as_ref()
        .map(|provider| tracing_opentelemetry::layer().with_tracer(provider.tracer("watchbell")));
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .with(spans)
        .try_init()
        .context("start logging")?;
    // A panic in a task of its own, such as one delivery's, would otherwise be a bare line among JSON.
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(%panic, "a task panicked");
    }));
    Ok(Telemetry { traces })
}

/// Whether somebody looks at the lines, and wants them in color: by default they are colored wherever they go.
fn has_colors() -> bool {
    let is_unwanted = config::standard_variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !is_unwanted
}

/// The exporter reads `OTEL_*` itself; only the service's name is ours unless it is set.
fn exporter() -> anyhow::Result<SdkTracerProvider> {
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .build()
        .context("start the OTLP trace exporter")?;
    let mut resource = Resource::builder();
    if config::standard_variable("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("watchbell");
    }
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .build())
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.traces.as_ref().map(SdkTracerProvider::shutdown) {
            tracing::warn!(%error, "the last spans could not be sent");
        }
    }
}

//! Sends an export as it is read: in constant memory, and no faster than the client takes it.

use std::time::Duration;

use archive::{FileWriter, Finished};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use domain::error_code::ErrorCode;
use futures::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use runtime::error_chain::chain;
use tokio::{task::spawn_blocking, time::Instant};

use super::{
    bundle::{self, BundleFile, Contents, Kept, Piece},
    create::unproven,
    format::FileFormat,
    plan::Plan,
    request::ExportRequest,
    source::{self, Ahead, Batch, Source},
};
use crate::{
    edge::{
        Problem,
        caller::EventsExport,
        recheck_auth::{ASK_EVERY, AuthRecheck},
        slots::Slot,
    },
    planes::ControlPlane,
    telemetry::metrics as names,
};

/// What goes out at a time: so little that a client that takes it drop by drop is seen soon.
const FRAME_BYTES: usize = 32 * 1024;
/// So much must go out while we wait so long for the client, or it holds one of few slots for ever.
const PACE_BYTES: usize = 1024 * 1024;
const PACE_TIME: Duration = Duration::from_secs(60);

const EVENTS: HeaderName = HeaderName::from_static("watchbell-export-events");
const SHA256: HeaderName = HeaderName::from_static("watchbell-export-sha256");

/// Why an export was cut off.
#[derive(Debug, thiserror::Error)]
enum CutOff {
    #[error(transparent)]
    Source(#[from] source::Error),
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
    #[error(transparent)]
    Writing(#[from] archive::Error),
    #[error("the caller is no longer authorized")]
    Revoked,
    #[error("the client read less than {PACE_BYTES} bytes in {PACE_TIME:?}")]
    TooSlow,
    #[error("writing stopped")]
    Stopped(#[from] tokio::task::JoinError),
}

/// The answer, whose body is the export.
pub(super) async fn answer(
    plane: &ControlPlane,
    plan: Plan,
    wanted: &ExportRequest,
    standing: AuthRecheck<EventsExport>,
    slot: Slot,
) -> Result<Response, Problem> {
    let file = format!("audit-events.{}", wanted.extension());
    let state = match wanted.format {
        FileFormat::Events(format) => {
            let writer = FileWriter::new(format, wanted.compression).map_err(|error| {
                tracing::error!(error = chain(&error), "could not start an export");
                Problem::new(ErrorCode::Internal, "The file could not be started.")
            })?;
            let source = Source::new(plane.store.clone(), plane.files.clone(), plan);
            State::Events(Ahead::new(source), Box::new(writer))
        }
        FileFormat::Bundle => State::Bundle(Box::new(bundle_file(plane, plan, wanted).await?)),
    };
    let sending = Sending {
        state,
        standing,
        asked_at: Instant::now(),
        rest: Bytes::new(),
        pace: Pace::default(),
        _slot: slot,
    };
    let frames = stream::try_unfold(sending, async |sending| {
        sending.frame().await.inspect_err(|error| {
            metrics::counter!(names::EXPORTS, "outcome" => "cut_off").increment(1);
            tracing::warn!(error = chain(error), "an export was cut short");
        })
    });
    let disposition = format!("attachment; filename=\"{file}\"");
    let mut response = Body::new(StreamBody::new(Box::pin(frames))).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(wanted.media_type()),
    );
    headers.insert(
        header::CONTENT_DISPOSITION,
        HeaderValue::from_str(&disposition).expect("a file's name is plain ASCII"),
    );
    headers.insert(
        header::TRAILER,
        HeaderValue::from_static("watchbell-export-events, watchbell-export-sha256"),
    );
    Ok(response)
}

async fn bundle_file(
    plane: &ControlPlane,
    plan: Plan,
    wanted: &ExportRequest,
) -> Result<BundleFile, Problem> {
    let bucket = plane.files.as_ref().ok_or_else(|| {
        let detail = "There is nowhere to store files.";
        Problem::new(ErrorCode::NotConfigured, detail)
    })?;
    let contents = Contents {
        org: plan.org,
        filter: plan.filter,
        compression: wanted.compression,
        now: plane.clock.now(),
        kept: Kept {
            events: plane.retention,
            deliveries: plane.delivery_retention,
        },
    };
    let file = BundleFile::begin(&plane.store, bucket, contents).await;
    file.map_err(|error| unproven(&error))
}

/// An export on its way.
struct Sending {
    state: State,
    standing: AuthRecheck<EventsExport>,
    /// When it was last asked whether the key or the session holds.
    asked_at: Instant,
    /// What was written and has not gone out.
    rest: Bytes,
    pace: Pace,
    _slot: Slot,
}

/// How fast the client reads. Only the time that we wait for it counts: what is rare takes us long to
/// find. A client that reads nothing at all is let go by the listener.
#[derive(Default)]
struct Pace {
    handed_at: Option<Instant>,
    waited: Duration,
    bytes: usize,
}

impl Pace {
    /// So much is handed out.
    fn hand(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.handed_at = Some(Instant::now());
    }

    /// What was handed out last is gone; whether the client keeps up.
    fn keeps_up(&mut self) -> bool {
        let waited = self.handed_at.take().map(|at| at.elapsed());
        self.waited += waited.unwrap_or_default();
        if self.waited < PACE_TIME {
            return true;
        }
        let (waited, bytes) = (
            std::mem::take(&mut self.waited),
            std::mem::take(&mut self.bytes),
        );
        // The wait for the last frame may have been far longer.
        bytes as u128 * PACE_TIME.as_millis() >= PACE_BYTES as u128 * waited.as_millis()
    }
}

enum State {
    Events(Ahead, Box<FileWriter>),
    Bundle(Box<BundleFile>),
    Trailers(Finished),
    End,
}

impl Sending {
    /// The next frame and how to go on. An error breaks the connection, and with it the file.
    async fn frame(mut self) -> Result<Option<(Frame<Bytes>, Self)>, CutOff> {
        if !self.pace.keeps_up() {
            return Err(CutOff::TooSlow);
        }
        loop {
            if !self.rest.is_empty() {
                let frame = self.rest.split_to(self.rest.len().min(FRAME_BYTES));
                self.pace.hand(frame.len());
                return Ok(Some((Frame::data(frame), self)));
            }
            match std::mem::replace(&mut self.state, State::End) {
                State::End => return Ok(None),
                State::Trailers(finished) => {
                    metrics::counter!(names::EXPORTS, "outcome" => "whole").increment(1);
                    return Ok(Some((Frame::trailers(trailers(&finished)), self)));
                }
                State::Events(mut source, writer) => {
                    self.ask_again().await?;
                    self.rest = match source.next().await? {
                        Some(batch) => self.write(source, writer, batch).await?.into(),
                        None => self.finish(*writer).await?.into(),
                    };
                }
                State::Bundle(mut file) => {
                    self.ask_again().await?;
                    match file.next().await? {
                        Some(Piece::Bytes(bytes)) => {
                            self.rest = bytes.into();
                            self.state = State::Bundle(file);
                        }
                        Some(Piece::Last(bytes, finished)) => {
                            self.rest = bytes.into();
                            self.state = State::Trailers(finished);
                        }
                        None => {}
                    }
                }
            }
        }
    }

    async fn ask_again(&mut self) -> Result<(), CutOff> {
        if self.asked_at.elapsed() < ASK_EVERY {
            return Ok(());
        }
        self.asked_at = Instant::now();
        let holds = self.standing.still_holds().await;
        holds.then_some(()).ok_or(CutOff::Revoked)
    }

    /// Digests, formats and compresses, which is work for a thread that may be busy.
    async fn write(
        &mut self,
        source: Ahead,
        mut writer: Box<FileWriter>,
        batch: Batch,
    ) -> Result<Vec<u8>, CutOff> {
        metrics::counter!(names::EVENTS_EXPORTED).increment(batch.events.len() as u64);
        let written = spawn_blocking(move || {
            let bytes = writer.write(batch.events);
            (writer, bytes)
        });
        let (writer, bytes) = written.await?;
        self.state = State::Events(source, writer);
        Ok(bytes?)
    }

    async fn finish(&mut self, writer: FileWriter) -> Result<Vec<u8>, CutOff> {
        let (bytes, finished) = spawn_blocking(move || writer.finish()).await??;
        self.state = State::Trailers(finished);
        Ok(bytes)
    }
}

fn trailers(finished: &Finished) -> HeaderMap {
    let sha256 = HeaderValue::from_str(&finished.sha256).expect("hex digits");
    HeaderMap::from_iter([
        (EVENTS, HeaderValue::from(finished.events)),
        (SHA256, sha256),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out frames for each of which the client takes so long; whether it kept up for an hour.
    fn keeps_up(frame_bytes: usize, takes: Duration) -> bool {
        let mut pace = Pace::default();
        let frames = Duration::from_secs(3600).as_millis() / takes.as_millis();
        (0..frames).all(|_| {
            pace.hand(frame_bytes);
            pace.handed_at = Instant::now().checked_sub(takes);
            pace.keeps_up()
        })
    }

    #[test]
    fn a_client_that_reads_drop_by_drop_is_cut_off_and_a_slow_one_is_not() {
        assert!(!keeps_up(FRAME_BYTES, Duration::from_secs(4)));
        assert!(!keeps_up(FRAME_BYTES, Duration::from_secs(600)));
        assert!(keeps_up(FRAME_BYTES, Duration::from_secs(1)));
        let mut finding = Pace::default();
        assert!(
            (0..100).all(|_| finding.keeps_up()),
            "nothing was handed out"
        );
    }
}

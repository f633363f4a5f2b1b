//! Reads the body of a batch of events: in one of several forms, packed or not, always in bounds.

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use domain::{
    batch::{BODY_BYTES_MAX, Form},
    error_code::ErrorCode,
};

use tokio::task::block_in_place;

use super::{
    Problem,
    decompress::{Encoding, Failure},
    extract::{essence, too_large, whole},
};

/// To parse more than this takes so long that others should not wait for it.
const LARGE_BYTES: usize = 64 * 1024;

/// A body that says it is a batch of events, unpacked and not yet parsed.
#[derive(Debug)]
pub struct EventsBody {
    pub form: Form,
    pub bytes: Bytes,
}

impl EventsBody {
    /// Does what takes the longer the larger the body is. While it works on a large one, others take over what else
    /// this thread has to do.
    pub fn work<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.bytes.len() > LARGE_BYTES {
            block_in_place(work)
        } else {
            work()
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for EventsBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (form, encoding) = (form(request.headers())?, encoding(request.headers())?);
        let bytes = whole(request).await?;
        let Some(encoding) = encoding else {
            return Ok(Self { form, bytes });
        };
        // At most 5 MiB: some milliseconds, however few bytes came.
        match block_in_place(|| encoding.unpack(&bytes, BODY_BYTES_MAX)) {
            Ok(unpacked) => Ok(Self {
                form,
                bytes: Bytes::from(unpacked),
            }),
            Err(Failure::TooLarge) => Err(too_large()),
            Err(Failure::Broken(error)) => Err(Problem::new(
                ErrorCode::InvalidBody,
                format!(
                    "The body could not be decompressed according to its `Content-Encoding`: \
                     {error}."
                ),
            )),
        }
    }
}

fn form(headers: &HeaderMap) -> Result<Form, Problem> {
    let given = essence(headers);
    Form::of(given).ok_or_else(|| {
        let known = Form::ALL.map(Form::media_type).join("`, `");
        unsupported(format!(
            "Send one of the types `{known}` as `Content-Type`; got `{given}`."
        ))
    })
}

/// `None`: the body is not packed.
fn encoding(headers: &HeaderMap) -> Result<Option<Encoding>, Problem> {
    const READ: &str = "Send the body uncompressed, or compressed once, with gzip or zstd.";
    let mut given = headers.get_all(header::CONTENT_ENCODING).iter();
    let name = match (given.next(), given.next()) {
        (None, _) => return Ok(None),
        (Some(one), None) => one.to_str().unwrap_or_default().trim(),
        (Some(_), Some(_)) => return Err(unsupported(READ)),
    };
    if name.eq_ignore_ascii_case("identity") {
        return Ok(None);
    }
    Encoding::of(name)
        .map(Some)
        .ok_or_else(|| unsupported(READ))
}

fn unsupported(detail: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::UnsupportedMediaType, detail)
}

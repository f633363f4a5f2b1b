//! Reads bodies, path and query parameters; what cannot be read is a problem that says where.

use std::{str::FromStr, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{HeaderMap, header, request::Parts},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use domain::{batch::BODY_BYTES_MAX, error_code::ErrorCode, fault::Fault};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use store::page::{LIMIT_DEFAULT, LIMIT_MAX};
use tokio::time::timeout;
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

use super::{Problem, body_memory::room_for, missing_fields::unreadable, objects};

/// How much of a body that is too large is read beyond the limit.
const DISCARDED_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long a small body may take to arrive: less than the control plane may take for all of its work,
/// so that a slow client is told that it is slow and not that the database is down.
const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// A body that says it is JSON, not yet parsed.
#[derive(Debug)]
pub struct JsonBytes(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        check_media_type(request.headers())?;
        whole(request).await.map(Self)
    }
}

/// All of a body, if it is not too large.
pub(super) async fn whole(request: Request) -> Result<Bytes, Problem> {
    whole_up_to(BODY_BYTES_MAX, request, too_large).await
}

async fn whole_up_to(
    bytes_max: usize,
    request: Request,
    too_large: impl FnOnce() -> Problem,
) -> Result<Bytes, Problem> {
    let _room = room_for(&request, bytes_max).await?;
    let mut body = request.into_body();
    match Limited::new(&mut body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            discard(body).await;
            Err(too_large())
        }
        Err(_) => Err(Problem::new(
            ErrorCode::InvalidBody,
            "The body ended before all of it had arrived.",
        )),
    }
}

pub(super) fn too_large() -> Problem {
    Problem::new(
        ErrorCode::PayloadTooLarge,
        ErrorCode::PayloadTooLarge.what_to_do(),
    )
}

/// Reads on what nobody wants, within reason: a client that is still sending when it is answered
/// sees a broken connection in place of the answer.
async fn discard(mut body: Body) {
    let mut discarded = 0;
    while let Some(Ok(frame)) = body.frame().await {
        discarded += frame.data_ref().map_or(0, Bytes::len);
        if discarded > DISCARDED_BYTES_MAX {
            return;
        }
    }
}

/// A JSON body of a known shape.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let JsonBytes(bytes) = in_time(JsonBytes::from_request(request, state)).await?;
        objects::from_slice(&bytes)
            .map(Self)
            .map_err(|error| unreadable::<T>(&bytes, &error))
    }
}

/// An object whose fields the handler reads one by one.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Fields(pub Map<String, Value>);

impl PartialSchema for Fields {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Object).into()
    }
}

impl ToSchema for Fields {}

/// A body that says it is JSON and has no more bytes than these, not yet parsed.
pub(super) async fn small_json(request: Request, bytes_max: usize) -> Result<Bytes, Problem> {
    check_media_type(request.headers())?;
    let too_large = || {
        let detail = format!("The body can be at most {bytes_max} bytes here.");
        Problem::new(ErrorCode::PayloadTooLarge, detail)
    };
    in_time(whole_up_to(bytes_max, request, too_large)).await
}

async fn in_time<T>(reading: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    timeout(BODY_TIMEOUT, reading).await.map_err(|_| {
        let detail = "The body did not arrive in time; send it again.";
        Problem::new(ErrorCode::RequestTimeout, detail)
    })?
}

/// The id at the end of a path; what is not an id of the kind is not found.
#[derive(Debug)]
pub struct IdInPath<I>(pub I);

impl<S: Send + Sync, I: FromStr + Send> FromRequestParts<S> for IdInPath<I> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = Path::<String>::from_request_parts(parts, state)
            .await
            .map(|Path(text)| text);
        let id = text.ok().and_then(|text| text.parse().ok());
        id.map(Self).ok_or_else(|| {
            Problem::new(ErrorCode::NotFound, "The path does not contain a valid id.")
        })
    }
}

/// Which page of a list is wanted, already checked.
#[derive(Debug)]
pub struct PageQuery<K> {
    pub before: Option<K>,
    pub limit: u32,
}

/// How a list is paged.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// How many to return, 1 to 1,000 (default 100).
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

impl<S: Send + Sync, K: FromStr + Send> FromRequestParts<S> for PageQuery<K> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = PageParams::default();
        for (name, value) in pairs(parts, state).await? {
            match name.as_str() {
                "limit" => once(&name, &mut params.limit, value)?,
                "cursor" => once(&name, &mut params.cursor, value)?,
                _ => return Err(unknown_parameter(&name, &["limit", "cursor"])),
            }
        }
        let before = params.cursor.as_deref().map(read_cursor);
        Ok(Self {
            before: before.transpose()?,
            limit: read_limit(params.limit.as_deref())?,
        })
    }
}

/// The query's parameters, in order.
pub async fn pairs<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<Vec<(String, String)>, Problem> {
    Query::from_request_parts(parts, state)
        .await
        .map(|Query(pairs)| pairs)
        .map_err(|refusal| Problem::new(ErrorCode::InvalidParameter, refusal.body_text()))
}

/// Takes a parameter that may be given once.
pub fn once(name: &str, slot: &mut Option<String>, value: String) -> Result<(), Problem> {
    if slot.replace(value).is_some() {
        return Err(Problem::parameter(
            name,
            format!("`{name}` is given twice."),
        ));
    }
    Ok(())
}

/// The only parameter there is, `true` or `false` (which it is if it is not given).
pub async fn flag<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    known: &str,
) -> Result<bool, Problem> {
    let mut given = None;
    for (name, value) in pairs(parts, state).await? {
        if name != known {
            return Err(unknown_parameter(&name, &[known]));
        }
        once(&name, &mut given, value)?;
    }
    match given.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => {
            let detail = format!("`{known}` must be `true` or `false`.");
            Err(Problem::parameter(known, detail))
        }
    }
}

/// A misspelled parameter would silently do nothing.
pub fn unknown_parameter(name: &str, known: &[&str]) -> Problem {
    let known: Vec<String> = known.iter().map(|one| format!("`{one}`")).collect();
    let there_are = match known.split_last() {
        Some((only, [])) => format!("the only one is {only}"),
        Some((last, others)) => format!("the parameters are {} and {last}", others.join(", ")),
        None => "there are none".to_owned(),
    };
    let detail = format!("`{name}` is not a parameter here; {there_are}.");
    Problem::parameter(name, detail)
}

/// How many rows a page has.
pub fn read_limit(text: Option<&str>) -> Result<u32, Problem> {
    read_limit_up_to(LIMIT_MAX, LIMIT_DEFAULT, text)
}

/// How many of something are wanted.
pub fn read_limit_up_to(most: u32, usual: u32, text: Option<&str>) -> Result<u32, Problem> {
    let Some(text) = text else {
        return Ok(usual);
    };
    let limit = text.parse().ok();
    limit
        .filter(|limit| (1..=most).contains(limit))
        .ok_or_else(|| {
            let detail = format!("`limit` must be a number from 1 to {most}.");
            Problem::parameter("limit", detail)
        })
}

/// Opaque to clients: what is inside may change.
pub fn cursor(key: &impl ToString) -> String {
    URL_SAFE_NO_PAD.encode(key.to_string())
}

/// What [`cursor`] wrote.
pub fn read_cursor<K: FromStr>(cursor: &str) -> Result<K, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
    let key = std::str::from_utf8(&bytes).ok();
    key.and_then(|key| key.parse().ok()).ok_or_else(|| {
        let detail = "`cursor` must be the `next_cursor` of an earlier response.";
        Problem::parameter("cursor", detail)
    })
}

/// The media type of a body, without its parameters.
pub(super) fn essence(headers: &HeaderMap) -> &str {
    let given = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("");
    given.split(';').next().unwrap_or("").trim()
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let essence = essence(headers);
    if !essence.eq_ignore_ascii_case("application/json") {
        let detail = format!("Send `Content-Type: application/json`; got `{essence}`.");
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    }
    let encoding = headers
        .get(header::CONTENT_ENCODING)
        .map_or(b"identity".as_slice(), |value| value.as_bytes());
    if encoding != b"identity" {
        let detail = "Compressed bodies are not supported here; send it uncompressed.";
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    }
    Ok(())
}

/// Refuses a `note` that is too long or that PostgreSQL could not hold.
pub fn check_note(note: Option<&str>, chars_max: usize) -> Result<(), Problem> {
    let is_fine = |note: &str| note.chars().count() <= chars_max && !note.contains('\0');
    if note.is_none_or(is_fine) {
        return Ok(());
    }
    let detail = format!("`note` must be at most {chars_max} characters, none of them NUL.");
    Err(Problem::invalid(vec![Fault::invalid("/note", detail)]))
}

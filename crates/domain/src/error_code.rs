//! The closed set of error codes a client can meet, and what each tells it to do.

macro_rules! error_codes {
    ($($variant:ident, $code:literal, $status:literal, $title:literal, $summary:literal, $what_to_do:literal;)*) => {
        /// A stable code in every problem body; each has a page under `docs/errors/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode { $($variant,)* }

        impl ErrorCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            pub fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)* }
            }

            pub fn what_to_do(self) -> &'static str {
                match self { $(Self::$variant => $what_to_do,)* }
            }
        }
    };
}

error_codes! {
    InvalidBody, "INVALID_BODY", 400, "The body could not be read",
        "The request body is not the JSON this endpoint takes.",
        "Read `detail`: it says where parsing stopped. Send the body again once it is valid JSON of the documented shape.";
    InvalidParameter, "INVALID_PARAMETER", 400, "A parameter is not valid",
        "A path or query parameter has a value this endpoint does not take.",
        "Read `errors[].pointer`: it names the parameter. Correct it and send the request again.";
    TokenInvalid, "TOKEN_INVALID", 400, "The link does not work",
        "The token is not one that was mailed for this purpose, was used before, was replaced by a newer one, or has run out; or its address has an account by now; or, when an address is confirmed, the password is not the one that was registered with.",
        "When you confirm an address, use the mail that names your organisation, and the password that you chose then. Otherwise ask for a new mail and use the link in the newest one.";
    Unauthenticated, "UNAUTHENTICATED", 401, "Who is asking is not known",
        "The request carries no API key or session, or one that is unknown, revoked or expired; or a login failed.",
        "Send `Authorization: Bearer wb_live_...` with a key of your organisation, or log in with `POST /v1/auth/login`. A key is shown once, when it is made; if it is lost, make another.";
    Forbidden, "FORBIDDEN", 403, "You may not do this",
        "The key or the person is known but lacks the scope or the role this endpoint needs, or this server does not let anybody do it.",
        "Read `detail`. Use a key that has the scope it names, or ask an admin of your organisation.";
    CrossSite, "CROSS_SITE", 403, "The request came from another site",
        "A browser sent this request on behalf of another site's page, which a session does not allow.",
        "Send it from a page of the address that people reach Watchbell at (`http.public_url`), or use an API key.";
    NotFound, "NOT_FOUND", 404, "There is nothing here",
        "The path does not exist, or names something your organisation does not have.",
        "Check the path against the API reference, and the id against a list call.";
    MethodNotAllowed, "METHOD_NOT_ALLOWED", 405, "The path does not take this method",
        "The path exists, but not for this HTTP method.",
        "The `Allow` header lists the methods the path takes.";
    RequestTimeout, "REQUEST_TIMEOUT", 408, "The request took too long",
        "The request was not finished within the server's time limit.",
        "Send it again. An event with a `client_event_id` is listed once however often it is sent.";
    Conflict, "CONFLICT", 409, "It was changed meanwhile",
        "Somebody else changed the same thing between your reading and your writing; nothing was written.",
        "Read it again, apply your change to what you find, and send that.";
    StateConflict, "STATE_CONFLICT", 409, "Not as it stands",
        "The thing is in a state in which this cannot be done; nothing was changed.",
        "Read `detail`: it says how it stands and what can be done.";
    LastOwner, "LAST_OWNER", 409, "An organisation always has an owner",
        "The member is the organisation's only owner, so they can neither leave nor get another role.",
        "Make somebody else an owner first.";
    LimitReached, "LIMIT_REACHED", 409, "There can be no more of these",
        "Your organisation has as many of these as it may have.",
        "Delete or revoke some that are not needed, then send the request again.";
    Gone, "GONE", 410, "It is not kept any more",
        "What this needs was kept for a time and is not there any more.",
        "Read `detail`: it says what is gone. It cannot be had back.";
    PreconditionFailed, "PRECONDITION_FAILED", 412, "It is not the version you named",
        "The thing has another version by now than `If-Match` names; nothing was written.",
        "Read it again, apply your change to what you find, and send that with the `ETag` of what you read as `If-Match`.";
    PayloadTooLarge, "PAYLOAD_TOO_LARGE", 413, "The body is too large",
        "The request body is larger than this endpoint takes.",
        "Split the batch. A request takes at most 1,000 events and 5 MiB, as it travels and again when it is unpacked.";
    UnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", 415, "The media type is not supported",
        "The `Content-Type` (or `Content-Encoding`) is not one this endpoint reads.",
        "Read `detail`: it says what is read. Every endpoint that takes a body reads `Content-Type: application/json`, uncompressed; `POST /v1/audit/events` also reads NDJSON and CloudEvents, and bodies packed by gzip or zstd.";
    ValidationFailed, "VALIDATION_FAILED", 422, "The request is not valid",
        "The body is valid JSON, but some of its fields are not valid.",
        "Each entry of `errors` points at one field and says what is expected there.";
    IdempotencyMismatch, "IDEMPOTENCY_MISMATCH", 422, "The key belongs to another request",
        "The `Idempotency-Key` came with another request in the last 24 hours: its body, `Content-Type` or parameters differ. Nothing was recorded.",
        "Give every request a key of its own, and send a request again exactly as it was.";
    TooExpensive, "TOO_EXPENSIVE", 422, "The search takes too long",
        "The database gave the search up, because it took longer than one may.",
        "Narrow it by `from` and `to` or by another filter, and ask again.";
    RateLimited, "RATE_LIMITED", 429, "Too many requests",
        "A request limit is used up: of this API key, person or organisation for this operation, or of this client address. Or the log that your organisation shares with others is nearly full, and it has had its share; `detail` says so.",
        "Wait for the seconds in `Retry-After`, then send the request again. A refused request does not count. The header `RateLimit` of the answers before says how many requests are left.";
    Internal, "INTERNAL", 500, "Something went wrong on our side",
        "The server met an error it did not expect; it is in the server's log under the `request_id`.",
        "Send the request again. If it keeps failing, give the `request_id` to whoever runs the server.";
    NotConfigured, "NOT_CONFIGURED", 501, "This is not set up here",
        "The operation needs a setting that this deployment does not have.",
        "Ask whoever runs the server to set what `detail` names, then send the request again.";
    JournalUnavailable, "JOURNAL_UNAVAILABLE", 503, "The journal cannot be reached",
        "The durable log did not acknowledge in time, so nothing was promised: what you sent may or may not have been kept.",
        "Send the request again after `Retry-After`. An event with a `client_event_id` is listed once however often it is sent.";
    NotInEffectYet, "NOT_IN_EFFECT_YET", 503, "Saved, but not in effect yet",
        "What you sent is saved; the journal is away, so nodes have not been told of it yet. They will be once it is back.",
        "Do not send it again: `detail` says what was saved and how to look at it.";
    StoreUnavailable, "STORE_UNAVAILABLE", 503, "The database cannot be reached",
        "Lists and settings need PostgreSQL, which is down, or gave the request up in favour of another. Ingest and deliveries go on without it.",
        "Send the request again after `Retry-After`. Nothing that was accepted is lost.";
    Overloaded, "OVERLOADED", 503, "Too much is waiting",
        "As much is waiting as this node will hold (bytes for the journal, passwords to be hashed); this request was not accepted.",
        "Send the request again after `Retry-After`.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_written_once() {
        let mut codes: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ErrorCode::ALL.len());
    }
}

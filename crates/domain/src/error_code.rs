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

            /// The code of this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == name)
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
        "The request body is not the JSON that this endpoint accepts.",
        "Read `detail`: it says where parsing stopped. Send the body again as valid JSON of the documented shape.";
    InvalidParameter, "INVALID_PARAMETER", 400, "A parameter is not valid",
        "A path or query parameter has a value that this endpoint does not accept.",
        "Read `errors[].pointer`: it names the parameter. Correct it and send the request again.";
    TokenInvalid, "TOKEN_INVALID", 400, "The link does not work",
        "The token was not mailed for this purpose, was already used, was replaced by a newer one, or has expired; or its address has an account by now; or, when confirming an address, the password is not the one from the registration.",
        "When you confirm an address, use the email that names your organization and the password you chose then. Otherwise ask for a new email and use the link in the newest one.";
    Unauthenticated, "UNAUTHENTICATED", 401, "Not authenticated",
        "The request has no API key or session, or one that is unknown, revoked or expired; or a login failed.",
        "Send `Authorization: Bearer wb_live_...` with a key of your organization, or log in with `POST /v1/auth/login`. A key is shown only once, when it is created; if you lose it, create another.";
    Forbidden, "FORBIDDEN", 403, "Not allowed",
        "The key or the person is known but lacks the scope or role that this endpoint needs, or this server does not allow anyone to do this.",
        "Read `detail`. Use a key that has the scope it names, or ask an admin of your organization.";
    CrossSite, "CROSS_SITE", 403, "The request came from another site",
        "A browser sent this request on behalf of a page on another site, which is not allowed with a session.",
        "Send it from a page at the address where people reach Watchbell (`http.public_url`), or use an API key.";
    NotFound, "NOT_FOUND", 404, "Not found",
        "The path does not exist, or refers to something your organization does not have.",
        "Check the path against the API reference, and the id against the list.";
    MethodNotAllowed, "METHOD_NOT_ALLOWED", 405, "The path does not support this method",
        "The path exists, but does not support this HTTP method.",
        "The `Allow` header lists the methods that the path supports.";
    RequestTimeout, "REQUEST_TIMEOUT", 408, "The request took too long",
        "The request did not finish within the server's time limit.",
        "Send it again. An event with a `client_event_id` is listed only once, however often it is \
         sent.";
    Conflict, "CONFLICT", 409, "It was changed in the meantime",
        "Someone else changed it between your read and your write; nothing was written.",
        "Read it again, reapply your change, and send it.";
    StateConflict, "STATE_CONFLICT", 409, "Not possible in its current state",
        "It is in a state that does not allow this; nothing was changed.",
        "Read `detail`: it describes the current state and what you can do.";
    LastOwner, "LAST_OWNER", 409, "An organization always needs an owner",
        "The member is the organization's only owner, so they can neither leave nor change roles.",
        "Make someone else an owner first.";
    LimitReached, "LIMIT_REACHED", 409, "Limit reached",
        "Your organization already has as many of these as it is allowed.",
        "Delete or revoke some that are not needed, then send the request again.";
    Gone, "GONE", 410, "No longer available",
        "The request needs data that was kept for a limited time and is gone.",
        "Read `detail`: it says what is gone. It cannot be restored.";
    PreconditionFailed, "PRECONDITION_FAILED", 412, "The version does not match",
        "It now has a different version from the one in `If-Match`; nothing was written.",
        "Read it again, reapply your change, and send it with the new `ETag` as `If-Match`.";
    PayloadTooLarge, "PAYLOAD_TOO_LARGE", 413, "The body is too large",
        "The request body is larger than this endpoint accepts.",
        "Split the batch. A request can carry at most 1,000 events and 5 MiB, both as sent and after decompression.";
    UnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", 415, "The media type is not supported",
        "This endpoint does not accept this `Content-Type` (or `Content-Encoding`).",
        "Read `detail`: it says what is accepted. Every endpoint that takes a body accepts `Content-Type: application/json`, uncompressed; `POST /v1/audit/events` also accepts NDJSON and CloudEvents, and bodies compressed with gzip or zstd.";
    ValidationFailed, "VALIDATION_FAILED", 422, "The request is not valid",
        "The body is valid JSON, but some of its fields are not valid.",
        "Each entry in `errors` points to one field and says what is expected there.";
    IdempotencyMismatch, "IDEMPOTENCY_MISMATCH", 422, "The key belongs to another request",
        "The `Idempotency-Key` was used with a different request in the last 24 hours: its body, `Content-Type` or parameters differ. Nothing was recorded.",
        "Give every request its own key, and when you repeat a request, send it exactly as it was.";
    TooExpensive, "TOO_EXPENSIVE", 422, "The search takes too long",
        "The database stopped the search because it took too long.",
        "Narrow it with `from` and `to` or another filter, and try again.";
    RateLimited, "RATE_LIMITED", 429, "Too many requests",
        "A request limit is used up: that of this API key, person or organization for this operation, or that of this client address. Or the log that your organization shares with others is nearly full and your organization has used its share; `detail` says which.",
        "Wait for the number of seconds in `Retry-After`, then send the request again. A refused request does not count. The `RateLimit` header of earlier responses says how many requests are left.";
    Internal, "INTERNAL", 500, "Something went wrong on our side",
        "The server hit an unexpected error; it is in the server's log under the `request_id`.",
        "Send the request again. If it keeps failing, give the `request_id` to the server's operator.";
    NotConfigured, "NOT_CONFIGURED", 501, "This is not set up on this server",
        "The operation needs a setting that this deployment does not have.",
        "Ask the server's operator to set what `detail` names, then send the request again.";
    JournalUnavailable, "JOURNAL_UNAVAILABLE", 503, "The journal cannot be reached",
        "The durable log did not acknowledge in time, so nothing is guaranteed: what you sent may or may not have been kept.",
        "Send the request again after `Retry-After`. An event with a `client_event_id` is listed only once, however often it is sent.";
    NotInEffectYet, "NOT_IN_EFFECT_YET", 503, "Saved, but not in effect yet",
        "What you sent is saved, but the journal is unavailable, so nodes do not know about it yet. They will once it is back.",
        "Do not send it again: `detail` says what was saved and how to view it.";
    StoreUnavailable, "STORE_UNAVAILABLE", 503, "The database cannot be reached",
        "Lists and settings need PostgreSQL, which is down or aborted this request in favor of another. Ingest and deliveries continue without it.",
        "Send the request again after `Retry-After`. Nothing that was accepted is lost.";
    Overloaded, "OVERLOADED", 503, "The server is overloaded",
        "This node already has as much waiting as it will hold (bytes for the journal, passwords to be hashed); this request was not accepted.",
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

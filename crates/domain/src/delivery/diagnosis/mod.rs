//! What went wrong with an attempt, in plain words, and what to do about it.
//!
//! The owner of a receiver reads these beside the attempt. [`explain`] reads an answer, [`Trouble`] is
//! why there was none, [`retry_after`] and [`clock_skew`] read two headers of the answer. Every text
//! says what to do next, if only that there is nothing to do.

mod header;
mod trouble;

use std::time::Duration;

pub use header::{clock_skew, retry_after};
pub use trouble::Trouble;

use super::outcome::QUIET_MAX;

/// The receivers' window (spec 6): they take a signature for stale that is older or newer than this.
const WINDOW_S: u32 = 300;

/// Less than this is what a `Date` of whole seconds and a slow network come to.
const SKEW_WORTH_A_WORD_S: u32 = 60;

/// So much of where a redirect leads is repeated: a host name has at most 253 characters.
const ORIGIN_CHARS_MAX: usize = 300;

/// What a receiver answered, as far as it explains anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reply<'a> {
    pub status: u16,
    pub retry_after: Option<Duration>,
    /// How far its clock is ahead of ours; negative: behind.
    pub clock_skew_s: Option<i32>,
    /// The id of the secret that the delivery was signed with; `None`: it was not signed.
    pub secret: Option<&'a str>,
    /// Where a redirect leads, as the receiver wrote it.
    pub location: Option<&'a str>,
}

/// What a receiver means by its answer, and what its owner should do; `None`: all is well.
pub fn explain(reply: &Reply<'_>) -> Option<String> {
    let status = reply.status;
    let meaning = match status {
        200..=299 => return None,
        300..=399 => redirect(reply.location),
        400 => "it considers the signed time stale, or cannot read the body. Compare its clock with a time server \
                (NTP), and check that it accepts a time up to 300 seconds off and reads the body as JSON."
            .into(),
        401 => signature(reply.secret),
        402 | 403 => "it denied us access. Allow these requests in its firewall, its bot protection or whatever \
                      controls access to it."
            .into(),
        404 => "there is nothing at this path. Deploy the receiver, or correct the rule's URL.".into(),
        405 => "it does not accept POST at this path. Make it accept POST, or correct the rule's URL.".into(),
        408 | 425 => "it was not ready for the request. If this persists, check the timeouts of the proxy in front of \
                      it."
            .into(),
        410 => "it says that it is gone for good. If it says so again a minute later, its endpoint is \
                disabled. Correct or delete the rule; if the receiver is back, resume the endpoint."
            .into(),
        413 => "the body is too large for it, so retrying will not help. Raise its request size \
                limit, then send this delivery again."
            .into(),
        429 => pace(reply.retry_after),
        415 | 422 => "it does not understand the body. Make it accept JSON with the four fields of a delivery, then \
                      send this delivery again."
            .into(),
        502 | 504 => "the proxy in front of it got no answer from it. Check that the receiver is running and answers \
                      in time."
            .into(),
        503 => unavailable(reply.retry_after),
        406..=499 => "it refused the delivery. Check its log at the time of this attempt.".into(),
        500..=599 => "it failed while handling the delivery. Check its log at the time of this attempt."
            .into(),
        _ => "that is not a final HTTP status. Check what is answering at the rule's URL.".into(),
    };
    let skew = skew(status, reply.clock_skew_s).unwrap_or_default();
    Some(format!("The receiver answered {status}: {meaning}{skew}"))
}

fn redirect(location: Option<&str>) -> String {
    let where_to = location
        .and_then(origin)
        .map(|origin| format!(" to {origin}"))
        .unwrap_or_default();
    format!(
        "it redirects{where_to}. Redirects are never followed, because the request would go to an address that was not \
         checked. Use the final address as the rule's URL."
    )
}

fn signature(secret: Option<&str>) -> String {
    match secret {
        Some(secret) => format!(
            "it considers the signature wrong. The delivery was signed with the secret {secret}: check that the \
             receiver uses that one, and that it verifies the raw bytes of the body before parsing them."
        ),
        None => "it requires a signature, and the delivery had none because there is no signing \
                 secret. Set one, and give it to the receiver."
            .into(),
    }
}

fn pace(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!(
            "it asks for fewer requests, and for none at all for {}. There is nothing to do; if this persists, raise \
             its rate limit.",
            in_words(wait)
        ),
        None => "it asks for fewer requests, so fewer are sent to it at a time. If this persists, raise its rate \
                 limit, or have it say how long to wait with Retry-After."
            .into(),
    }
}

fn unavailable(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!(
            "it is out of service, and asks for no requests for {}. There is nothing to do if that was planned; \
             otherwise check that it is running.",
            in_words(wait)
        ),
        None => "it is out of service. Check that it is running and not overloaded.".into(),
    }
}

/// A word on the receiver's clock, where that can be the reason. A clock beyond the window spoils every
/// signature, so it is worth a word with any refusal.
fn skew(status: u16, skew_s: Option<i32>) -> Option<String> {
    let skew_s = skew_s?;
    let seconds = skew_s.unsigned_abs();
    let direction = if skew_s > 0 { "ahead of" } else { "behind" };
    let explains = match status {
        400 => seconds > SKEW_WORTH_A_WORD_S,
        401..=499 => seconds > WINDOW_S,
        _ => false,
    };
    explains.then(|| {
        let verdict = if seconds > WINDOW_S {
            "so it considers every signed time stale. Set it from a time server (NTP)."
        } else {
            "which uses up part of the 300 seconds that a signed time is valid for. Set it from a time server (NTP)."
        };
        format!(" Its clock is {seconds} seconds {direction} ours, {verdict}")
    })
}

/// Scheme, host and port of an absolute URL: the rest may carry something that is nobody's business.
fn origin(location: &str) -> Option<String> {
    let (scheme, rest) = location.trim().split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let origin = format!("{scheme}://{host}");
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "+-.:/[]_%".contains(character);
    let repeatable = !scheme.is_empty()
        && !host.is_empty()
        && origin.len() <= ORIGIN_CHARS_MAX
        && origin.chars().all(is_plain);
    repeatable.then_some(origin)
}

/// A wait as a person would say it, never shorter than it is.
fn in_words(wait: Duration) -> String {
    let seconds = wait.min(QUIET_MAX).as_millis().div_ceil(1_000);
    match seconds {
        1 => "1 second".into(),
        0..=119 => format!("{seconds} seconds"),
        120..=7_199 => format!("{} minutes", seconds.div_ceil(60)),
        _ => format!("{} hours", seconds.div_ceil(3_600)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(reply: Reply<'_>) -> String {
        explain(&reply).expect("something is wrong")
    }

    fn of(status: u16) -> Reply<'static> {
        Reply {
            status,
            ..Reply::default()
        }
    }

    fn assert_says(text: &str, parts: &[&str]) {
        for part in parts {
            assert!(text.contains(part), "{part:?} is missing in: {text}");
        }
    }

    #[test]
    fn what_was_taken_needs_no_word() {
        for status in 200..300 {
            assert_eq!(explain(&of(status)), None);
        }
    }

    #[test]
    fn every_other_answer_is_named_and_followed_by_what_to_do() {
        let verbs = [
            "Check", "Compare", "Correct", "Deploy", "Allow", "Make it", "Raise", "raise", "Use",
            "Set one", "check",
        ];
        for status in (100..200).chain(300..=999) {
            let text = text(of(status));
            assert!(text.starts_with(&format!("The receiver answered {status}: ")));
            assert!(verbs.iter().any(|verb| text.contains(verb)), "{text}");
            assert!(text.ends_with('.') && !text.contains("  "), "{text}");
        }
    }

    #[test]
    fn a_400_is_a_stale_time_and_names_the_clock() {
        let skewed = |seconds| {
            text(Reply {
                clock_skew_s: Some(seconds),
                ..of(400)
            })
        };
        assert_says(&skewed(0), &["signed time stale"]);
        assert!(!skewed(60).contains("Its clock"));
        assert_says(
            &skewed(61),
            &["61 seconds ahead of ours", "part of the 300"],
        );
        assert_says(
            &skewed(-412),
            &["412 seconds behind ours", "every signed time"],
        );
        assert_says(&skewed(i32::MIN), &["2147483648 seconds behind"]);
    }

    #[test]
    fn a_clock_beyond_the_window_is_named_with_any_refusal_and_nothing_else() {
        for (status, seconds, named) in [
            (401, 301, true),
            (401, 300, false),
            (403, -301, true),
            (422, 4_000, true),
            (500, 4_000, false),
            (301, 4_000, false),
        ] {
            let text = text(Reply {
                clock_skew_s: Some(seconds),
                ..of(status)
            });
            assert_eq!(text.contains("Its clock"), named, "{text}");
        }
    }

    #[test]
    fn a_401_is_a_wrong_signature_and_names_the_secret() {
        let signed = text(Reply {
            secret: Some("sec_7"),
            ..of(401)
        });
        assert_says(
            &signed,
            &["signature wrong", "secret sec_7", "bytes of the body"],
        );
        assert_says(&text(of(401)), &["no signing secret", "Set one"]);
    }

    #[test]
    fn a_wait_that_was_asked_for_is_repeated_in_words() {
        for (status, seconds, words) in [
            (429, 1, "1 second."),
            (429, 90, "90 seconds"),
            (503, 600, "10 minutes"),
            (503, 86_400, "24 hours"),
            (429, u64::MAX, "24 hours"),
        ] {
            let text = text(Reply {
                retry_after: Some(Duration::from_secs(seconds)),
                ..of(status)
            });
            assert_says(&text, &[words]);
        }
        assert_says(&text(of(429)), &["Retry-After"]);
    }

    #[test]
    fn a_redirect_names_only_the_origin_it_leads_to() {
        for (location, named) in [
            (
                "https://hooks.example.com/new?token=1",
                " to https://hooks.example.com.",
            ),
            (
                "https://u:p@hooks.example.com:8443",
                " to https://hooks.example.com:8443.",
            ),
            ("/login", "it redirects."),
            ("https://", "it redirects."),
            ("javascript://x<script>", "it redirects."),
            ("https://evil.example\u{202e}", "it redirects."),
        ] {
            let text = text(Reply {
                location: Some(location),
                ..of(302)
            });
            assert_says(&text, &[named]);
        }
    }

    proptest! {
        #[test]
        fn no_answer_makes_a_text_that_is_long_or_has_control_characters(
            status in 100u16..1_000, location: String, skew: i32, seconds: u64,
        ) {
            let reply = Reply {
                status,
                retry_after: Some(Duration::from_secs(seconds)),
                clock_skew_s: Some(skew),
                secret: Some("sec_7"),
                location: Some(&location),
            };
            if let Some(text) = explain(&reply) {
                prop_assert!(text.len() < 1_000);
                prop_assert!(!text.contains(char::is_control));
            }
        }
    }
}

//! The verification of deliveries: it never panics, and it accepts exactly what was signed.
//!
//! An input is text in four parts: the timestamp, the signature and the id, each on a line, and then
//! the body. `-` in place of a header leaves it out, and `@` in place of a signature stands for the
//! right one, which a fuzzer would never find.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use webhook_signature::{Refusal, Verifier, sign, standard};

const SECRETS: [&str; 2] = ["k7Jt2vQ9xWmB4rYc8nHs5dLg", STANDARD_SECRET];
const STANDARD_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// 2026-01-15T12:00:00Z
const NOW_UNIX_SECONDS: u64 = 1_768_478_400;

pub(crate) fn check(input: &[u8]) {
    let mut parts = input.splitn(4, |byte| *byte == b'\n');
    let [timestamp, signature, id] = [(); 3].map(|()| header(parts.next().unwrap_or_default()));
    let body = parts.next().unwrap_or_default();
    let now = UNIX_EPOCH + Duration::from_secs(NOW_UNIX_SECONDS);

    verify_service(timestamp, signature, body, now);
    verify_standard(timestamp, signature, id, body, now);
}

fn verify_service(timestamp: Option<&str>, signature: Option<&str>, body: &[u8], now: SystemTime) {
    let right = SECRETS.map(|secret| sign(secret.as_bytes(), timestamp.unwrap_or_default(), body));
    let signature = signature.map(|given| if given == "@" { &right[0] } else { given });
    let is_right = signature.is_some_and(|given| right.iter().any(|right| right == given));

    let verified = Verifier::new(SECRETS).verify(timestamp, signature, body, now);
    check_answer(verified, is_right);
    if verified.is_ok() {
        assert!(
            str::from_utf8(body).is_ok(),
            "accepted a body that is no text"
        );
        let day = timestamp.and_then(|timestamp| timestamp.get(..10));
        let days = ["2026-01-14", "2026-01-15", "2026-01-16"];
        assert!(
            day.is_some_and(|day| days.contains(&day)),
            "accepted another day"
        );
        assert!(
            Verifier::new([""; 0])
                .verify(timestamp, signature, body, now)
                .is_err()
        );
    }
}

fn verify_standard(
    timestamp: Option<&str>,
    signatures: Option<&str>,
    id: Option<&str>,
    body: &[u8],
    now: SystemTime,
) {
    let key = standard::Key::parse(STANDARD_SECRET).expect("a whsec_ secret");
    let seconds = timestamp.and_then(|timestamp| timestamp.parse::<i64>().ok());
    let right = standard::sign(
        &key,
        id.unwrap_or_default(),
        seconds.unwrap_or_default(),
        body,
    );
    let signatures = signatures.map(|given| given.replace('@', &right));
    let is_right = signatures
        .as_ref()
        .is_some_and(|given| given.split(' ').any(|one| one == right));

    let verified = standard::verify(&[key], id, timestamp, signatures.as_deref(), body, now);
    check_answer(verified, is_right);
    if verified.is_ok() {
        let distance = seconds.map(|seconds| seconds.abs_diff(NOW_UNIX_SECONDS.cast_signed()));
        assert!(
            distance.is_some_and(|distance| distance <= 300),
            "accepted another time"
        );
    }
}

fn check_answer(verified: Result<(), Refusal>, is_right: bool) {
    match verified {
        Ok(()) => assert!(is_right, "accepted a signature that sign() does not make"),
        Err(Refusal::SignatureMismatch) => assert!(!is_right, "refused the right signature"),
        Err(refusal) => {
            assert!(matches!(refusal.http_status(), 400 | 401));
            assert!(!refusal.to_string().is_empty());
        }
    }
}

/// A header that is no text does not reach a verifier; receivers treat it as absent.
fn header(part: &[u8]) -> Option<&str> {
    str::from_utf8(part).ok().filter(|text| *text != "-")
}

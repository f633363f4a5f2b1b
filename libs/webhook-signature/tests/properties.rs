//! What holds for every delivery, whatever its secret, body and time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use time::OffsetDateTime;
use time::macros::format_description;
use webhook_signature::{REPLAY_WINDOW, Refusal, Side, Verifier, sign, standard};

proptest! {
    #[test]
    fn what_was_signed_is_accepted(secret in secret(), at_ms in at_ms(), body in ".*") {
        let at = written(at_ms);
        let signature = sign(&secret, &at, body.as_bytes());
        let verified = Verifier::new([&secret])
            .verify(Some(&at), Some(&signature), body.as_bytes(), time_at(at_ms));
        prop_assert_eq!(verified, Ok(()));
    }

    #[test]
    fn a_flipped_bit_is_refused(
        secret in secret(),
        at_ms in at_ms(),
        body in ".+",
        part in prop_oneof![Just(Part::Timestamp), Just(Part::Signature), Just(Part::Body)],
        position in any::<prop::sample::Index>(),
        bit in 0..8_u32,
    ) {
        let mut at = written(at_ms).into_bytes();
        let mut signature = sign(&secret, &written(at_ms), body.as_bytes()).into_bytes();
        let mut body = body.into_bytes();
        let bytes = match part {
            Part::Timestamp => &mut at,
            Part::Signature => &mut signature,
            Part::Body => &mut body,
        };
        let position = position.index(bytes.len());
        bytes[position] ^= 1 << bit;

        // A header that is no longer text does not reach a verifier; receivers treat it as absent.
        let (at, signature) = (str::from_utf8(&at).ok(), str::from_utf8(&signature).ok());
        let verified = Verifier::new([&secret]).verify(at, signature, &body, time_at(at_ms));
        let refusal = verified.expect_err("a changed delivery was accepted");
        match part {
            Part::Timestamp => prop_assert!(matches!(refusal.http_status(), 400 | 401)),
            Part::Signature | Part::Body => prop_assert_eq!(refusal.http_status(), 401),
        }
    }

    #[test]
    fn another_secret_is_refused(secret in secret(), other in secret(), at_ms in at_ms(), body in ".*") {
        // HMAC fills a key with zeros to its block size, so those two keys are the same key.
        prop_assume!(without_trailing_zeros(&secret) != without_trailing_zeros(&other));
        let at = written(at_ms);
        let signature = sign(&other, &at, body.as_bytes());
        let verified = Verifier::new([&secret])
            .verify(Some(&at), Some(&signature), body.as_bytes(), time_at(at_ms));
        prop_assert_eq!(verified, Err(Refusal::SignatureMismatch));
    }

    #[test]
    fn any_of_several_secrets_is_enough(
        secrets in vec(secret(), 1..5),
        signer in any::<prop::sample::Index>(),
        at_ms in at_ms(),
    ) {
        let at = written(at_ms);
        let signature = sign(signer.get::<Vec<u8>>(&secrets), &at, b"{}");
        let verified =
            Verifier::new(&secrets).verify(Some(&at), Some(&signature), b"{}", time_at(at_ms));
        prop_assert_eq!(verified, Ok(()));
    }

    #[test]
    fn the_window_ends_after_300_seconds_on_both_sides(
        at_ms in at_ms(),
        off_ms in prop_oneof![0..600_000_u64, 299_990..300_010_u64],
        side in prop_oneof![Just(Side::Past), Just(Side::Future)],
    ) {
        let off_by = Duration::from_millis(off_ms);
        let now = match side {
            Side::Past => time_at(at_ms) + off_by,
            Side::Future => time_at(at_ms) - off_by,
        };
        let expected = if off_by <= REPLAY_WINDOW {
            Ok(())
        } else {
            Err(Refusal::TimestampOutsideWindow { off_by, side })
        };
        let at = written(at_ms);
        let signature = sign(b"secret", &at, b"{}");
        let verified = Verifier::new(["secret"]).verify(Some(&at), Some(&signature), b"{}", now);
        prop_assert_eq!(verified, expected);
    }

    #[test]
    fn signed_text_cut_in_another_place_is_refused(at_ms in at_ms(), body in "[-0-9TZ:.+{}]{0,40}") {
        let at = written(at_ms);
        let signature = sign(b"secret", &at, body.as_bytes());
        let signed = format!("{at}.{body}");
        for (cut, _) in signed.match_indices('.').filter(|(cut, _)| *cut != at.len()) {
            let (at, body) = (&signed[..cut], &signed.as_bytes()[cut + 1..]);
            let verified =
                Verifier::new(["secret"]).verify(Some(at), Some(&signature), body, time_at(at_ms));
            prop_assert_eq!(verified, Err(Refusal::TimestampUnparseable));
        }
    }

    #[test]
    fn arbitrary_input_is_refused_without_a_panic(
        timestamp in option::of(prop_oneof![".*", "[0-9]{4}-[01][0-9]-[0-3][0-9]T.*", "[0-9]{1,20}"]),
        signature in option::of(prop_oneof![".*", "sha256=[0-9a-f]{64}", "(v1,[A-Za-z0-9/+]{43}= ?)*"]),
        id in option::of(".*"),
        body in vec(any::<u8>(), 0..100),
        now in any_time(),
    ) {
        let (timestamp, signature) = (timestamp.as_deref(), signature.as_deref());
        let verified = Verifier::new(["secret"]).verify(timestamp, signature, &body, now);
        prop_assert!(verified.is_err());
        let keys = [standard_key()];
        let verified = standard::verify(&keys, id.as_deref(), timestamp, signature, &body, now);
        prop_assert!(verified.is_err());
    }

    #[test]
    fn without_a_secret_nothing_is_accepted(at_ms in at_ms(), body in ".*") {
        let at = written(at_ms);
        let signature = sign(b"", &at, body.as_bytes());
        for verifier in [Verifier::new([""; 0]), Verifier::new([""])] {
            let verified =
                verifier.verify(Some(&at), Some(&signature), body.as_bytes(), time_at(at_ms));
            prop_assert_eq!(verified, Err(Refusal::SignatureMismatch));
        }
    }

    #[test]
    fn standard_webhooks_signatures_are_accepted_alone_and_in_a_list(
        id in "[a-zA-Z0-9_]{1,40}",
        at_ms in at_ms(),
        body in vec(any::<u8>(), 0..100),
        before in vec("v1,[A-Za-z0-9/+]{43}=", 0..3),
    ) {
        let seconds = i64::try_from(at_ms / 1000).expect("below the year 10000");
        let signature = standard::sign(&standard_key(), &id, seconds, &body);
        let list = [before, vec![signature]].concat().join(" ");
        let at = seconds.to_string();
        let now = time_at(at_ms);
        let keys = [standard_key()];
        let verified = standard::verify(&keys, Some(&id), Some(&at), Some(&list), &body, now);
        prop_assert_eq!(verified, Ok(()));

        let other_id = format!("{id}x");
        let verified = standard::verify(&keys, Some(&other_id), Some(&at), Some(&list), &body, now);
        prop_assert_eq!(verified, Err(Refusal::SignatureMismatch));
    }
}

#[test]
fn debug_output_shows_no_secret() {
    let verifier = Verifier::new(["topsecret", "older"]);
    assert_eq!(format!("{verifier:?}"), "Verifier(2 secrets)");
    assert_eq!(format!("{:?}", standard_key()), "Key(secret)");
}

#[test]
fn only_a_whsec_secret_is_a_standard_webhooks_key() {
    for secret in [
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS=",
        "whsec_not base64",
        "whsec_-_-_",
        "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ] {
        assert!(standard::Key::parse(secret).is_none(), "{secret:?}");
    }
}

#[test]
fn a_refusal_tells_the_developer_what_to_do_next() {
    let late = Refusal::TimestampOutsideWindow {
        off_by: Duration::from_millis(412_500),
        side: Side::Past,
    };
    assert_eq!(
        late.to_string(),
        "the delivery was signed 412.500 s before this machine's time, and at most 300 s is accepted: \
         check that the clock is synchronized; if it is, this is an old request sent again"
    );
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Timestamp,
    Signature,
    Body,
}

fn secret() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 1..100)
}

fn without_trailing_zeros(secret: &[u8]) -> &[u8] {
    let end = secret
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    &secret[..end]
}

/// Milliseconds since 1970, from 1971 to 9998.
fn at_ms() -> impl Strategy<Value = u64> {
    31_536_000_000..253_370_764_800_000_u64
}

fn any_time() -> impl Strategy<Value = SystemTime> {
    let second = prop_oneof![any::<i32>().prop_map(i64::from), any::<i64>()];
    (second, 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| {
        let distance = Duration::new(seconds.unsigned_abs(), nanos);
        let at = if seconds < 0 {
            UNIX_EPOCH.checked_sub(distance)
        } else {
            UNIX_EPOCH.checked_add(distance)
        };
        at.unwrap_or(UNIX_EPOCH)
    })
}

fn time_at(unix_ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(unix_ms)
}

/// As the server writes it.
fn written(unix_ms: u64) -> String {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    let at = OffsetDateTime::from(time_at(unix_ms)).format(&format);
    at.expect("a time has all the fields")
}

fn standard_key() -> standard::Key {
    standard::Key::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a whsec_ secret")
}

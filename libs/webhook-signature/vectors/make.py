#!/usr/bin/env python3
"""Writes service.json and standard.json, the cases every language's verifier must agree on.

Signatures are computed here with Python's hmac and hashlib, not with the Rust library, so that the
two check each other. The expected answer of each case is written by hand; `judge_service` and
`judge_standard` below state the rules a second time, and a case they disagree with is not written.

    python3 make.py           write the files
    python3 make.py --check   fail if a file is not byte for byte what would be written
"""

import base64
import datetime
import hashlib
import hmac
import json
import pathlib
import re
import sys

NOW_MS = 1_768_478_400_000  # 2026-01-15T12:00:00.000Z
NOON = "2026-01-15T12:00:00.000Z"
WINDOW_MS = 300_000

SECRET = "k7Jt2vQ9xWmB4rYc8nHs5dLg"
NEW_SECRET = "pN3zUe6aKfR1oVb7iTw0qXjM"
WRONG_SECRET = "k7Jt2vQ9xWmB4rYc8nHs5dLG"
# The id, key, time, body and signature that the Standard Webhooks libraries test with.
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER_WHSEC = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
PUBLISHED_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

EVENT = '{"event_type":"tool_call","agent_id":"agt_7","action":"mail.send","result":"denied"}'


def delivery(timestamp, rule_name="Denied mail", event=EVENT):
    body = '{"rule_id":"rul_1","rule_name":"%s","event":%s,"timestamp":"%s"}'
    return body % (rule_name, event, timestamp)


def service_signature(secret, timestamp, body):
    message = timestamp.encode() + b"." + as_bytes(body)
    return "sha256=" + hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def standard_signature(secret, delivery_id, timestamp, body):
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    message = f"{delivery_id}.{timestamp}.".encode() + as_bytes(body)
    return "v1," + base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()


def as_bytes(body):
    return body if isinstance(body, bytes) else body.encode()


def case(name, why, secrets, headers, body, code, now_ms=NOW_MS):
    body_field = {"body_base64": base64.b64encode(body).decode()} if isinstance(body, bytes) else {"body": body}
    return {
        "name": name,
        "why": why,
        "secrets": secrets,
        "now_unix_ms": now_ms,
        "headers": {header: value for header, value in headers.items() if value is not None},
        **body_field,
        "expect": {"status": STATUS[code], "code": code},
    }


STATUS = {
    "accepted": 200,
    "timestamp_missing": 400,
    "timestamp_unparseable": 400,
    "timestamp_outside_window": 400,
    "signature_missing": 401,
    "signature_mismatch": 401,
    "body_not_utf8": 401,
    "id_unusable": 401,
}


def service_cases():
    valid_body = delivery(NOON)
    valid = service_signature(SECRET, NOON, valid_body)

    def given(name, why, code, timestamp=NOON, signature=valid, previous=None, following=None, body=valid_body,
              secrets=(SECRET,), now_ms=NOW_MS):
        headers = {
            "x-service-timestamp": timestamp,
            "x-service-signature": signature,
            "x-service-signature-previous": previous,
            "x-service-signature-next": following,
        }
        return case(name, why, list(secrets), headers, body, code, now_ms)

    def signed(name, why, code, timestamp=NOON, body=None, secret=SECRET, **rest):
        body = delivery(timestamp) if body is None else body
        signature = service_signature(secret, timestamp, body)
        return given(name, why, code, timestamp=timestamp, signature=signature, body=body, **rest)

    ragged = '{"rule_id": "rul_1", "rule_name": "R", "event": {"n": 1.0, "a": "\\u00e9"}, "timestamp": "%s"}' % NOON
    reserialised = json.dumps(json.loads(ragged), separators=(",", ":"), ensure_ascii=False)
    latin1 = delivery(NOON, rule_name="Réponse").encode("latin-1")
    unicode_body = delivery(NOON, rule_name="警告 🔔 Größe \\u2028 \\\" \\n")

    yield given("valid", "A delivery signed now.", "accepted")
    yield signed("valid_empty_body", "Nothing but the timestamp and the full stop is signed.", "accepted", body="")
    yield signed("valid_unicode_body", "The body is signed as UTF-8 bytes, not as characters.", "accepted", body=unicode_body)
    yield signed("valid_body_with_newlines", "Line ends are signed as they are.", "accepted", body="{\r\n  \"rule_id\": \"rul_1\"\n}\n")
    yield signed("valid_secret_longer_than_a_block", "HMAC hashes a key above 64 bytes first.", "accepted", secret="s" * 100, secrets=("s" * 100,))
    yield signed("valid_whsec_secret_is_not_decoded", "This scheme uses the secret as given, with its prefix.", "accepted", secret=WHSEC, secrets=(WHSEC,))
    yield signed("valid_unicode_secret", "The secret's UTF-8 bytes are the key.", "accepted", secret="clé-🔑", secrets=("clé-🔑",))

    yield signed("valid_exactly_300_s_old", "The edge of the window is inside.", "accepted", timestamp="2026-01-15T11:55:00.000Z")
    yield signed("valid_exactly_300_s_ahead", "The edge of the window is inside.", "accepted", timestamp="2026-01-15T12:05:00.000Z")
    yield signed("stale_by_a_millisecond", "300.001 s old.", "timestamp_outside_window", timestamp="2026-01-15T11:54:59.999Z")
    yield signed("ahead_by_a_millisecond", "300.001 s ahead.", "timestamp_outside_window", timestamp="2026-01-15T12:05:00.001Z")
    yield signed("stale", "A valid delivery, replayed an hour later.", "timestamp_outside_window", timestamp="2026-01-15T11:00:00.000Z")
    yield signed("future", "Signed an hour ahead of the receiver's clock.", "timestamp_outside_window", timestamp="2026-01-15T13:00:00.000Z")
    yield given("stale_and_mismatched", "The time is judged before the signature.", "timestamp_outside_window", timestamp="2026-01-15T11:00:00.000Z")
    yield given("fresh_timestamp_on_an_old_signature", "The timestamp is signed, so it cannot be renewed.", "signature_mismatch", timestamp="2026-01-15T12:00:00.001Z")

    yield signed("valid_without_fraction", "Any RFC 3339 date-time with an offset is read.", "accepted", timestamp="2026-01-15T12:00:00Z")
    yield signed("valid_with_nine_fraction_digits", "Up to nanoseconds are read.", "accepted", timestamp="2026-01-15T12:00:00.123456789Z")
    yield signed("valid_with_offset", "The same instant, written with an offset.", "accepted", timestamp="2026-01-15T13:00:00.000+01:00")
    yield given("same_instant_written_differently", "The text of the timestamp is signed, not the instant.", "signature_mismatch", timestamp="2026-01-15T12:00:00Z")
    yield signed("stale_in_utc_fresh_by_local_time", "The offset counts.", "timestamp_outside_window", timestamp="2026-01-15T12:00:00.000+01:00")
    yield signed("stale_by_two_millennia", "The year 0000 is a year, and not near.", "timestamp_outside_window", timestamp="0000-01-15T12:00:00.000Z")

    yield given("timestamp_missing", "No header.", "timestamp_missing", timestamp=None)
    yield given("everything_missing", "The timestamp is asked for first.", "timestamp_missing", timestamp=None, signature=None)
    for name, why, timestamp in [
        ("empty", "An empty value is no time.", ""),
        ("words", "Not a time.", "yesterday"),
        ("unix_seconds", "Belongs to the other scheme.", "1768478400"),
        ("date_only", "A date is no instant.", "2026-01-15"),
        ("no_offset", "Without an offset the instant is unknown, and the signed text ambiguous.", "2026-01-15T12:00:00.000"),
        ("space_separator", "Parsers disagree about it.", "2026-01-15 12:00:00.000Z"),
        ("lowercase", "Parsers disagree about it.", "2026-01-15t12:00:00.000z"),
        ("ten_fraction_digits", "Parsers disagree about it.", "2026-01-15T12:00:00.0000000000Z"),
        ("impossible_date", "2026 is no leap year.", "2026-02-29T12:00:00.000Z"),
        ("leap_second", "Parsers disagree about it.", "2026-01-15T11:59:60.000Z"),
        ("hour_24", "Parsers disagree about it.", "2026-01-15T24:00:00.000+12:00"),
        ("offset_of_24_hours", "An offset is at most 23:59.", "2026-01-16T12:00:00.000+24:00"),
        ("offset_of_60_minutes", "An offset is at most 23:59, with minutes below 60.", "2026-01-15T13:00:00.000+00:60"),
        ("trailing_text", "Nothing may follow the offset.", NOON + "x"),
    ]:
        yield signed(f"timestamp_unparseable_{name}", why, "timestamp_unparseable", timestamp=timestamp)
    # "…12:00:00" "." "000Z.{…}" is the same signed text as "…12:00:00.000Z" "." "{…}".
    yield given("timestamp_cut_at_its_full_stop", "The signature matches, but the timestamp has no offset.", "timestamp_unparseable", timestamp=NOON[:19], body="000Z." + valid_body)

    digest = valid.removeprefix("sha256=")
    yield given("signature_missing", "No header: no secret is configured at the sender.", "signature_missing", signature=None)
    for name, why, signature in [
        ("empty", "An empty value is compared like any other.", ""),
        ("too_short", "Another length is a mismatch.", valid[:-1]),
        ("too_long", "Another length is a mismatch.", valid + "0"),
        ("prefix_only", "Another length is a mismatch.", "sha256="),
        ("without_prefix", "The prefix is part of the value.", digest),
        ("other_prefix", "The prefix is part of the value.", "sha512=" + digest),
        ("uppercase_hex", "The digest is lowercase.", "sha256=" + digest.upper()),
        ("uppercase_prefix", "The prefix is lowercase.", "SHA256=" + digest),
        ("base64", "The digest is hexadecimal.", "sha256=" + base64.b64encode(bytes.fromhex(digest)).decode()),
        ("last_digit_changed", "Every digit is compared.", valid[:-1] + ("0" if valid[-1] != "0" else "1")),
        ("quoted", "The value is compared as received.", f'"{valid}"'),
        ("body_only", "A signature of the body without the time.", "sha256=" + hmac.new(SECRET.encode(), valid_body.encode(), hashlib.sha256).hexdigest()),
        ("plain_hash", "A hash without the secret.", "sha256=" + hashlib.sha256(f"{NOON}.{valid_body}".encode()).hexdigest()),
    ]:
        yield given(f"signature_{name}", why, "signature_mismatch", signature=signature)

    yield signed("valid_ragged_body", "The body before it is parsed and written again.", "accepted", body=ragged)
    yield given("reserialised_body", "The same JSON in other bytes.", "signature_mismatch", signature=service_signature(SECRET, NOON, ragged), body=reserialised)
    yield given("body_changed", "One letter of the result.", "signature_mismatch", body=valid_body.replace("denied", "denies"))
    yield given("body_with_trailing_newline", "A proxy or a test tool added a line end.", "signature_mismatch", body=valid_body + "\n")
    yield given("body_removed", "The signature of another body.", "signature_mismatch", body="")
    yield signed("body_not_utf8", "Signed bytes that are no text are not what Watchbell sends.", "body_not_utf8", body=latin1)
    yield given("body_not_utf8_read_loosely", "The signature is of the body with U+FFFD in place of the bad bytes.", "body_not_utf8", signature=service_signature(SECRET, NOON, latin1.decode("utf-8", "replace")), body=latin1)

    yield signed("wrong_secret", "Signed with another secret.", "signature_mismatch", secret=WRONG_SECRET)
    yield given("no_secrets", "Without a secret nothing is accepted.", "signature_mismatch", secrets=())
    yield signed("empty_secret", "An empty secret is no secret.", "signature_mismatch", secret="", secrets=("",))
    yield signed("rotation_receiver_knows_both_sender_uses_new", "Any one of the secrets is enough.", "accepted", secret=NEW_SECRET, secrets=(NEW_SECRET, SECRET))
    yield signed("rotation_receiver_knows_both_sender_uses_old", "Any one of the secrets is enough.", "accepted", secret=SECRET, secrets=(NEW_SECRET, SECRET))
    yield signed("rotation_receiver_knows_only_the_old", "The previous signature is enough.", "accepted", secret=NEW_SECRET, previous=valid)
    yield given("rotation_receiver_knows_only_the_next", "The next signature is enough.", "accepted", following=service_signature(NEW_SECRET, NOON, valid_body), secrets=(NEW_SECRET,))
    yield signed("rotation_is_over", "The old secret is no longer used.", "signature_mismatch", secret=NEW_SECRET)
    yield signed("previous_signature_wrong", "A previous signature is checked like the other.", "signature_mismatch", secret=NEW_SECRET, previous=service_signature(WRONG_SECRET, NOON, valid_body))
    yield signed("next_signature_wrong", "A next signature is checked like the other.", "signature_mismatch", secret=NEW_SECRET, following=service_signature(WRONG_SECRET, NOON, valid_body))


def standard_cases():
    delivery_id, noon = "del_01JHM3", "1768478400"
    valid_body = delivery(NOON)
    valid = standard_signature(WHSEC, delivery_id, noon, valid_body)
    other = standard_signature(OTHER_WHSEC, delivery_id, noon, valid_body)

    def given(name, why, code, id=delivery_id, timestamp=noon, signature=valid, body=valid_body,
              secrets=(WHSEC,), now_ms=NOW_MS):
        headers = {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature}
        return case(name, why, list(secrets), headers, body, code, now_ms)

    def signed(name, why, code, id=delivery_id, timestamp=noon, body=valid_body, **rest):
        signature = standard_signature(WHSEC, id, timestamp, body)
        return given(name, why, code, id=id, timestamp=timestamp, signature=signature, body=body, **rest)

    published_body = '{"test": 2432232314}'
    published = standard_signature(WHSEC, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", published_body)
    assert published == PUBLISHED_SIGNATURE, "the scheme is not the one the Standard Webhooks libraries implement"

    yield given("valid", "A delivery signed now.", "accepted")
    yield given("valid_published_example", "The example in the tests of the Standard Webhooks libraries.", "accepted", id="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp="1614265330", signature=PUBLISHED_SIGNATURE, body=published_body, now_ms=1_614_265_330_000)
    yield signed("valid_empty_body", "Only the id and the time are signed.", "accepted", body="")
    yield signed("valid_unicode_body", "The body is signed as UTF-8 bytes.", "accepted", body=delivery(NOON, rule_name="警告 🔔"))
    yield given("valid_first_of_two_signatures", "One match is enough.", "accepted", signature=f"{valid} {other}")
    yield given("valid_second_of_two_signatures", "One match is enough.", "accepted", signature=f"{other} {valid}")
    yield given("valid_beside_another_scheme", "A signature of an unknown scheme is passed over.", "accepted", signature=f"v1a,{valid[3:]} {valid}")
    yield given("valid_with_the_first_key", "Any one of the keys is enough.", "accepted", secrets=(WHSEC, OTHER_WHSEC))
    yield given("valid_with_the_second_key", "Any one of the keys is enough.", "accepted", secrets=(OTHER_WHSEC, WHSEC))

    yield signed("valid_exactly_300_s_old", "The edge of the window is inside.", "accepted", timestamp="1768478100")
    yield signed("valid_exactly_300_s_ahead", "The edge of the window is inside.", "accepted", timestamp="1768478700")
    yield signed("stale", "301 s old.", "timestamp_outside_window", timestamp="1768478099")
    yield signed("future", "301 s ahead.", "timestamp_outside_window", timestamp="1768478701")
    yield given("timestamp_missing", "No header.", "timestamp_missing", timestamp=None)
    for name, why, timestamp in [
        ("empty", "An empty value is no time.", ""),
        ("iso", "Belongs to the other scheme.", NOON),
        ("fraction", "Whole seconds only.", "1768478400.0"),
        ("leading_zero", "One spelling only, as libraries sign the number they read.", "01768478400"),
        ("sign", "One spelling only, as libraries sign the number they read.", "+1768478400"),
        ("too_large", "Above 2^63.", "9223372036854775808"),
    ]:
        yield signed(f"timestamp_unparseable_{name}", why, "timestamp_unparseable", timestamp=timestamp)

    yield given("id_missing", "No header.", "id_unusable", id=None)
    yield signed("id_empty", "An empty id identifies nothing.", "id_unusable", id="")
    yield signed("id_with_a_full_stop", "The signed text could be cut in another place.", "id_unusable", id="del_1.2")
    yield given("id_changed", "The id is signed.", "signature_mismatch", id="del_01JHM4")

    yield given("signature_missing", "No header.", "signature_missing", signature=None)
    for name, why, signature in [
        ("empty", "An empty list has no match.", ""),
        ("other_key", "Signed with another key.", other),
        ("without_scheme", "The scheme is part of a signature.", valid[3:]),
        ("other_scheme", "Only v1 is known.", "v2," + valid[3:]),
        ("unpadded", "The padding is part of a signature.", valid.rstrip("=")),
        ("too_long", "Another length is a mismatch.", valid + "="),
        ("comma_list", "The list is separated by spaces.", f"{other},{valid}"),
        ("service_form", "The signature of the other scheme.", service_signature(WHSEC, NOON, valid_body)),
    ]:
        yield given(f"signature_{name}", why, "signature_mismatch", signature=signature)
    yield given("body_changed", "One letter of the result.", "signature_mismatch", body=valid_body.replace("denied", "denies"))
    yield given("no_keys", "Without a key nothing is accepted.", "signature_mismatch", secrets=())


# The rules once more, as plainly as possible.

TIME = r"(?:[01]\d|2[0-3]):[0-5]\d"
RFC3339 = re.compile(rf"(\d{{4}}-\d\d-\d\dT{TIME}:\d\d)(?:\.(\d{{1,9}}))?(Z|[+-]{TIME})", re.ASCII)


def judge_service(secrets, headers, body, now_ms):
    timestamp = headers.get("x-service-timestamp")
    if timestamp is None:
        return "timestamp_missing"
    parts = RFC3339.fullmatch(timestamp)
    try:
        # Python has no year 0, which is a leap year and long ago, and so is the year 400.
        local = re.sub("^0000", "0400", parts[1])
        at = datetime.datetime.fromisoformat(local + parts[3].replace("Z", "+00:00"))
    except (TypeError, ValueError):
        return "timestamp_unparseable"
    at_ms = at.timestamp() * 1000 + int((parts[2] or "0").ljust(9, "0")) / 1e6
    if abs(now_ms - at_ms) > WINDOW_MS:
        return "timestamp_outside_window"
    names = ("x-service-signature", "x-service-signature-previous", "x-service-signature-next")
    received = [headers[name] for name in names if name in headers]
    if not received:
        return "signature_missing"
    try:
        as_bytes(body).decode()
    except UnicodeDecodeError:
        return "body_not_utf8"
    expected = [service_signature(secret, timestamp, body) for secret in secrets if secret]
    return any_equal(expected, received)


def judge_standard(secrets, headers, body, now_ms):
    timestamp = headers.get("webhook-timestamp")
    if timestamp is None:
        return "timestamp_missing"
    if not re.fullmatch(r"0|[1-9]\d{0,18}", timestamp, re.ASCII) or int(timestamp) >= 2**63:
        return "timestamp_unparseable"
    if abs(now_ms - int(timestamp) * 1000) > WINDOW_MS:
        return "timestamp_outside_window"
    delivery_id = headers.get("webhook-id", "")
    if delivery_id == "" or "." in delivery_id:
        return "id_unusable"
    if "webhook-signature" not in headers:
        return "signature_missing"
    expected = [standard_signature(secret, delivery_id, timestamp, body) for secret in secrets]
    return any_equal(expected, headers["webhook-signature"].split(" "))


def any_equal(expected, received):
    pairs = [hmac.compare_digest(a.encode(), b.encode()) for a in expected for b in received]
    return "accepted" if any(pairs) else "signature_mismatch"


def document(scheme, cases, judge):
    cases = list(cases)
    assert len({c["name"] for c in cases}) == len(cases), "two cases have the same name"
    for c in cases:
        body = base64.b64decode(c["body_base64"]) if "body_base64" in c else c["body"]
        judged = judge(c["secrets"], c["headers"], body, c["now_unix_ms"])
        assert judged == c["expect"]["code"], f"{scheme} {c['name']}: judged {judged}"
    text = json.dumps({"version": 1, "scheme": scheme, "cases": cases}, indent=2, ensure_ascii=False)
    return (text + "\n").encode()


def main():
    folder = pathlib.Path(__file__).resolve().parent
    files = {
        "service.json": document("service", service_cases(), judge_service),
        "standard.json": document("standard", standard_cases(), judge_standard),
    }
    for name, content in files.items():
        if "--check" not in sys.argv[1:]:
            (folder / name).write_bytes(content)
        elif (folder / name).read_bytes() != content:
            sys.exit(f"{name} is not what make.py writes; run: python3 make.py")


if __name__ == "__main__":
    main()

"""Deciding whether a webhook is authentic and recent, with nothing but the standard library."""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import hmac
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import WatchbellError

SECRET_VARIABLE = "WATCHBELL_SIGNING_SECRET"  # noqa: S105 - the name of the variable

REPLAY_WINDOW_NS = 300 * 1_000_000_000
"""Service specification, 5.2.7."""

TIMESTAMP = "x-service-timestamp"
SIGNATURES = ("x-service-signature", "x-service-signature-previous", "x-service-signature-next")
STANDARD_ID = "webhook-id"
STANDARD_TIMESTAMP = "webhook-timestamp"
STANDARD_SIGNATURES = "webhook-signature"


class Refused(WatchbellError):
    """The delivery is not to be believed. Answer with `status`: 400 if its time is at fault, 401 otherwise."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.status = 400 if code.startswith("timestamp_") else 401
        super().__init__(WHY[code])


WHY = {
    "timestamp_missing": "there is no timestamp header; check that no proxy removes it",
    "timestamp_unparseable": "the timestamp cannot be read; pass the header as it was received",
    "timestamp_outside_window": "it was signed more than 300 s from now; check this machine's clock",
    "signature_missing": "there is no signature header; the sender has no signing secret",
    "signature_mismatch": "the signature is of another secret or of another body; verify the bytes as received",
    "body_not_utf8": "the body is not UTF-8, so it is not what was signed",
    "id_unusable": "the id is missing or has a full stop; pass the header as it was received",
}
"""What every code of a refusal is about."""


@dataclass(frozen=True)
class Delivery:
    """A delivery whose body was verified."""

    id: str | None
    """The same whenever it is sent again: keep the ids that you have processed, to process each once. `None` if
    there is no such header.

    Unlike the body, `X-Service-Delivery-Id` is not signed: whoever captured a delivery can send it again under
    another id for 300 s. If doing it twice would hurt, also keep what is signed, such as the id of the event. The
    `webhook-id` of a delivery that was verified by its Standard Webhooks headers is signed.
    """
    body: bytes

    def json(self) -> Any:
        """`rule_id`, `rule_name`, `event` and `timestamp`."""
        return json.loads(self.body)

    @property
    def event_type(self) -> str | None:
        """The type of the event, as the body says: the header `X-Service-Event` is not signed. `None` if the body
        has no event."""
        try:
            event_type = self.json()["event"]["event_type"]
        except (ValueError, RecursionError, KeyError, IndexError, TypeError):
            return None
        return event_type if isinstance(event_type, str) else None


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes,
    secrets: str | Iterable[str] | None = None,
    now: float | None = None,
) -> Delivery:
    """Returns the delivery if it was signed with one of `secrets` at most 300 s from `now`, else raises `Refused`.

    `body` is the body as it was received, before anything parses it. Without `secrets` the secret is that of
    `WATCHBELL_SIGNING_SECRET`; give several while one is rotated. `now` is in seconds since 1970, as
    `time.time()`.

    A delivery that has the Standard Webhooks headers only is verified by them.
    """
    keys = _secrets(secrets)
    now_ns = time.time_ns() if now is None else round(now * 1e9)
    named = {name.lower(): value for name, value in headers.items()}
    if _is_standard(named):
        _verify_standard(named, body, keys, now_ns)
        return Delivery(named[STANDARD_ID], body)
    _verify_service(named, body, keys, now_ns)
    return Delivery(named.get("x-service-delivery-id") or named.get(STANDARD_ID) or None, body)


def _secrets(given: str | Iterable[str] | None) -> list[str]:
    if given is None:
        given = os.environ.get(SECRET_VARIABLE)
        if not given:
            raise ValueError(f"pass secrets or set {SECRET_VARIABLE}")
    return [given] if isinstance(given, str) else list(given)


def _is_standard(headers: Mapping[str, str]) -> bool:
    has_own = TIMESTAMP in headers or any(name in headers for name in SIGNATURES)
    names = (STANDARD_ID, STANDARD_TIMESTAMP, STANDARD_SIGNATURES)
    return not has_own and any(name in headers for name in names)


def _verify_service(headers: Mapping[str, str], body: bytes, secrets: list[str], now_ns: int) -> None:
    timestamp = _within_window(headers.get(TIMESTAMP), _rfc3339_ns, now_ns)
    received = [headers[name] for name in SIGNATURES if name in headers]
    if not received:
        raise Refused("signature_missing")
    try:
        body.decode()
    except UnicodeDecodeError:
        raise Refused("body_not_utf8") from None
    signed = timestamp.encode() + b"." + body
    # An empty secret is known to everybody; usually it is a setting that was forgotten.
    digests = [hmac.new(secret.encode(), signed, hashlib.sha256) for secret in secrets if secret]
    _one_matches([f"sha256={digest.hexdigest()}" for digest in digests], received)


def _verify_standard(headers: Mapping[str, str], body: bytes, secrets: list[str], now_ns: int) -> None:
    timestamp = _within_window(headers.get(STANDARD_TIMESTAMP), _unix_ns, now_ns)
    delivery_id = headers.get(STANDARD_ID, "")
    if not delivery_id or "." in delivery_id:
        raise Refused("id_unusable")
    if STANDARD_SIGNATURES not in headers:
        raise Refused("signature_missing")
    signed = f"{delivery_id}.{timestamp}.".encode() + body
    digests = [hmac.digest(key, signed, "sha256") for key in map(_standard_key, secrets) if key]
    expected = [f"v1,{base64.b64encode(digest).decode()}" for digest in digests]
    _one_matches(expected, headers[STANDARD_SIGNATURES].split(" "))


def _standard_key(secret: str) -> bytes:
    """What follows `whsec_`, decoded; empty for any other secret, which that scheme cannot use."""
    if not secret.startswith("whsec_"):
        return b""
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        return b""


def _one_matches(expected: list[str], received: list[str]) -> None:
    """Compares all with all in constant time, so that the time does not tell which one matched."""
    pairs = [(one.encode(), other.encode(errors="replace")) for one in expected for other in received]
    if not any([hmac.compare_digest(one, other) for one, other in pairs]):  # noqa: C419 - no early exit
        raise Refused("signature_mismatch")


def _within_window(timestamp: str | None, parse: Callable[[str], int], now_ns: int) -> str:
    if timestamp is None:
        raise Refused("timestamp_missing")
    try:
        at_ns = parse(timestamp)
    except ValueError:
        raise Refused("timestamp_unparseable") from None
    if abs(now_ns - at_ns) > REPLAY_WINDOW_NS:
        raise Refused("timestamp_outside_window")
    return timestamp


# Hours and minutes are said here, as some versions of `fromisoformat` read 24:00 and an offset of 60 minutes.
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d"
_RFC3339 = re.compile(rf"(\d{{4}}-\d\d-\d\dT{_TIME}:\d\d)(?:\.(\d{{1,9}}))?(Z|[+-]{_TIME})", re.ASCII)
_UNIX = re.compile(r"0|[1-9]\d{0,18}", re.ASCII)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _rfc3339_ns(text: str) -> int:
    parts = _RFC3339.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    # Python has no year 0, which is a leap year and long ago, and so is the year 400.
    local = re.sub("^0000", "0400", parts[1])
    at = datetime.datetime.fromisoformat(local + parts[3].replace("Z", "+00:00"))
    whole_seconds = (at - _EPOCH) // datetime.timedelta(seconds=1)
    return whole_seconds * 1_000_000_000 + int((parts[2] or "0").ljust(9, "0"))


def _unix_ns(text: str) -> int:
    if not _UNIX.fullmatch(text) or int(text) >= 2**63:
        raise ValueError(text)
    return int(text) * 1_000_000_000

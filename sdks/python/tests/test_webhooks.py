"""Every vector, the captured bytes, and how the secret is found."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from watchbell import Delivery, Refused, verify_webhook

ROOT = Path(__file__).parents[3]
VECTORS = ROOT / "libs/webhook-signature/vectors"
CAPTURED = json.loads((ROOT / "sdks/captured/deliveries.json").read_text())


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in json.loads((VECTORS / name).read_text())["cases"]]


@pytest.mark.parametrize("case", cases("service.json") + cases("standard.json"))
def test_vector(case: dict[str, Any]) -> None:
    body = base64.b64decode(case["body_base64"]) if "body_base64" in case else case["body"].encode()
    expected = case["expect"]

    def verify() -> None:
        verify_webhook(case["headers"], body, case["secrets"], case["now_unix_ms"] / 1000)

    if expected["code"] == "accepted":
        verify()
        return
    with pytest.raises(Refused) as refused:
        verify()
    assert (refused.value.status, refused.value.code) == (expected["status"], expected["code"])


@pytest.mark.parametrize("delivery", CAPTURED["deliveries"])
def test_what_a_real_server_sent_is_accepted_and_anything_else_is_not(delivery: dict[str, Any]) -> None:
    headers, body = delivery["headers"], base64.b64decode(delivery["body_base64"])
    now = CAPTURED["received_at_unix_ms"] / 1000

    verified = verify_webhook(headers, body, CAPTURED["secret"], now)
    assert verified.id == headers["x-service-delivery-id"]
    assert verified.event_type == verified.json()["event"]["event_type"]

    standard = {name: value for name, value in headers.items() if not name.startswith("x-service-")}
    assert verify_webhook(standard, body, CAPTURED["secret"], now).id == verified.id

    for either in (headers, standard):
        with pytest.raises(Refused, match="another body"):
            verify_webhook(either, body.replace(b"denied", b"allowed"), CAPTURED["secret"], now)


def test_only_what_is_signed_is_believed() -> None:
    delivery = CAPTURED["deliveries"][0]
    body, now = base64.b64decode(delivery["body_base64"]), CAPTURED["received_at_unix_ms"] / 1000
    headers = {**delivery["headers"], "x-service-event": "other", "x-service-delivery-id": "dlv_other"}

    assert verify_webhook(headers, body, CAPTURED["secret"], now).event_type == json.loads(body)["event"]["event_type"]
    without_id = {name: value for name, value in headers.items() if not name.endswith("-id")}
    assert verify_webhook(without_id, body, CAPTURED["secret"], now).id is None
    standard = {name: value for name, value in headers.items() if not name.startswith("x-service-")}
    unsigned = {**standard, "x-service-delivery-id": "dlv_other"}
    assert verify_webhook(unsigned, body, CAPTURED["secret"], now).id == headers["webhook-id"]
    for other in (b"", b"[]", b"{}", b'{"event":[]}', b'{"event":{"event_type":1}}', b"[" * 100_000):
        assert Delivery(None, other).event_type is None


def test_writing_the_body_again_is_noticed() -> None:
    changed = [one for one in CAPTURED["deliveries"] if _rewritten(one) != base64.b64decode(one["body_base64"])]
    assert len(changed) >= 3
    for one in changed:
        with pytest.raises(Refused) as refused:
            verify_webhook(one["headers"], _rewritten(one), CAPTURED["secret"], CAPTURED["received_at_unix_ms"] / 1000)
        assert refused.value.code == "signature_mismatch"


def _rewritten(delivery: dict[str, Any]) -> bytes:
    parsed = json.loads(base64.b64decode(delivery["body_base64"]))
    return json.dumps(parsed, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("role", ["previous", "next"])
def test_the_signature_of_a_secret_that_comes_or_goes_counts(role: str) -> None:
    delivery = CAPTURED["deliveries"][0]
    headers = dict(delivery["headers"])
    headers[f"x-service-signature-{role}"] = headers.pop("x-service-signature")
    body = base64.b64decode(delivery["body_base64"])
    now = CAPTURED["received_at_unix_ms"] / 1000
    assert verify_webhook(headers, body, CAPTURED["secret"], now)
    headers["x-service-signature"] = "sha256=" + 64 * "0"
    assert verify_webhook(headers, body, ["another", CAPTURED["secret"]], now)


def test_the_secret_comes_from_the_environment_and_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    delivery = CAPTURED["deliveries"][0]
    headers = {name.title(): value for name, value in delivery["headers"].items()}
    body = base64.b64decode(delivery["body_base64"])
    now = CAPTURED["received_at_unix_ms"] / 1000
    monkeypatch.setenv("WATCHBELL_SIGNING_SECRET", CAPTURED["secret"])
    assert verify_webhook(headers, body, now=now)
    with pytest.raises(Refused) as refused:
        verify_webhook(headers, body)
    assert (refused.value.status, refused.value.code) == (400, "timestamp_outside_window")
    monkeypatch.delenv("WATCHBELL_SIGNING_SECRET")
    with pytest.raises(ValueError, match="WATCHBELL_SIGNING_SECRET"):
        verify_webhook(headers, body, now=now)

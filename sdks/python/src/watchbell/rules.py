"""Alert rules, as far as a program makes its own; `Watchbell.request` does the rest."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from .calls import Call, Params, encode

PATH = "/v1/alert-rules"


def create(rule: Mapping[str, Any]) -> Call:
    return Call("POST", PATH, body=encode(rule), idempotency_key=uuid.uuid4().hex)


def find(filters: Params) -> Call:
    return Call("GET", PATH, filters)


def delete(rule_id: str) -> Call:
    return Call("DELETE", f"{PATH}/{quote(rule_id, safe='')}")

"""One real server for the whole run, with policies that give every verdict."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from server import Server, Wire, running

from watchbell import AsyncWatchbell, Recorder, Watchbell

# Tests list and ask more often than an agent does.
LIMITS = {
    "WATCHBELL__LIMITS__INGEST": "100000/60s",
    "WATCHBELL__LIMITS__LIST": "100000/60s",
    "WATCHBELL__LIMITS__READS": "100000/60s",
    "WATCHBELL__LIMITS__RULE_WRITES": "1000/60s",
}

POLICIES = Path(__file__).with_name("policies.cedar").read_text()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running(LIMITS) as server:
        with Watchbell(server.url, server.api_key) as admin:
            # Here one key is the agent and the person who approves.
            admin.request("PATCH", "/v1/policies", json={"self_approval_allowed": True})
            version = admin.request("POST", "/v1/policies/versions", json={"policies": POLICIES})["version"]
            admin.request("POST", f"/v1/policies/versions/{version}/activate", json={})
        yield server


@pytest.fixture
def own_server() -> Iterator[Server]:
    """For tests that stop it."""
    with running(LIMITS) as server:
        yield server


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    wire = Wire(server.address)
    yield wire
    wire.cut()


@pytest.fixture(autouse=True)
def _environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBELL_URL", server.url)
    monkeypatch.setenv("WATCHBELL_API_KEY", server.api_key)
    monkeypatch.setenv("WATCHBELL_SIGNING_SECRET", server.dev["signing_secret"])


@pytest.fixture
def client() -> Iterator[Watchbell]:
    with Watchbell() as client:
        yield client


@pytest.fixture
async def async_client() -> AsyncIterator[AsyncWatchbell]:
    async with AsyncWatchbell() as client:
        yield client


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as recorder:
        yield recorder


@pytest.fixture
def agent() -> str:
    """An agent of this test alone, so that its events are found."""
    return f"agent-{uuid.uuid4().hex[:12]}"


assert "WATCHBELL_BINARY" in os.environ, "run scripts/test-python-sdk, which says where the server is"

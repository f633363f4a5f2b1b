"""The example receiver as a process: what the contract says it answers, and a real delivery."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from server import Server

from watchbell import Watchbell

EXAMPLE = Path(__file__).parents[1] / "examples/receiver.py"


class Receiver:
    def __init__(self, secret: str) -> None:
        environment = {**os.environ, "WATCHBELL_SIGNING_SECRET": secret}
        command = [sys.executable, str(EXAMPLE), "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().split()[-1]

    def post(self, body: bytes, **headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.post(self.url, content=body, headers=named).status_code

    def next_line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def stop(self) -> str:
        """Everything that it processed and that was not read yet."""
        self._process.send_signal(signal.SIGTERM)
        said, _ = self._process.communicate(timeout=20)
        assert self._process.returncode == 0
        return said


SECRET = "k7Jt2vQ9xWmB4rYc8nHs5dLg"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver(SECRET)
    yield receiver
    if receiver._process.poll() is None:
        receiver.stop()


def signed(body: bytes, age_s: float = 0, secret: str = SECRET) -> dict[str, str]:
    at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=age_s)
    timestamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    digest = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {"x_service_timestamp": timestamp, "x_service_signature": f"sha256={digest}"}


def test_it_answers_as_the_contract_says(receiver: Receiver) -> None:
    body = '{"rule_name":"Größe 🔔","event":{"event_type":"tool_call","n":1.0}}'.encode()
    assert receiver.post(body, **signed(body), x_service_delivery_id="dlv_1", x_service_event="login") == 200
    assert receiver.next_line() == f"dlv_1 tool_call {body.decode()}\n"
    assert receiver.post(body, **signed(body, age_s=299)) == 200
    assert receiver.post(body, **signed(body, age_s=302)) == 400
    assert receiver.post(body, **signed(body, age_s=-302)) == 400
    assert receiver.post(body) == 400
    assert receiver.post(body, x_service_timestamp="yesterday") == 400
    assert receiver.post(body, x_service_timestamp=signed(body)["x_service_timestamp"]) == 401
    assert receiver.post(body, **signed(body, secret="another")) == 401
    assert receiver.post(body + b" ", **signed(body)) == 401
    assert receiver.post(b"\xff", **signed(b"\xff")) == 401


def test_a_delivery_that_comes_twice_is_processed_once(receiver: Receiver) -> None:
    for _ in range(3):
        assert receiver.post(b"{}", **signed(b"{}"), x_service_delivery_id="dlv_1") == 200
    assert receiver.post(b"{}", **signed(b"{}"), x_service_delivery_id="dlv_2") == 200
    assert [line.split()[0] for line in receiver.stop().splitlines()] == ["dlv_1", "dlv_2"]


def test_deliveries_without_an_id_are_all_processed(receiver: Receiver) -> None:
    for n in range(3):
        body = f"[{n}]".encode()
        assert receiver.post(body, **signed(body)) == 200
    assert [line.split()[-1] for line in receiver.stop().splitlines()] == ["[0]", "[1]", "[2]"]


def test_a_body_that_is_too_large_is_not_read(receiver: Receiver) -> None:
    host, port = receiver.url.removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: 300000\r\n\r\n")
        assert connection.recv(1000).split()[1] == b"413"


def test_a_real_delivery_arrives(server: Server, client: Watchbell, agent: str) -> None:
    receiver = Receiver(server.dev["signing_secret"])
    rule = client.rules.create(name="Größe", match={"agent_id": [agent]}, url=receiver.url)
    started = time.monotonic()
    client.events.send({"event_type": "tool_call", "agent_id": agent, "action": "a.b", "result": "denied"})
    delivery_id, event_type, body = receiver.next_line().split(" ", 2)
    assert time.monotonic() - started < 20
    assert delivery_id.startswith("dlv_")
    assert event_type == "tool_call"
    assert json.loads(body)["event"]["agent_id"] == agent
    assert json.loads(body)["rule_name"] == "Größe"
    deadline = time.monotonic() + 20
    while (state := client.request("GET", f"/v1/deliveries/{delivery_id}")["state"]) != "delivered":
        assert time.monotonic() < deadline, state
        time.sleep(0.05)
    client.rules.delete(rule["id"])
    receiver.stop()


def test_it_does_not_start_without_a_secret() -> None:
    environment = {**os.environ, "WATCHBELL_SIGNING_SECRET": ""}
    ended = subprocess.run([sys.executable, str(EXAMPLE), "0"], env=environment, capture_output=True, timeout=20)
    assert ended.returncode == 1
    assert b"WATCHBELL_SIGNING_SECRET" in ended.stderr

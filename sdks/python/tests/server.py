"""The real server as a process, and a wire to it that a test can cut."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

STOP_SECONDS_MAX = 60


class Server:
    """`watchbell dev` with its data in a folder, so that it can be stopped and started again."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = {**os.environ, **settings}
        self.start()

    def start(self) -> None:
        command = [os.environ["WATCHBELL_BINARY"], "dev", "--json", "--data-dir", str(self._folder)]
        log = self._folder / "server.log"
        with log.open("wb") as errors:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=self._environment)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said:
            self.stop()
            raise RuntimeError(f"the server did not start: {log.read_text()}")
        self.dev: dict[str, Any] = json.loads(said)

    @property
    def url(self) -> str:
        return str(self.dev["base_url"])

    @property
    def api_key(self) -> str:
        return str(self.dev["api_key"])

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(how)
        self._process.wait(STOP_SECONDS_MAX)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextlib.contextmanager
def running(settings: Mapping[str, str]) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="watchbell-sdk-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user if we are root
        server = Server(Path(folder), settings)
        try:
            yield server
        finally:
            server.stop()


class Wire:
    """A TCP address that leads to the server, for as long as the test wants it to."""

    def __init__(self, to: tuple[str, int]) -> None:
        self.to = to
        self.loses_answers = False
        self.other_answers: list[bytes] = []
        self.requests_lost = 0
        self.statuses: Counter[str] = Counter()
        self._connections: list[_Connection] = []
        self._listen(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def cut(self) -> None:
        """Nobody is there any more: connections end, and new ones are refused."""
        _end(self._listener)
        self._listener.close()
        for one in list(self._connections):
            _end(one.near)
            one.thread.join()

    def mend(self) -> None:
        self._listen(self._port)

    def _listen(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                self._connections.append(_Connection(self, near))


class _Connection:
    """One connection through the wire, copied both ways."""

    def __init__(self, wire: Wire, near: socket.socket) -> None:
        self._wire = wire
        self.near = near
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with self.near, contextlib.suppress(OSError), socket.create_connection(self._wire.to, timeout=5) as far:
            far.settimeout(None)
            back = threading.Thread(target=self._copy, args=(far, self.near, True), daemon=True)
            back.start()
            self._copy(self.near, far, False)
            back.join()

    def _copy(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_answer and data.startswith(b"HTTP/1.1 "):
                    self._wire.statuses[data[9:12].decode()] += 1
                if is_answer and self._wire.other_answers:
                    target.sendall(self._wire.other_answers.pop(0))
                    break
                if is_answer and self._wire.loses_answers:
                    self._wire.requests_lost += 1
                    break
                target.sendall(data)
        _end(source)
        _end(target)


class Peer:
    """Somebody at the service's address who is not the service: says this, and then this again and again."""

    def __init__(self, answer: bytes | None, drip: bytes = b"") -> None:
        self._answer = answer
        self._drip = drip
        self._ended = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        _end(self._listener)
        self._listener.close()
        for one in self.connections:
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                one, _ = self._listener.accept()
                self.connections.append(one)
                threading.Thread(target=self._talk, args=(one,), daemon=True).start()

    def _talk(self, one: socket.socket) -> None:
        if self._answer is None:
            return
        with one, contextlib.suppress(OSError):
            one.recv(65536)
            one.sendall(self._answer)
            while self._drip and not self._ended.wait(0.1):
                one.sendall(self._drip)


def answering(status: str, body: bytes, *headers: str) -> bytes:
    """A whole response."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers])
    return f"{head}\r\n\r\n".encode() + body


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)

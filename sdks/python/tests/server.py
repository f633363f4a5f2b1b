"""The real server as a process, and a wire to it that a test can cut."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STOP_SECONDS_MAX = 60


class Server:
    """`watchbell dev` with its data in a folder, so that it can be stopped and started again."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        folder.chmod(0o755)  # PostgreSQL runs as another user if we are root
        self._folder = folder
        self._environment = {**os.environ, **(settings or {})}
        self.start()

    def start(self) -> None:
        command = [os.environ["WATCHBELL_BINARY"], "dev", "--json", "--data-dir", str(self._folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self._environment)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said, "the server did not start"
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


class Wire:
    """A TCP address that leads to the server, for as long as the test wants it to."""

    def __init__(self, to: tuple[str, int]) -> None:
        self.to = to
        self.loses_answers = False
        self.requests_lost = 0
        self._open: set[socket.socket] = set()
        self._listen(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def cut(self) -> None:
        """Nobody is there any more: connections end, and new ones are refused."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in list(self._open):
            _end(one)

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
                threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self.to, timeout=5)
        except OSError:
            near.close()
            return
        self._open |= {near, far}
        back = threading.Thread(target=self._copy, args=(far, near, True), daemon=True)
        back.start()
        self._copy(near, far, False)
        back.join()
        self._open -= {near, far}
        near.close()
        far.close()

    def _copy(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_answer and self.loses_answers:
                    self.requests_lost += 1
                    break
                target.sendall(data)
        _end(source)
        _end(target)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)

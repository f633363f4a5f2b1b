"""A receiver of Watchbell deliveries: verifies, acknowledges at once, and processes afterwards.

WATCHBELL_SIGNING_SECRET=... python receiver.py 8090
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from watchbell import Delivery, Refused, verify_webhook

# Larger than any delivery.
BODY_BYTES_MAX = 256 * 1024

# Deliveries that are acknowledged and not yet processed. When this many wait, the next is answered with 503 and
# Watchbell sends it again later. They are lost if the process ends: a receiver that cannot afford that writes
# them to a database before it acknowledges.
QUEUE_DELIVERIES_MAX = 1024

# A sender that stops in the middle of a request is let go.
READ_SECONDS_MAX = 10

# Deliveries come at least once. The ids of the last ones are enough to notice the others.
IDS_KEPT_MAX = 100_000

deliveries: queue.Queue[Delivery | None] = queue.Queue(QUEUE_DELIVERIES_MAX)


class Receiver(BaseHTTPRequestHandler):
    timeout = READ_SECONDS_MAX

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return self.answer(411, "Content-Length is needed")
        if int(length) > BODY_BYTES_MAX:
            return self.answer(413, "too large")
        # The raw body: it is verified before anything parses it.
        body = self.rfile.read(int(length))
        try:
            delivery = verify_webhook(dict(self.headers.items()), body)
            deliveries.put_nowait(delivery)
        except Refused as refused:
            return self.answer(refused.status, f"{refused.code}: {refused}")
        except queue.Full:
            return self.answer(503, "busy, please send again later")
        return self.answer(200, "")

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Standard output is for what was received."""


def process() -> None:
    """The receiver's own work goes here. It may be slow."""
    seen: dict[str, None] = {}
    while (delivery := deliveries.get()) is not None:
        # What has no id cannot be told from another delivery, so it is processed.
        if delivery.id is not None:
            if delivery.id in seen:
                continue
            seen[delivery.id] = None
            if len(seen) > IDS_KEPT_MAX:
                del seen[next(iter(seen))]
        print(delivery.id, delivery.event_type, delivery.body.decode(), flush=True)


def main() -> None:
    if not os.environ.get("WATCHBELL_SIGNING_SECRET"):
        sys.exit("set WATCHBELL_SIGNING_SECRET to the signing secret")
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8090), Receiver)
    print(f"waiting for deliveries on http://127.0.0.1:{server.server_port}/", flush=True)
    work = threading.Thread(target=process)
    work.start()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()
    # All that was acknowledged is processed before the end.
    deliveries.put(None)
    work.join()


if __name__ == "__main__":
    main()

"""Watchbell for Python: record what agents do, ask before they act, verify alert webhooks and exports of the trail."""

from .async_client import AsyncWatchbell
from .async_recorder import AsyncRecorder
from .client import Watchbell
from .decisions import Decision, OnError
from .errors import ApiError, Denied, Unreachable, WatchbellError
from .events import Event, Rejected, Sent
from .guard import guard
from .outbox import Counts, Lost
from .proof.report import Report
from .proof.verify import verify_export
from .recorder import Recorder
from .webhooks import Delivery, Refused, verify_webhook

__all__ = [
    "ApiError",
    "AsyncRecorder",
    "AsyncWatchbell",
    "Counts",
    "Decision",
    "Delivery",
    "Denied",
    "Event",
    "Lost",
    "OnError",
    "Recorder",
    "Refused",
    "Rejected",
    "Report",
    "Sent",
    "Unreachable",
    "Watchbell",
    "WatchbellError",
    "guard",
    "verify_export",
    "verify_webhook",
]

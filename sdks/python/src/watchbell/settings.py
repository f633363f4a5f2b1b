"""Where the service is and who is asking."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

URL_VARIABLE = "WATCHBELL_URL"
API_KEY_VARIABLE = "WATCHBELL_API_KEY"


@dataclass(frozen=True)
class Settings:
    """What every request has in common."""

    url: str
    api_key: str = field(repr=False)

    @classmethod
    def find(cls, url: str | None, api_key: str | None) -> Settings:
        """What is given, or else what the environment says."""
        return cls(
            (url or _variable(URL_VARIABLE, "url")).rstrip("/"),
            api_key or _variable(API_KEY_VARIABLE, "api_key"),
        )


def _variable(name: str, argument: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise ValueError(f"pass {argument}= or set {name}")
    return value

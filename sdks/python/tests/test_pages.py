"""What the README and the how-to show is run as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAGES = ("sdks/python/README.md", "docs/how-to/python.md")


def blocks() -> list[Any]:
    found = [
        pytest.param(block, id=f"{Path(page).stem}-{number}")
        for page in PAGES
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL), 1)
    ]
    assert len(found) >= 10
    return found


@pytest.mark.parametrize("block", blocks())
def test_block(block: str, tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert "not recorded" not in ended.stderr

"""The package as it would be published."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def test_the_wheel_is_typed_licensed_and_needs_httpx_alone(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-build-isolation"]
    subprocess.run([*build, "--no-deps", "--wheel-dir", str(tmp_path), str(PACKAGE)], check=True, timeout=120)
    (wheel,) = tmp_path.glob("watchbell-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        metadata = files.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert {"watchbell/py.typed", "watchbell/__init__.py", "watchbell/webhooks.py"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith("tests") for name in names)
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    assert [line for line in needed if "extra ==" not in line] == ["Requires-Dist: httpx<1,>=0.28"]
    assert "License-Expression: Apache-2.0" in metadata

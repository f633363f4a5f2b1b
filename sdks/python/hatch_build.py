"""Puts the binary `watchbell` into the wheel, which is then for one platform: scripts/package-python says which."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    """Off unless HATCH_BUILD_HOOK_ENABLE_CUSTOM is set: the SDK alone is for any platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling says it
        build_data["shared_scripts"]["watchbell"] = "watchbell"
        build_data["tag"] = f"py3-none-{os.environ['WATCHBELL_PLATFORM']}"
        build_data["pure_python"] = False

"""Named points at which a test can make this process die."""

from __future__ import annotations

import os
import signal
from collections import Counter


def armed(setting: str) -> dict[str, str]:
    """Return the points that a setting such as `name:kill9,other:kill9@3` arms, each with what happens there."""
    return dict(item.split(":", 1) for item in setting.split(",") if item)


ARMED = armed(os.environ.get("RINGI_FAILPOINT", ""))
PASSED: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Kill this process, like a power cut, when `RINGI_FAILPOINT=name:kill9` says so; `kill9@3` at the third pass."""
    if ARMED and name in ARMED:
        PASSED[name] += 1
        how, _, nth = ARMED[name].partition("@")
        if how == "kill9" and PASSED[name] == int(nth or 1):
            os.kill(os.getpid(), signal.SIGKILL)

"""Named points at which a test can kill this process."""

from __future__ import annotations

import os
import signal
from collections import Counter


def parse_failpoints(setting: str) -> dict[str, str]:
    """Return the armed points of a setting such as `name:kill9,other:kill9@3`, each with its action."""
    return dict(item.split(":", 1) for item in setting.split(",") if item)


ARMED = parse_failpoints(os.environ.get("RINGI_FAILPOINT", ""))
PASSED: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Kill this process like a power cut if `RINGI_FAILPOINT=name:kill9` is set; `kill9@3` kills at the third pass.

    Args:
        name: The name of this point, such as `change.after_commit`.
    """
    if ARMED and name in ARMED:
        PASSED[name] += 1
        how, _, nth = ARMED[name].partition("@")
        if how == "kill9" and PASSED[name] == int(nth or 1):
            os.kill(os.getpid(), signal.SIGKILL)

"""Named points at which a test can make this process die."""

from __future__ import annotations

import os
import signal

ARMED = dict(item.split(":", 1) for item in os.environ.get("RINGI_FAILPOINT", "").split(",") if item)


def failpoint(name: str) -> None:
    """Kill this process, like a power cut, when `RINGI_FAILPOINT=name:kill9` says so."""
    if ARMED and ARMED.get(name) == "kill9":
        os.kill(os.getpid(), signal.SIGKILL)

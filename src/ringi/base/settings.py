"""The setting that lets agents run without people."""

from __future__ import annotations

import os

from ringi.errors import SettingError

VARIABLE = "RINGI_ENABLED"
OFF = ("0", "false", "off", "no")
ON = ("", "1", "true", "on", "yes")


def hitl_enabled() -> bool:
    """Return whether agents ask people; raise `SettingError` for a value that is neither yes nor no."""
    value = os.environ.get(VARIABLE, "").strip().lower()
    if value in OFF:
        return False
    if value not in ON:
        # If a typing error counted as no, every gated call would run.
        raise SettingError(VARIABLE, value, "write 0 to let agents run without asking, or leave it out")
    return True

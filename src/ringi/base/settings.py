"""Settings that the whole of Ringi reads: whether agents ask people, and how recent a sign-in must be."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

from ringi.errors import SettingError

VARIABLE = "RINGI_ENABLED"
CHECKS = "RINGI_CHECKS"
FRESH_SIGN_IN = "RINGI_FRESH_SIGN_IN"
SIGN_IN_ACR = "RINGI_SIGN_IN_ACR"
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


def checks_enabled() -> bool:
    """Return whether checks may be planted: only if a setting says so."""
    value = os.environ.get(CHECKS, "").strip().lower()
    return bool(value) and value in ON


def read_seconds(variable: str, names: Sequence[str]) -> dict[str, float]:
    """Return the seconds by name in a variable such as `high=300,irreversible=60`; empty if it is not set.

    Args:
        variable: The name of the variable.
        names: The allowed names.

    Raises:
        SettingError: A name is unknown or occurs twice, or the seconds are not a number above 0.
    """
    text = os.environ.get(variable, "")
    found: dict[str, float] = {}
    for pair in filter(None, (pair.strip() for pair in text.split(","))):
        name, _, value = (part.strip() for part in pair.partition("="))
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if name not in names or name in found or not 0 < seconds < math.inf:
            what = f"give seconds above 0 for some of {', '.join(names)}, each once"
            raise SettingError(variable, text, f"{what}, such as {names[-1]}=60")
        found[name] = seconds
    return found

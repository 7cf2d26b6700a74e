"""Settings that the whole of Ringi reads: whether agents ask people, and how recent a sign-in must be."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from ringi.errors import SettingError

VARIABLE = "RINGI_ENABLED"
CHECKS = "RINGI_CHECKS"
FRESH_SIGN_IN = "RINGI_FRESH_SIGN_IN"
SIGN_IN_ACR = "RINGI_SIGN_IN_ACR"
OFF = ("0", "false", "off", "no")
ON = ("", "1", "true", "on", "yes")


NAMES = """
ADDRESS ADMIN_GROUPS AGENTS ALLOW_HOST AUDITOR_GROUPS BODY_SECONDS CHECKS CORS_ORIGINS ENABLED FAILPOINT
FRESH_SIGN_IN HEADER_SECONDS HOME IMAGE LOG MAIL_FROM MAIL_TO MAX_CONNECTIONS OIDC_AUDIENCE OIDC_CLIENT_ID
OIDC_CLIENT_SECRET OIDC_GROUPS_CLAIM OIDC_ISSUER OIDC_NAME_CLAIM OIDC_SCOPES OIDC_TENANT_CLAIM PEOPLE_GROUPS
POLICY PORT PRICES PROXY_ADDRESSES PROXY_GROUPS_HEADER PROXY_NAME_HEADER PUBLIC_URL RECORD_SEEN REDIS_URL
REMIND_BEFORE RETAIN_DAYS SEAL_KEY SECRET SECURITY_CONTACT SESSION_DAYS SIGN_IN_ACR SMTP_URL STORE_TIMEOUT
TOKEN URL WEBHOOKS WEBHOOK_ALLOW WEBHOOK_JITTER WEBHOOK_SCHEDULE WEBHOOK_TIMEOUT
"""
KNOWN = frozenset(f"RINGI_{name}" for name in NAMES.split())
"""All settings, and the variables of `compose.yaml`; each also with `_FILE`, as containers give secrets."""


def unknown_settings() -> dict[str, str | None]:
    """Return the variables that look like settings and are none, each with the most similar setting."""
    names = sorted(name for name in os.environ if name.startswith("RINGI_") and name.removesuffix("_FILE") not in KNOWN)
    return {name: next(iter(get_close_matches(name, KNOWN, 1)), None) for name in names}


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


def read_list(variable: str, variables: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the comma-separated values of a variable.

    Args:
        variable: The name of the variable.
        variables: The environment.
    """
    return tuple(filter(None, map(str.strip, variables.get(variable, "").split(","))))


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
    for pair in read_list(variable):
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

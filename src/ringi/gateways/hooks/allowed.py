"""The small path of a hook: a call that certainly runs without a question, for which nothing is written.

A coding agent starts a hook for each call of a tool, so this path imports no model classes and opens no inbox. It only
ever allows: whatever it does not know for certain, and every failure, takes the full path in `process.py`. Policy and
pauses are read anew at each call.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ringi.gateways.hooks.process import (
    BLOCKED,
    GRACE,
    HookOptions,
    end_hook_process_in_time,
    exit_with_hook_failure,
    project_folder,
)
from ringi.gateways.hooks.protocol import APPROVED, BEFORE, READING, hook_policy_path
from ringi.gateways.own_files import names_own_files
from ringi.policy.checked import read_checked_policy
from ringi.policy.decision import allows_certainly

TEXTS = ("session_id", "cwd", "tool_name", "tool_use_id")
"""The texts that the event before a call has."""
SETTINGS = frozenset(("RINGI_URL", "RINGI_HOME", "RINGI_POLICY", "RINGI_TOKEN"))
"""The settings whose values this path can judge."""
LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\])(?::(\d{1,5}))?/?")
SECONDS = 2.0
"""Seconds to wait for a server or a store before the full path waits for it."""


def answer_allowed_call(arguments: Sequence[str]) -> None:
    """Answer the call on standard input and exit if it certainly may run; else leave the input to the full path.

    Args:
        arguments: The arguments of `ringi hook`.
    """
    options = read_hook_options(arguments[1:])
    if options is None or any(os.environ[name] for name in os.environ if _is_other_setting(name)):
        return
    try:
        end_hook_process_in_time(options.timeout + GRACE)
        text = sys.stdin.buffer.read()
    except BaseException as error:
        exit_with_hook_failure(f"{type(error).__name__}: {error}", BLOCKED)
    try:
        reply = allowed_reply(arguments[0], options, text)
    except Exception:
        reply = None  # The full path names the failure.
    if reply is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(text))
        return
    try:
        sys.stdout.write(reply)
        sys.stdout.flush()
    except BaseException as error:
        exit_with_hook_failure(f"{type(error).__name__}: {error}", BLOCKED)
    os._exit(0)


def read_hook_options(arguments: Sequence[str]) -> HookOptions | None:
    """Return the options of a hook; None if they are not plainly those that `ringi hook install` writes."""
    options, words = HookOptions(), iter(arguments)
    for word in words:
        if word == "--confirm-stop":
            continue
        value = next(words, "")
        if word == "--timeout" and value.isdecimal():
            options = options._replace(timeout=float(value))
        elif word == "--policy" and value and value[0] != "-":
            options = options._replace(policy=value)
        elif word == "--url" and value and value[0] != "-":
            options = options._replace(url=value)
        else:
            return None
    return options


def allowed_reply(client: str, options: HookOptions, text: bytes) -> str | None:
    """Return what the hook prints for a call that certainly may run; None for any other event.

    Args:
        client: The coding agent.
        options: The options of the hook.
        text: The event.
    """
    event = json.loads(text)
    args = event.get("tool_input")
    if event.get("hook_event_name") != BEFORE or not isinstance(args, dict) or names_own_files(args):
        return None
    if not all(isinstance(event.get(name), str) and event[name] for name in TEXTS):
        return None
    policy = hook_policy_path(options.policy or os.environ.get("RINGI_POLICY"), project_folder())
    tool = event["tool_name"]
    if policy is None:
        is_allowed = tool in READING
    else:
        found = read_checked_policy(policy, _home())
        is_allowed = found is not None and allows_certainly(found, tool, args)
    if not is_allowed or not _is_certainly_unpaused(client, options.url or os.environ.get("RINGI_URL")):
        return None
    # Codex reports a bare "allow" as an error of the hook; without a policy, the client's own rules hold.
    is_silent = client == "codex" or policy is None
    return "" if is_silent else json.dumps({"hookSpecificOutput": {"hookEventName": BEFORE, **APPROVED}})


def _is_other_setting(name: str) -> bool:
    return (name.startswith("RINGI_") and name not in SETTINGS) or name.lower() in ("http_proxy", "all_proxy")


def _home() -> Path:
    return project_folder() / (os.environ.get("RINGI_HOME") or ".ringi")


def _is_certainly_unpaused(client: str, url: str | None) -> bool:
    """Return whether no pause can stop the client; False if that cannot be seen from here."""
    if url and (server := LOOPBACK.fullmatch(url)):
        return _has_server_no_pauses(server[1].strip("[]"), int(server[2] or 80))
    if url and (not url.startswith("sqlite:///") or set(url) & set("~%?#")):
        return False
    from ringi.backends.sqlite.pauses import is_certainly_unpaused

    file = project_folder() / url.removeprefix("sqlite:///") if url else _home() / "ringi.db"
    return is_certainly_unpaused(file, client)


def _has_server_no_pauses(host: str, port: int) -> bool:
    from contextlib import closing
    from http.client import HTTPConnection

    token = os.environ["RINGI_TOKEN"].strip()
    with closing(HTTPConnection(host, port, timeout=SECONDS)) as connection:
        connection.request("GET", "/v1/pauses", headers={"authorization": f"Bearer {token}"})
        reply = connection.getresponse()
        pauses = json.loads(reply.read()) if reply.status == 200 else {}
        return pauses.get("items") == []

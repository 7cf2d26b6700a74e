"""The process of a hook: it reads one event, and prints one reply. Whatever fails, the call does not run."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

if TYPE_CHECKING:
    from ringi.gateways.hooks.events import HookClient, HookEvent, HookReply


BLOCKED, NOT_BLOCKING = 2, 1
"""The exit codes by which a client does not go on, and by which it only shows an error."""
WAIT = 7 * 86_400
"""Seconds after which a client ends a hook, as installed."""
MARGIN = 60
"""Seconds by which the hook answers before."""
GRACE = 20.0
"""Seconds beyond the time for people after which the process ends in any case."""
OUTCOMES: dict[str, Literal["committed", "failed"]] = {"PostToolUse": "committed", "PostToolUseFailure": "failed"}


class HookOptions(NamedTuple):
    """The options of `ringi hook`."""

    timeout: float = WAIT - MARGIN
    """Seconds to wait for people."""
    policy: str | None = None
    """The path of the policy."""
    url: str | None = None
    """The server or the store to ask in."""
    confirms_stop: bool = False
    """True if people confirm that the work is done."""


def answer_hook(client: HookClient, options: HookOptions) -> NoReturn:
    """Answer the event on standard input, and exit."""
    code = BLOCKED
    try:
        end_hook_process_in_time(options.timeout + GRACE)
        # A library that prints would break the JSON, and clients run a call whose hook prints anything else.
        with contextlib.redirect_stdout(sys.stderr):
            import asyncio

            from ringi.gateways.hooks.events import HookEvent

            event = HookEvent.parse(client, sys.stdin.buffer.read())
            if event.name in (*OUTCOMES, "Stop"):
                code = NOT_BLOCKING  # The call has run, and a stopped agent does nothing.
            reply = asyncio.run(hook_reply(event, options))
        if reply is not None:
            sys.stdout.write(json.dumps(reply))
            sys.stdout.flush()
    except BaseException as error:
        exit_with_hook_failure(f"{type(error).__name__}: {error}", code)
    os._exit(0)  # Nothing that ends later may change the code.


async def hook_reply(event: HookEvent, options: HookOptions) -> HookReply:
    """Return the reply to an event.

    Raises:
        InvalidError: The event is none that this hook answers.
    """
    from ringi.connect import home_folder, open
    from ringi.errors import InvalidError
    from ringi.gateways.hooks.events import HookCalls, answer_elicitation_hook, answer_stop_hook, hook_policy_file

    if event.name == "Stop" and not options.confirms_stop:
        return None
    os.chdir(project_folder())
    policy = hook_policy_file(options.policy)
    async with open(options.url) as inbox:
        calls = HookCalls(event, inbox, policy, options.timeout)
        match event.name:
            case "PreToolUse" | "PermissionRequest":
                reply = await calls.decide()
                if policy:
                    policy.mark_checked(home_folder())
                return reply
            case "Elicitation":
                return await answer_elicitation_hook(event, inbox, options.timeout)
            case "Stop":
                return await answer_stop_hook(event, inbox, options.timeout)
            case name if name in OUTCOMES:
                return await calls.after(OUTCOMES[name])
    raise InvalidError.of("hook_event_name", f"{event.name!r} is none that Ringi answers: remove the hook for it")


def project_folder() -> Path:
    """Return the folder that paths of a hook are relative to.

    The folder in the event is chosen by the agent, which could choose another policy and another store by it.
    """
    return Path(os.environ.get("CLAUDE_PROJECT_DIR") or ".")


def end_hook_process_in_time(seconds: float) -> None:
    """End the process after some seconds, or when the client no longer reads from it.

    A client kills a hook at its timeout, and some then run the call; and a hook whose client was killed would wait on.
    """

    def run() -> None:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(sys.stdout.fileno(), 0)  # Only errors: the other end of the pipe is closed.
            poll.poll(min(seconds * 1000, 2**31 - 1))
        else:
            threading.Event().wait(seconds)
        exit_with_hook_failure("no answer in time", BLOCKED)

    threading.Thread(target=run, daemon=True).start()


def exit_with_hook_failure(why: str, code: int) -> NoReturn:
    """Print why the hook fails, and exit."""
    with contextlib.suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), f"Ringi: {why}\n".encode(errors="backslashreplace"))
    os._exit(code)

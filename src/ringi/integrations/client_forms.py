"""Forms of the servers and agents behind a client, which people fill in in the inbox."""

from __future__ import annotations

import itertools
from typing import Any, Literal, NamedTuple

from ringi.base.canonical_json import digest
from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.errors import WaitTimeoutError
from ringi.forms.form import Form
from ringi.inbox.api import InboxAPI
from ringi.integrations.askers import hashed
from ringi.integrations.client_calls import Session

MAX_TITLE, MAX_TEXT = 200, 19_000


class FormResult(NamedTuple):
    """The end of a form, in the words of MCP and ACP."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] = {}

    @property
    def json(self) -> dict[str, Any]:
        """The result as in both protocols."""
        return {"action": self.action, **({"content": self.content} if self.action == "accept" else {})}


async def ask_form(
    inbox: InboxAPI,
    session: Session,
    message: str,
    schema: object,
    *,
    source: str,
    place: tuple[str, ...],
    timeout: float | None = None,
) -> FormResult:
    """Ask people to fill in a form, and return the result.

    Args:
        inbox: The inbox to ask in.
        session: The session of the client.
        message: The text of the one who asks.
        schema: The JSON Schema of the form; None for a form without fields.
        source: The name of the server or agent that asks.
        place: Where in the session it asks; the same form in the same place that is still open is used again.
        timeout: Seconds to wait for people; None waits without limit.

    Raises:
        InvalidError: The form cannot be shown in the inbox.
    """
    title = " ".join(f"{source}: {message}".split())
    ask = Ask(
        title=title[:MAX_TITLE],
        kind="form",
        description=message[:MAX_TEXT] if len(title) > MAX_TITLE or "\n" in message else None,
        form=Form.from_json_schema(schema or {"type": "object", "properties": {}}),
        allowed=("respond", "reject"),
        context=session.context,
    )
    try:
        response = (await answered(inbox, session, ask, place, timeout)).response
    except WaitTimeoutError:
        return FormResult("cancel")
    if response is None:
        return FormResult("cancel")
    return FormResult("accept", response.data or {}) if response.decision == "respond" else FormResult("decline")


async def answered(
    inbox: InboxAPI, session: Session, ask: Ask, place: tuple[str, ...], timeout: float | None
) -> Request:
    """Return the ended request of a question; the same question in the same place that is still open is used again.

    Raises:
        WaitTimeoutError: Nobody answered in time; the request stays open.
    """
    key = hashed(session.thread_id, *place, digest(ask.model_dump(mode="json")))
    for number in itertools.count():
        known = ask.model_copy(update={"id": f"ask-{key}-{number}", "thread_id": session.thread_id})
        request = await inbox.submit(known)
        if not request.is_final:
            return await inbox.wait(request, timeout)
    raise AssertionError  # The numbers do not end.

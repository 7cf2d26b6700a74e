"""The questions of a coding agent beside its calls: forms of its MCP servers, and whether its work is done."""

from __future__ import annotations

import itertools

from ringi.base.canonical_json import digest
from ringi.base.texts import Sentence, sentence_text
from ringi.domain.ask import Ask, Wording
from ringi.domain.request import Request
from ringi.errors import WaitTimeoutError
from ringi.forms.form import Form
from ringi.inbox.api import InboxAPI
from ringi.integrations.askers import hashed
from ringi.integrations.finish_words import parse_decision
from ringi.integrations.hooks.event import HookEvent, Reply, text_in

MAX_TITLE, MAX_TASK, MAX_TEXT = 200, 120, 19_000


async def elicitation(event: HookEvent, inbox: InboxAPI, timeout: float) -> Reply:
    """Ask people for the form of an MCP server, and return what they filled in; a page is opened by the client itself.

    Raises:
        InvalidError: The form cannot be shown in the inbox.
    """
    if event.data.get("mode") == "url":
        return None
    server, message = text_in(event.data, "mcp_server_name"), text_in(event.data, "message")
    title = " ".join(f"{server}: {message}".split())
    ask = Ask(
        title=title[:MAX_TITLE],
        kind="form",
        description=message[:MAX_TEXT] if len(title) > MAX_TITLE or "\n" in message else None,
        form=Form.from_json_schema(event.data.get("requested_schema") or {"type": "object", "properties": {}}),
        allowed=("respond", "reject"),
        context=event.session.context,
    )
    try:
        response = (await answered(event, inbox, ask, timeout)).response
    except WaitTimeoutError:
        return event.specific(action="cancel")
    if response is None:
        return event.specific(action="cancel")
    if response.decision != "respond":
        return event.specific(action="decline")
    return event.specific(action="accept", content=response.data or {})


async def stop(event: HookEvent, inbox: InboxAPI, timeout: float) -> Reply:
    """Ask whether the work is done; words other than a consent go back to the agent.

    A request that nobody answers lets the agent stop: a stopped agent does nothing.
    """
    summary = str(event.data.get("last_assistant_message") or "").strip()
    task = " ".join(summary.split())[:MAX_TASK]
    title = Sentence(code="finished", params={"task": task}) if task else Sentence(code="finished_untitled")
    ask = Ask(
        title=sentence_text(title, "en"),
        kind="finish",
        wording=Wording(title=(title,)),
        allowed=("approve", "reject", "respond"),
        context={**event.session.context, **({"summary": summary[:MAX_TEXT]} if summary else {})},
    )
    try:
        response = (await answered(event, inbox, ask, timeout)).response
    except WaitTimeoutError:
        return None
    words = ((response and response.message) or "").strip()
    is_done = response is None or response.decision == "approve"
    if is_done or (response and response.decision == "respond" and parse_decision(words).decision == "complete"):
        return None
    by = response.responder if response else ""
    return {"decision": "block", "reason": f"{by} says that this is not finished: {words or 'no reason is given'}"}


async def answered(event: HookEvent, inbox: InboxAPI, ask: Ask, timeout: float) -> Request:
    """Return the ended request of a question; the same question of this session that is still open is used again.

    Raises:
        WaitTimeoutError: Nobody answered in time; the request stays open.
    """
    thread = event.session.thread_id
    key = hashed(thread, event.name, event.turn, digest(ask.model_dump(mode="json")))
    for number in itertools.count():
        request = await inbox.submit(ask.model_copy(update={"id": f"ask-{key}-{number}", "thread_id": thread}))
        if not request.is_final:
            return await inbox.wait(request, timeout)
    raise AssertionError  # The numbers do not end.

"""The questions of a coding agent beside its calls: forms of its MCP servers, and whether its work is done."""

from __future__ import annotations

from ringi.base.texts import Sentence, sentence_text
from ringi.domain.ask import Ask, Wording
from ringi.errors import WaitTimeoutError
from ringi.inbox.api import InboxAPI
from ringi.integrations.client_forms import MAX_TEXT, answered, ask_form
from ringi.integrations.finish_words import parse_decision
from ringi.integrations.hooks.event import HookEvent, Reply, text_in

MAX_TASK = 120


async def elicitation(event: HookEvent, inbox: InboxAPI, timeout: float) -> Reply:
    """Ask people for the form of an MCP server, and return what they filled in; a page is opened by the client itself.

    Raises:
        InvalidError: The form cannot be shown in the inbox.
    """
    if event.data.get("mode") == "url":
        return None
    server, message = text_in(event.data, "mcp_server_name"), text_in(event.data, "message")
    asked = event.data.get("requested_schema")
    place = (event.name, event.turn)
    result = await ask_form(inbox, event.session, message, asked, source=server, place=place, timeout=timeout)
    return event.specific(**result.json)


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
        response = (await answered(inbox, event.session, ask, (event.name, event.turn), timeout)).response
    except WaitTimeoutError:
        return None
    words = ((response and response.message) or "").strip()
    is_done = response is None or response.decision == "approve"
    if is_done or (response and response.decision == "respond" and parse_decision(words).decision == "complete"):
        return None
    by = response.responder if response else ""
    return {"decision": "block", "reason": f"{by} says that this is not finished: {words or 'no reason is given'}"}

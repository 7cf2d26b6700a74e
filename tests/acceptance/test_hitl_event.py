"""A front end of somebody else in a real browser: a stock EventSource for forms, one call to answer."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page
from tests.acceptance.demo_server import DemoServer
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)
START = """async (thread) => {
  const body = JSON.stringify({ agent: "two_questions", input: {} });
  const headers = { "Content-Type": "application/json" };
  return (await fetch(`/v1/threads/${thread}/runs`, { method: "POST", headers, body })).status;
}"""
FOLLOW = """(thread) => {
  window.forms = [];
  window.items = [];
  const source = new EventSource(`/v1/threads/${thread}/stream`);
  source.addEventListener("hitl", (event) => window.forms.push(JSON.parse(event.data)));
  source.onmessage = (event) => window.items.push([event.lastEventId, JSON.parse(event.data).type]);
}"""
ANSWER = """async ([thread, id, action]) => {
  const body = JSON.stringify({ request_id: id, session_id: thread, action, data: {} });
  const headers = { "Content-Type": "application/json" };
  return (await fetch("/hitl/respond", { method: "POST", headers, body })).json();
}"""
ENDED = "(count) => window.items.filter(([, type]) => type === 'RUN_FINISHED').length === count"


async def seen(person: Page) -> list[Any]:
    """Return the ids of the forms that came, after a check of the numbers of all other events."""
    numbers = [int(number) for number, _ in await person.evaluate("window.items")]
    assert numbers == list(range(1, len(numbers) + 1))
    forms = await person.evaluate("window.forms")
    assert {form["type"] for form in forms} == {"hitl"}
    return [form["payload"]["request"]["id"] for form in forms]


@WIDE
async def test_an_event_source_gets_each_form_once_also_after_a_reload(person: Page, house: DemoServer) -> None:
    thread = "hitl-1"
    assert await person.evaluate(START, thread) == 202
    await person.evaluate(FOLLOW, thread)
    await person.wait_for_function(ENDED, arg=1)
    asked = await seen(person)
    assert len(set(asked)) == len(asked) == 2
    reply = await person.evaluate(ANSWER, [thread, asked[0], "reject"])
    assert (reply["success"], reply["next_action"]) == (True, "continue")
    await person.wait_for_function(ENDED, arg=2)
    assert await seen(person) == asked
    await person.reload()
    await person.evaluate(FOLLOW, thread)
    await person.wait_for_function(ENDED, arg=2)
    assert await seen(person) == asked
    await person.evaluate(ANSWER, [thread, asked[1], "reject"])
    await person.wait_for_function(ENDED, arg=3)
    assert await seen(person) == asked

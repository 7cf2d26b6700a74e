"""Whatever fails in a turn is said in the chat, once, with its reason and the next step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.apps.assistant.office import after
from tests.apps.assistant.talk import Office, talking

from ringi_apps.assistant.declarations import ActionDefinition, Info, InfoHandler
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.reducer import ConversationReducer
from ringi_apps.assistant.sentences import render_sentences

EMPTY = ContextMemory()


class BrokenOffice(Office):
    """The office, whose handler has no route to its system."""

    async def fetch(self, params: dict[str, Any]) -> Any:
        raise ValueError("no route to crm")


REASONS = {
    "en": ("goal: grow", "Projects could not be fetched: handler fetch_projects failed 3 times (ValueError: no route"),
    "ja": ("目標は成長です", "Projectsを取得できませんでした: 取得処理 fetch_projects が 3 回失敗しました"),
    "zh": ("目标是增长", "无法获取Projects："),
}


@pytest.mark.parametrize("language", REASONS)
async def test_a_handler_that_fails_for_an_action_says_so_with_its_reason(
    file: str, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setattr("ringi_apps.assistant.handlers.RETRY_PAUSE", 0.0)
    text, reason = REASONS[language]
    async with talking(BrokenOffice(), file) as talk:
        await talk.say(text)
        words = await talk.words()
        assert reason in words
        assert "ValueError: no route to crm" in words
        assert "Traceback" not in words
        # The failure is still there, and is not said again.
        await talk.send("action", action="count")
        assert (await talk.words()).count(reason) == 1
        await talk.send("refresh", info="projects")
        assert (await talk.words()).count(reason) == 2


DEFINITIONS = Definitions(
    (
        Info("orders", "Orders", handler="fetch", schema={"type": "array"}),
        Info("share", "Share", derive=lambda orders: 100 / len(orders), inputs=("orders",)),
        Info("report", "Report", schema={"type": "string"}),
        Info("goal", "Goal"),
    ),
    (
        ActionDefinition("show", "immediate", "Show", workflow="showing", requires=("share",)),
        ActionDefinition("write", "immediate", "Write", workflow="writing", produces=("report",)),
    ),
    (InfoHandler("fetch", lambda params: Office().fetch(params)),),
)


def words_after(events: list[Mapping[str, Any]], memory: ContextMemory = EMPTY) -> tuple[str, ContextMemory]:
    turn = ConversationReducer(DEFINITIONS, "chat", after(1), "ann")
    outcome = turn.settle(memory)
    for event in events:
        outcome = outcome.then(lambda memory, event=event: turn.apply(memory, event))  # type: ignore[misc]
    outcome = turn.report_failures(outcome, memory)
    return render_sentences(outcome.sentences, "en"), outcome.memory


def fetched(value: Any, **about: Any) -> dict[str, Any]:
    return {"type": "fetched", "info": "orders", "value": value, **about}


def test_a_value_that_a_handler_returns_and_that_does_not_fit_is_said() -> None:
    words, memory = words_after([fetched("none")])
    assert words.startswith('Orders could not be fetched: orders: "none" is not of type "array"')
    assert words.endswith("Ask me to fetch Orders again.")
    assert words_after([fetched("none")], memory)[0] == ""
    assert words_after([fetched("none", is_asked_for=True)], memory)[0].count("could not be fetched") == 1
    assert words_after([fetched("none", is_asked_for=True)])[0].count("could not be fetched") == 1


def test_a_derived_info_whose_function_fails_is_said_and_no_longer_once_it_works() -> None:
    words, memory = words_after([fetched([])])
    assert words == "Share cannot be used: ZeroDivisionError: division by zero\n\nAsk me to fetch Orders again."
    again, memory = words_after([fetched([1])], memory)
    assert (again, memory.items["share"].value) == ("", 100)


def test_a_result_that_does_not_fit_what_its_action_produces_is_said_each_time() -> None:
    called = {"type": "called", "action": "write", "value": 7}
    words, memory = words_after([called])
    assert words == 'Report cannot be used: report: 7 is not of type "string": send a value that fits\n\nPress “Write”.'
    assert words_after([called], memory)[0] == words


async def test_a_turn_without_a_failure_says_nothing_of_one(file: str) -> None:
    async with talking(Office(), file) as talk:
        await talk.say("goal: grow")
        assert "could not" not in await talk.words()

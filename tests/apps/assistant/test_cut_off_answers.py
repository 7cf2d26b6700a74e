"""Answers of the model that are empty or cut off: asked for once more, and then named as what they are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall
from tests.apps.assistant.talk import CHAT, TENANT, Office, talking

from ringi.runtimes.langgraph import is_cut_off, stop_reason
from ringi.testing.model import tool_call
from ringi_apps.assistant.declare_tool import DECLARE

EMPTY = AIMessage("")
CUT_OFF = AIMessage("", response_metadata={"finish_reason": "length"})
HALF_DECLARED = tool_call(DECLARE, ops=[{"op": "set", "key": "goals", "value": "gr", "quote": "goal: gr"}]).model_copy(
    update={"response_metadata": {"finish_reason": "length"}}
)
CUT_OFF_WORDS = AIMessage("Your goal is", response_metadata={"stop_reason": "max_tokens"})
HALF_CALLED = AIMessage(
    "",
    invalid_tool_calls=[
        InvalidToolCall(name="declare", args="ops: goal", id="1", error=None, type="invalid_tool_call")
    ],
)


class LengthFinishReasonError(Exception):
    """The error of OpenAI's client, by its name."""


CUT_OFF_ANSWERS = [CUT_OFF, HALF_CALLED, HALF_DECLARED, LengthFinishReasonError()]
NOTICE = "cut off at the model's limit"


def name_of(failure: AIMessage | Exception) -> str:
    """Return the name of a failure for a test's id."""
    return next((name for name, value in globals().items() if value is failure), type(failure).__name__)


class FailingOffice(Office):
    """An office whose model fails before it answers."""

    def __init__(self, *failures: AIMessage | Exception) -> None:
        super().__init__()
        self.failures = list(failures)
        self.goes_on()

    def say(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        if not self.failures:
            return super().say(messages)
        self.heard += 1
        failure = self.failures.pop(0)
        if isinstance(failure, Exception):
            raise failure
        return failure.model_copy()


@pytest.mark.parametrize("failure", [EMPTY, *CUT_OFF_ANSWERS], ids=name_of)
async def test_a_failed_answer_is_requested_once_more(failure: AIMessage | Exception, url: str) -> None:
    office = FailingOffice(failure)
    async with talking(office, url) as talk:
        memory = await talk.say("goal: grow")
        assert memory.items["goals"].value == "grow"
        assert office.heard == 2
        assert NOTICE not in await talk.words()


@pytest.mark.parametrize("failure", CUT_OFF_ANSWERS, ids=name_of)
async def test_an_answer_that_is_cut_off_twice_is_named(failure: AIMessage | Exception, url: str) -> None:
    office = FailingOffice(failure, failure)
    async with talking(office, url) as talk:
        memory = await talk.say("goal: grow")
        assert "goals" not in memory.items
        assert office.heard == 2
        assert NOTICE in await talk.words()


async def test_words_that_are_cut_off_stay_and_are_not_said_twice(url: str) -> None:
    office = FailingOffice(CUT_OFF_WORDS)
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        words = await talk.words()
        assert words.index("Your goal is") < words.index(NOTICE)
        assert office.heard == 1


async def test_a_broken_call_costs_no_whole_one_beside_it(url: str) -> None:
    whole = tool_call(DECLARE, ops=[{"op": "set", "key": "goals", "value": "grow", "quote": "goal: grow"}])
    more = {"content": "Noted.", "response_metadata": {"finish_reason": "tool_calls"}}
    office = FailingOffice(whole.model_copy(update={**more, "invalid_tool_calls": HALF_CALLED.invalid_tool_calls}))
    async with talking(office, url) as talk:
        memory = await talk.say("goal: grow")
        assert memory.items["goals"].value == "grow"
        assert NOTICE not in await talk.words()


async def test_two_empty_answers_are_not_understood(url: str) -> None:
    async with talking(FailingOffice(EMPTY, EMPTY), url) as talk:
        await talk.say("目標を伸ばす")
        assert "理解できません" in await talk.words()


async def test_other_errors_of_a_model_fail_the_run(url: str) -> None:
    office = FailingOffice(ValueError("no key"))
    async with talking(office, url) as talk:
        await talk.runner.start(TENANT, CHAT, "assistant", {"messages": [{"role": "user", "content": "hi"}]}, by="ann")
        failed = await talk.thread(CHAT, "error")
        assert failed.error
        assert "no key" in failed.error.message
        assert office.heard == 1


@pytest.mark.parametrize(
    ("metadata", "reason", "is_cut"),
    [
        ({}, None, False),
        ({"finish_reason": "stop"}, "stop", False),
        ({"finish_reason": "MAX_TOKENS"}, "MAX_TOKENS", True),
        ({"finish_reason": None, "done_reason": "length"}, "length", True),
        ({"finish_reason": "lengthlength"}, "lengthlength", True),
        ({"stopReason": "max_tokens"}, "max_tokens", True),
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "max_output_tokens", True),
        ({"finish_reason": "tool_calls", "incomplete_details": None}, "tool_calls", False),
    ],
)
def test_the_stop_reason_is_read_in_each_providers_words(
    metadata: dict[str, object], reason: str | None, *, is_cut: bool
) -> None:
    answer = AIMessage("words", response_metadata=metadata)
    assert (stop_reason(answer), is_cut_off(answer)) == (reason, is_cut)

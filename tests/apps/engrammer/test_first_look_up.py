"""The first round of an answer: the model must search the notes, as far as its provider can force it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable
from tests.apps.engrammer.lab import Models, lab
from tests.apps.engrammer.providers import OpenAI

from ringi.testing.model import tool_call
from ringi_apps.engrammer import FolderNotes, Notes

SEARCH = "search_notes"
Q = "How long?"
LOOK_UP = tool_call(SEARCH, source="local", query="glue")


class RefusedError(Exception):
    """An answer of a provider's server."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class Provider(OpenAI):
    """Records how its tools are bound; may refuse a forced call with a status, or cannot be forced by its client."""

    bound: list[str | None]
    status: int = 0
    unable: bool = False
    is_forced: bool = False

    def bind_tools(self, tools: Sequence[Any], **more: Any) -> Runnable[LanguageModelInput, AIMessage]:
        forced = more.get("tool_choice")
        if forced and self.unable:
            raise NotImplementedError
        self.bound.append(forced)
        return self.model_copy(update={"has_tools": True, "is_forced": bool(forced)})

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        if self.is_forced and self.status:
            raise RefusedError(self.status)
        return super()._generate(messages, *args, **more)


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "glue.md").write_text("# Glue\n\nHide glue sets in an hour.")
    return Notes(FolderNotes("local", tmp_path / "notes"))


class Searcher(Models):
    """Searches first, then answers."""

    def answer(self, messages: Sequence[BaseMessage]) -> Any:
        self.answered += 1
        return "An hour." if messages[-1].type == "tool" else LOOK_UP


async def bound_rounds(file: str, notes: Notes, questions: int = 1, **about: Any) -> list[str | None]:
    models = Searcher()
    provider = Provider(script=models.say, bound=[], **about)
    async with lab(models, file, notes=notes, model=provider) as it:
        for _ in range(questions):
            assert (await it.ask(Q)).error is None
            assert (await it.turn())["response"] == "An hour."
    # The reflector's schema is bound as a tool, too.
    return [each for each in provider.bound if each in (SEARCH, None)]


async def test_the_first_round_must_search_and_the_others_may(file: str, notes: Notes) -> None:
    assert await bound_rounds(file, notes, 2) == [SEARCH, None, SEARCH, None]


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_provider_that_refuses_a_forced_search_is_asked_without(file: str, notes: Notes, status: int) -> None:
    # A single refusal may be about one question; after the second it is known.
    assert await bound_rounds(file, notes, 3, status=status) == [*[SEARCH, None, None] * 2, None, None]


async def test_a_model_that_cannot_be_forced_is_asked_without(file: str, notes: Notes) -> None:
    assert await bound_rounds(file, notes, unable=True) == [None, None]


async def test_another_error_of_the_provider_is_the_error_of_the_run(file: str, notes: Notes) -> None:
    models = Searcher()
    async with lab(models, file, notes=notes, model=Provider(script=models.say, bound=[], status=500)) as it:
        thread = await it.ask(Q)
        assert thread.error
        assert "status 500" in thread.error.message


async def test_without_notes_nothing_is_forced(file: str) -> None:
    models = Models()
    provider = Provider(script=models.say, bound=[])
    async with lab(models, file, model=provider) as it:
        await it.ask(Q)
        assert (await it.turn())["response"] == f"Answer to: {Q}"
    assert SEARCH not in provider.bound

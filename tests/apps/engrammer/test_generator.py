"""What becomes of an answer, whatever the model and its provider do: it is kept whole, or the run says why not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import invalid_tool_call
from tests.apps.engrammer.lab import TALK, Models, insight, lab
from tests.apps.engrammer.providers import Anthropic, OpenAI

from ringi.testing.model import ModelOutput, parallel_tool_calls, tool_call
from ringi_apps.engrammer import FolderNotes, Notes
from ringi_apps.engrammer.generator import LAST_ROUND_NOTICE, MAX_ROUNDS
from ringi_apps.engrammer.roles import MAX_TEXT_LENGTH

Q = "How long?"
GLUE = "Clamp a glued joint for thirty minutes."
LOOK_UP = tool_call("search_notes", source="local", query="glue")
LOOK_UPS = [tool_call("search_notes", source="local", query=f"glue {n}") for n in range(MAX_ROUNDS - 1)]
READ = tool_call("get_note", source="local", note_id="glue")
CUT_OFF = invalid_tool_call(name="get_note", args='{"source": "local", "no', id="c-1", error="no JSON")
PROVIDERS = pytest.mark.parametrize("provider", [Anthropic, OpenAI])


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "glue.md").write_text("# Glue\n\nHide glue sets in an hour.")
    return Notes(FolderNotes("local", folder))


class Speaker(Models):
    """Says these, one after another, and the last for ever."""

    def __init__(self, *outputs: ModelOutput) -> None:
        super().__init__(lessons={Q: [insight(GLUE)]})
        self.outputs = outputs
        self.heard: list[Sequence[BaseMessage]] = []

    def answer(self, messages: Sequence[BaseMessage]) -> ModelOutput:
        self.heard.append(messages)
        self.answered += 1
        return self.outputs[min(self.answered, len(self.outputs)) - 1]

    @property
    def results(self) -> list[str]:
        """What the tools returned, as the model was told it last."""
        return [message.text for message in self.heard[-1] if message.type == "tool"]


@PROVIDERS
async def test_a_model_answers_in_its_last_round_when_it_is_told_that_it_is_the_last(
    file: str, notes: Notes, provider: Any
) -> None:
    models = Speaker(*LOOK_UPS, "An hour.")
    async with lab(models, file, notes=notes, model=provider(script=models.say)) as it:
        thread = await it.ask(Q)
        assert (thread.status, thread.error) == ("interrupted", None)
        assert (await it.turn())["response"] == "An hour."
        assert [LAST_ROUND_NOTICE in text for text in models.results] == [False] * (MAX_ROUNDS - 2) + [True]


@PROVIDERS
async def test_a_model_that_only_looks_things_up_fails_in_words_and_the_conversation_goes_on(
    file: str, notes: Notes, provider: Any
) -> None:
    models = Speaker(*LOOK_UPS, LOOK_UP)
    async with lab(models, file, notes=notes, model=provider(script=models.say)) as it:
        thread = await it.ask(Q)
        assert thread.status == "error"
        assert thread.error
        assert f"no answer after {MAX_ROUNDS} calls" in thread.error.message
        assert models.answered == MAX_ROUNDS
        models.outputs = ("An hour.",)
        assert (await it.ask(Q)).status == "interrupted"


async def test_a_repeated_look_up_is_refused_and_the_second_one_is_the_last(file: str, notes: Notes) -> None:
    models = Speaker(LOOK_UP, LOOK_UP, LOOK_UP, LOOK_UP)
    async with lab(models, file, notes=notes) as it:
        thread = await it.ask(Q)
        assert thread.error
        assert "no answer after 4 calls" in thread.error.message
        assert ["you have the result" in text for text in models.results] == [False, True, True]
        assert [LAST_ROUND_NOTICE in text for text in models.results] == [False, False, True]


async def test_a_note_can_be_read_after_a_repeated_look_up(file: str, notes: Notes) -> None:
    models = Speaker(LOOK_UP, LOOK_UP, READ, "An hour.")
    async with lab(models, file, notes=notes) as it:
        assert (await it.ask(Q)).status == "interrupted"
        assert (await it.turn())["response"] == "An hour."
        assert "sets in an hour" in models.results[-1]


async def test_what_is_said_beside_a_call_is_the_answer_if_nothing_else_is_said(file: str, notes: Notes) -> None:
    models = Speaker(parallel_tool_calls(READ, text="About an hour; let me look. "), "")
    async with lab(models, file, notes=notes) as it:
        assert (await it.ask(Q)).status == "interrupted"
        turn = await it.turn()
        assert turn["response"] == "About an hour; let me look."
        assert turn["references"] == [{"source": "local", "noteId": "glue"}]


async def test_the_answer_is_the_last_message(file: str, notes: Notes) -> None:
    models = Speaker(parallel_tool_calls(READ, text="Let me look."), "An hour.")
    async with lab(models, file, notes=notes) as it:
        await it.ask(Q)
        assert (await it.turn())["response"] == "An hour."
        assert await it.world.texts(TALK) == ["Let me look.", "An hour."]


@PROVIDERS
async def test_a_call_that_was_cut_off_is_made_again(file: str, notes: Notes, provider: Any) -> None:
    both = AIMessage("", tool_calls=READ.tool_calls, invalid_tool_calls=[CUT_OFF, {**CUT_OFF, "id": None}])
    models = Speaker(both, "An hour.")
    async with lab(models, file, notes=notes, model=provider(script=models.say)) as it:
        thread = await it.ask(Q)
        assert (thread.status, thread.error) == ("interrupted", None)
        assert (await it.turn())["response"] == "An hour."
        whole, *cut = models.results
        assert "sets in an hour" in whole
        assert ["call again" in text for text in cut] == [True, True]


@pytest.mark.parametrize(
    "refusal",
    [
        AIMessage("", additional_kwargs={"refusal": "I cannot help with that."}),
        AIMessage([{"type": "refusal", "refusal": "I cannot help with that."}]),
        AIMessage([{"type": "non_standard", "value": {"type": "refusal", "refusal": "I cannot help with that."}}]),
    ],
)
async def test_a_refusal_is_the_answer_in_its_own_words(file: str, refusal: AIMessage) -> None:
    models = Speaker(refusal)
    async with lab(models, file, model=OpenAI(script=models.say)) as it:
        assert (await it.ask(Q)).status == "interrupted"
        assert (await it.turn())["response"] == "I cannot help with that."


async def test_an_answer_without_words_is_an_error_that_says_how_it_ended(file: str) -> None:
    models = Speaker(AIMessage(" \n", response_metadata={"finish_reason": "content_filter"}))
    async with lab(models, file, model=OpenAI(script=models.say)) as it:
        thread = await it.ask(Q)
        assert thread.error
        assert "ended with 'content_filter'" in thread.error.message


async def test_a_large_note_is_told_as_far_as_a_model_may_read_and_stays_whole_for_people(
    file: str, notes: Notes, tmp_path: Path
) -> None:
    text = "All about glue. " * 200_000
    (tmp_path / "notes" / "large.md").write_text(f"# Large\n\n{text}The end.")
    models = Speaker(tool_call("get_note", source="local", note_id="large"), "An hour.")
    models.lessons[Q] = [insight(GLUE, quotes=["All about glue.", "The end."])]
    async with lab(models, file, notes=notes) as it:
        await it.ask(Q)
        (result,) = models.results
        assert len(result) < MAX_TEXT_LENGTH + 100
        assert "(These are the first 20,000 characters of 3,200,0" in result
        reflector_prompt = models.prompts[-1][1].text
        assert len(reflector_prompt) < MAX_TEXT_LENGTH + 1000
        assert "## Note local/large (the first 20,000 characters)" in reflector_prompt
        (evidence,) = (await it.waiting())[0].context["learning"]["evidence"]
        assert evidence["quote"] == "All about glue."
        await it.say("wrong", f"{TALK}~q2", text="No.")
        assert len(models.prompts[-1][1].text) < MAX_TEXT_LENGTH + 1000
    assert (await notes.get("local", "large")).content.endswith("The end.")


@pytest.mark.parametrize("bad", ["\x00", "\ud800"])
async def test_characters_that_no_store_keeps_cost_no_answer(url: str, notes: Notes, bad: str) -> None:
    models = Speaker(tool_call("get_note", source="local", note_id=f"glue{bad}"), f"An{bad} hour.")
    async with lab(models, url, notes=notes) as it:
        assert (await it.ask(Q)).status == "interrupted"
        assert (await it.turn())["response"] in ("An hour.", "An? hour.")
        await it.world.verified()

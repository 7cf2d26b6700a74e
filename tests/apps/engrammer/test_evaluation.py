"""Before a person decides, a proposal is tried on questions whose right answers are known."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from tests.apps.engrammer.lab import Models, insight, lab

from ringi.testing.model import ModelOutput
from ringi_apps.engrammer import Case

HALF = "A half of ten is 5."
CASES = (Case("half of ten?", "5"), Case("twice ten?", "20"), Case("ten?", "10"))


class Pupil(Models):
    """Knows nothing of halves until it is told, and takes everything for a half then."""

    def answer(self, messages: Sequence[BaseMessage]) -> ModelOutput:
        self.answered += 1
        knows = HALF in messages[0].text.partition("# Playbook")[2]
        asked = messages[-1].text
        return "10" if asked == "ten?" else "5" if knows else "20" if asked == "twice ten?" else "?"


async def test_the_approver_sees_what_a_proposal_wins_and_what_it_loses(file: str) -> None:
    models = Pupil(lessons={"teach me": [insight(HALF)]})
    async with lab(models, file, cases=CASES) as it:
        await it.ask("teach me")
        (request,) = await it.waiting()
        trial = request.context["learning"]["trial"]
        assert (trial["cases"], trial["right_before"], trial["right_after"]) == (3, 2, 2)
        assert (trial["wins"], trial["losses"]) == (["half of ten?"], ["twice ten?"])
        assert await it.world.texts("talk") == ["?"]


async def test_what_the_playbook_answers_as_it_stands_is_asked_once_for_all_proposals(file: str) -> None:
    models = Pupil(lessons={"teach me": [insight(HALF), insight("Ten is 10.")]})
    async with lab(models, file, cases=CASES) as it:
        await it.ask("teach me")
        assert models.answered == 1 + 3 * 3


async def test_a_trial_that_fails_is_said_and_the_proposal_waits_all_the_same(file: str) -> None:
    class Down(Pupil):
        def answer(self, messages: Sequence[BaseMessage]) -> ModelOutput:
            if messages[-1].text == "ten?":
                raise ConnectionError("the provider is down")
            return super().answer(messages)

    models = Down(lessons={"teach me": [insight(HALF)]})
    async with lab(models, file, cases=CASES) as it:
        await it.ask("teach me")
        trial = (await it.waiting())[0].context["learning"]["trial"]
        assert trial["failed"] == "ConnectionError: the provider is down"


async def test_without_known_answers_nothing_is_tried(file: str) -> None:
    models = Models(lessons={"teach me": [insight(HALF)]})
    async with lab(models, file) as it:
        await it.ask("teach me")
        assert (await it.waiting())[0].context["learning"]["trial"] is None
        assert models.answered == 1

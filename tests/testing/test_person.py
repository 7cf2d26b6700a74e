"""What a scripted person may answer, and rules that have no meaning."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import ringi.testing
from ringi import Action
from ringi.testing import Reply, ScriptedPerson, TestHarness, UnansweredError


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (lambda person: person.approves("q"), r"data='q': must be a dict; pass a condition .* as title='q'"),
        (lambda person: person.edits(args="q"), r"args='q': must be a dict"),
        (lambda person: person.responds({"text": "q"}), r"message=\{'text': 'q'\}: must be a str"),
        (
            lambda person: person.approves(tool="refund"),
            r"tool='refund': not a condition; the conditions",
        ),
        (
            lambda person: person.approves(kind="froms"),
            r"kind='froms': must be one of approval, form, choice",
        ),
        (
            lambda person: person.answers("approve"),
            r"'approve': pass a function of the request, or add a rule",
        ),
        (lambda person: ScriptedPerson("bob"), r"'bob': pass a function of the"),  # type: ignore[arg-type]
        (lambda person: Reply("aprove"), r"decision='aprove': must be one of approve, e"),  # type: ignore[arg-type]
    ],
)
def test_a_rule_without_a_meaning_is_refused_with_its_value_and_a_remedy(
    rule: Callable[[Any], object], text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        rule(ScriptedPerson())


@pytest.mark.parametrize("reply", ["approve", True, ""])
async def test_a_function_that_returns_no_reply_is_refused(ringi_harness: TestHarness, reply: Any) -> None:
    ringi_harness.person.answers(lambda request: reply)
    request = await ringi_harness.inbox.ask("May I?")
    with pytest.raises(TypeError, match=f"a function returned {reply!r}: return a Reply"):
        await ringi_harness.inbox.wait(request.id)


WHOM = [
    ({"assignee": "bob"}, {"name": "bob"}, r"it is assigned to bob, not to ann.*\n.*ScriptedPerson\(name='bob'\)"),
    (
        {"groups": ["boss", "legal"]},
        {"groups": ["sales", "boss"]},
        r"it is assigned to the group boss or the group legal, not to ann.*\n.*ScriptedPerson\(groups=\['boss'\]\)",
    ),
]


@pytest.mark.parametrize(("whom", "member", "text"), WHOM)
async def test_a_question_is_answered_only_by_those_it_is_for(whom: Any, member: Any, text: str) -> None:
    for person in (ScriptedPerson().approves(), ScriptedPerson()):
        harness = TestHarness(person)
        request = await harness.inbox.ask("May I?", action=Action("send"), **whom)
        with pytest.raises(UnansweredError, match=text):
            await harness.inbox.wait(request.id)
        assert (await harness.inbox.get(request.id)).status == "pending"
    with TestHarness(ScriptedPerson(**member).approves()) as harness:
        request = await harness.inbox.ask("May I?", action=Action("send"), **whom)
        assert (await harness.inbox.wait(request)).granted == request.action


async def test_a_question_for_others_can_be_ignored(ringi_harness: TestHarness, ringi_person: ScriptedPerson) -> None:
    ringi_person.ignores()
    request = await ringi_harness.inbox.ask("May I?", assignee="bob", expires_in=60)
    ended = await ringi_harness.inbox.wait(request)

    assert ended.status == "expired"


def test_who_wants_a_clock_does_not_load_what_runs_agents() -> None:
    look = "import sys; from ringi.testing import ManualClock; sys.exit('ringi.testing.harness' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], timeout=60, check=False).returncode == 0


def test_all_that_is_told_of_the_kit_is_there() -> None:
    assert [name for name in ringi.testing.__all__ if not hasattr(ringi.testing, name)] == []
    with pytest.raises(AttributeError, match="Dask"):
        ringi.testing.Dask  # noqa: B018

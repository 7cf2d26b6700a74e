"""What a scripted person may answer, and rules that have no meaning."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import ringi.testing
from ringi import Action
from ringi.testing import Reply, RuleError, ScriptedPerson, TestHarness, UnansweredError


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (lambda person: person.approves("q"), r"data='q': it is a dict; to say which .* as in title='q'"),
        (lambda person: person.edits(args="q"), r"args='q': it is a dict"),
        (lambda person: person.responds({"text": "q"}), r"message=\{'text': 'q'\}: it is a str"),
        (lambda person: person.approves(tool="refund"), r"tool='refund': a rule is about action, form, kind, times, t"),
        (lambda person: person.approves(kind="froms"), r"kind='froms': it is one of approval, form, choice, question"),
        (lambda person: person.answers("approve"), r"'approve': give a function of the request, or a rule such as ap"),
        (lambda person: ScriptedPerson("bob"), r"'bob': give a function of the"),  # type: ignore[arg-type]
        (lambda person: Reply("aprove"), r"decision='aprove': it is one of approve, e"),  # type: ignore[arg-type]
    ],
)
def test_a_rule_without_a_meaning_is_refused_with_its_value_and_a_remedy(
    rule: Callable[[Any], object], said: str
) -> None:
    with pytest.raises(RuleError, match=said):
        rule(ScriptedPerson())


@pytest.mark.parametrize("reply", ["approve", True, ""])
async def test_a_function_that_returns_no_reply_is_refused(ringi_harness: TestHarness, reply: Any) -> None:
    ringi_harness.person.answers(lambda request: reply)
    request = await ringi_harness.inbox.ask("May I?")
    with pytest.raises(RuleError, match=f"a function answers {reply!r}: let it return Reply"):
        await ringi_harness.inbox.wait(request.id)


WHOM = [
    ({"assignee": "bob"}, {"name": "bob"}, r"it is for bob, not for ann.*\n.*ScriptedPerson\(name='bob'\)"),
    (
        {"candidate_groups": ["boss", "legal"]},
        {"groups": ["sales", "boss"]},
        r"it is for the group boss or the group legal, not for ann.*\n.*ScriptedPerson\(groups=\['boss'\]\)",
    ),
]


@pytest.mark.parametrize(("whom", "member", "said"), WHOM)
async def test_a_question_is_answered_only_by_those_it_is_for(whom: Any, member: Any, said: str) -> None:
    for person in (ScriptedPerson().approves(), ScriptedPerson()):
        desk = TestHarness(person)
        request = await desk.inbox.ask("May I?", action=Action("send"), **whom)
        with pytest.raises(UnansweredError, match=said):
            await desk.inbox.wait(request.id)
        assert (await desk.inbox.get(request.id)).status == "pending"
    with TestHarness(ScriptedPerson(**member).approves()) as desk:
        request = await desk.inbox.ask("May I?", action=Action("send"), **whom)
        assert (await desk.inbox.wait(request)).granted == request.action


async def test_a_question_for_others_can_be_ignored(ringi_harness: TestHarness, ringi_person: ScriptedPerson) -> None:
    ringi_person.ignores()
    request = await ringi_harness.inbox.ask("May I?", assignee="bob", expires_in=60)
    ended = await ringi_harness.inbox.wait(request)

    assert ended.status == "expired"


def test_who_wants_a_clock_does_not_load_what_runs_agents() -> None:
    look = "import sys; from ringi.testing import Clock; sys.exit('ringi.testing.harness' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], timeout=60, check=False).returncode == 0


def test_all_that_is_told_of_the_kit_is_there() -> None:
    assert [name for name in ringi.testing.__all__ if not hasattr(ringi.testing, name)] == []
    with pytest.raises(AttributeError, match="Dask"):
        ringi.testing.Dask  # noqa: B018

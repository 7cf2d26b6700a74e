"""What the assistant refuses in the talk, it refuses with what the person does next, in each language."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.apps.assistant.office import NOON, OFFICE, fetched, with_values
from tests.apps.assistant.talk import Office, talking

from ringi.testing.model import tool_call
from ringi_apps.assistant.declare_tool import DECLARE
from ringi_apps.assistant.event_context import TurnResult
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.model_context import person_text
from ringi_apps.assistant.reducer import ConversationReducer
from ringi_apps.assistant.sentences import LANGUAGES, SENTENCES, render_sentences

URL = "memory://"
TURN = ConversationReducer(OFFICE, "chat", NOON, "ann", "run")
EMPTY = ContextMemory()


def heard(memory: ContextMemory = EMPTY, **declared: Any) -> TurnResult:
    return TURN.apply(memory, {"type": "said", "message": "m1", **declared})


def setting(key: str, value: Any = "x", op: str = "set") -> dict[str, Any]:
    return {"ops": [{"op": op, "key": key, "value": value}]}


def needing(name: str) -> dict[str, Any]:
    return {"required": [{"type": name}]}


READY = fetched(with_values(EMPTY, goal="grow"), [1])
PLANNING = TURN.apply(READY, {"type": "action", "action": "plan"}).memory
REFUSED: dict[str, tuple[ContextMemory, dict[str, Any], str, str]] = {
    "a value of the wrong type": (
        EMPTY,
        setting("budget", "much"),
        "Tell me budget, or ask me for a form.",
        "「budget」を教えてください。フォームでの入力も依頼できます。",
    ),
    "an info that nothing defines": (
        EMPTY,
        setting("colour"),
        "You can tell me: Goal, style, budget, topic.",
        "お聞きできるのは次の情報です: 目標、style、budget、topic。",
    ),
    "an info that is fetched": (
        EMPTY,
        setting("projects"),
        "Ask me to fetch Projects again.",
        "「案件」の再取得を依頼してください。",
    ),
    "an info that is derived": (
        EMPTY,
        setting("echo"),
        "Correct its source values: Goal.",
        "元になっている情報を訂正してください: 目標。",
    ),
    "an info that the definitions give": (
        EMPTY,
        setting("region"),
        "Only the operator of this assistant can change it.",
        "変更できるのは、このアシスタントの管理者だけです。",
    ),
    "a plan as an info": (
        EMPTY,
        setting("draft"),
        "Tell me what should be different in the plan.",
        "計画のどこを変えるか教えてください。",
    ),
    "an info that is required": (
        EMPTY,
        setting("goal", op="not_needed"),
        "Tell me Goal, or ask me for a form.",
        "「目標」を教えてください。",
    ),
    "an action that lacks an info": (
        EMPTY,
        needing("search"),
        "waiting for: topic. Tell me topic, or ask me for a form.",
        "「topic」を教えてください。",
    ),
    "an action whose plan is missing": (
        READY,
        needing("apply"),
        "there is no plan yet: Make a plan. Press “Make a plan”.",
        "「計画を作成」を押してください。",
    ),
    "an action whose plan lacks an info": (
        EMPTY,
        needing("apply"),
        "Tell me Goal, or ask me for a form.",
        "「目標」を教えてください。",
    ),
    "an action that runs": (
        PLANNING,
        needing("plan"),
        "already running: Make a plan. Wait until “Make a plan” has ended.",
        "「計画を作成」の完了をお待ちください。",
    ),
    "an action that nothing defines": (
        EMPTY,
        needing("fly"),
        "This is what I can do here: Make a plan, Apply, Count, Search, Report, ….",
        "ここでできることは次のとおりです: 計画を作成、実行、",
    ),
    "a choice of what is fetched": (
        EMPTY,
        {"choices": [{"data_type": "projects"}]},
        "Ask me to fetch Projects again.",
        "「案件」の再取得を依頼してください。",
    ),
    "feedback without a plan": (
        EMPTY,
        {"ops": [{"op": "feedback", "text": "too tight"}]},
        "To create one, press “Make a plan”.",
        "計画を作成するには「計画を作成」を押してください。",
    ),
    "a value that the person did not say": (
        EMPTY,
        {"dropped": ["goal", "projects", "nothing"]},
        "I did not record “Goal”: I found no value for it in your messages. Tell me Goal, or ask me for a form.",
        "「目標」は記録していません。お送りいただいた文章に値が見つかりませんでした。「目標」を教えてください。",
    ),
    "words of which the model made nothing": (
        EMPTY,
        {"silent": True},
        "Please rephrase it. This is what I can do here: Make a plan,",
        "別の言い方でお試しください。",
    ),
}


@pytest.mark.parametrize(("memory", "declared", "english", "japanese"), REFUSED.values(), ids=REFUSED)
def test_a_refused_declaration_says_what_to_do_next(
    memory: ContextMemory, declared: dict[str, Any], english: str, japanese: str
) -> None:
    words = heard(memory, **declared).sentences
    assert english in render_sentences(words, "en")
    assert japanese in render_sentences(words, "ja")
    assert render_sentences(words, "zh") != render_sentences(words, "en")


def test_what_is_understood_is_not_refused() -> None:
    declared = (needing("plan"), {"agent": "planAgent"}, setting("goal", "grow"))
    for outcome in (heard(silent=False), *(heard(READY, **each, silent=True) for each in declared)):
        assert "rephrase" not in render_sentences(outcome.sentences, "en")


@pytest.mark.parametrize("declared", [setting("style"), needing("plan"), {"silent": True}])
def test_a_value_that_is_dropped_beside_other_declarations_is_not_named(declared: dict[str, Any]) -> None:
    assert "did not record" not in render_sentences(heard(dropped=["goal"], **declared).sentences, "en")


@pytest.mark.parametrize(("reply", "is_named"), [("Noted: 20 % more.", True), ("How much more?", False)])
async def test_a_reply_that_claims_what_the_checks_dropped_is_corrected(
    reply: str, monkeypatch: pytest.MonkeyPatch, *, is_named: bool
) -> None:
    office = Office()
    op = {"op": "set", "key": "goals", "value": "20 % more sales", "quote": "20 % more sales"}
    monkeypatch.setattr(office, "say", lambda _: tool_call(DECLARE, ops=[op]).model_copy(update={"content": reply}))
    async with talking(office, URL) as talk:
        await talk.say("We want to grow.")
        assert reply in await talk.words()
        assert ("I did not record “Goals”: I found no value for it" in await talk.words()) == is_named
        assert "goals" not in (await talk.memory()).items


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_has_the_same_parts_in_each_language(code: str) -> None:
    parts = [sorted(set(re.findall(r"{(\w+)}", SENTENCES[code][language]))) for language in LANGUAGES]
    assert parts[0] == parts[1] == parts[2]


@pytest.mark.parametrize(
    "code",
    [
        "refused",
        "disabled",
        "executing",
        "plan_failed",
        "failed",
        "not_applied",
        "unanswered",
        "fetch_failed",
        "unknown",
    ],
)
def test_each_refusal_has_a_place_for_its_remedy(code: str) -> None:
    assert all("{todo}" in SENTENCES[code][language] for language in LANGUAGES)


async def test_a_value_that_is_none_of_the_choices_is_refused_with_the_choices() -> None:
    office = Office(projects=[{"id": "p1", "name": "Website", "open": 1}, {"id": "p2", "name": "App", "open": 1}])
    office.goes_on()
    say = office.say

    def chooses(messages: Any) -> Any:
        if person_text(messages[-1]) == "The moon":
            return tool_call("declare", ops=[{"op": "set", "key": "project", "value": "moon"}])
        return say(messages)

    office.say = chooses  # type: ignore[method-assign]
    async with talking(office, URL) as talk:
        await talk.say("The moon")
        assert "Choose one of these: Website, App." in await talk.words()
        assert "project" not in (await talk.memory()).items


async def test_a_plan_that_fails_and_a_step_that_fails_say_how_to_go_on() -> None:
    office = Office(draft={"steps": "none"})
    office.goes_on()
    async with talking(office, URL) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("failed")
        assert "To try again: Press “Make a plan”." in await talk.words()
        office.draft, office.is_broken = None, True
        await talk.send("again", action="make")
        await talk.plan("planned", 2)
        await talk.answer("approve")
        await talk.plan("failed", 2)
        assert "out of paper\n\nTo try again: On the plan of “Make a plan”, ask for its approval again." in (
            await talk.words()
        )


def test_an_assistant_that_only_answers_names_its_actions() -> None:
    plain = replace(
        OFFICE, actions=OFFICE.actions[2:4], infos=tuple(each for each in OFFICE.infos if each.key != "draft")
    )
    turn = ConversationReducer(plain, "chat", NOON, "ann", "run")
    message = {"type": "said", "message": "m1", "ops": [{"op": "feedback", "text": "too tight"}]}
    assert "This is what I can do here: Count, Search." in render_sentences(turn.apply(EMPTY, message).sentences, "en")

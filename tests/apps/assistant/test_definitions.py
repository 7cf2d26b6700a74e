"""Definitions that fit together start; others fail at once, with all the names and the remedy in the message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.apps.assistant.talk import Office

from ringi.forms.fields import Text
from ringi.forms.form import Form
from ringi_apps.assistant.declarations import (
    ActionDefinition,
    Choices,
    Info,
    InfoHandler,
    Needs,
    WorkflowNeeds,
    in_language,
)
from ringi_apps.assistant.definitions import DefinitionError, Definitions


async def nothing(_: dict[str, Any]) -> Any:
    return None


FETCH = InfoHandler("fetch", nothing, required_params=("user",))
PLAN = ActionDefinition("plan", "plan", "Plan", workflow="planning", requires=("goal", Needs("extra", optional=True)))
APPLY = ActionDefinition("apply", "apply", "Apply", workflow="applying", requires=("goal",), depends_on=("plan",))
WHOLE = Definitions(
    infos=(
        Info("user", value="u1"),
        Info("list", handler="fetch", params={"user": {"info": "user"}, "limit": 5}),
        Info("count", derive=len, inputs=("list",)),
        Info("goal", choices=Choices("fetch", params={"user": {"info": "user"}})),
        Info("extra"),
    ),
    actions=(PLAN, APPLY, ActionDefinition("show", "immediate", "Show", workflow="showing", requires=("count",))),
    handlers=(FETCH,),
)


def fault_of(*infos: Info, actions: tuple[ActionDefinition, ...] = (), handlers: tuple[InfoHandler, ...] = ()) -> str:
    with pytest.raises(DefinitionError) as caught:
        Definitions(infos, actions, handlers)
    return str(caught.value)


def test_how_an_info_is_obtained_follows_from_what_it_has() -> None:
    assert [WHOLE.info(key).kind for key in ("user", "list", "count", "goal")] == [
        "static",
        "handler",
        "derived",
        "ask",
    ]


def test_a_short_requirement_is_a_long_one_that_is_not_optional() -> None:
    assert PLAN.needs == (Needs("goal"), Needs("extra", optional=True))


def test_an_apply_is_always_transactional() -> None:
    assert WHOLE.action("apply").transactional
    assert not WHOLE.action("plan").transactional


def test_the_consumers_of_an_info_are_also_those_of_what_is_made_from_it() -> None:
    assert [each.id for each in WHOLE.consumers("list")] == ["show"]
    assert {each.id for each in WHOLE.consumers("user")} == {"plan", "apply", "show"}
    assert WHOLE.consumers("nobody") == ()


def test_a_plan_and_what_applies_it_are_a_pair_by_either_workflow() -> None:
    assert WHOLE.workflow_actions("planning") == WHOLE.workflow_actions("applying") == (PLAN, APPLY)
    assert WHOLE.plan_of(APPLY) is PLAN
    assert [each.id for each in WHOLE.workflow_actions("showing")] == ["show"]


def test_an_apply_may_require_its_plan_instead_of_naming_what_makes_it() -> None:
    plan = ActionDefinition("plan", "plan", "Plan", workflow="planning", produces=("draft",))
    apply = ActionDefinition("apply", "apply", "Apply", workflow="applying", requires=("draft",))
    definitions = Definitions((Info("draft"),), (plan, apply))
    assert definitions.plan_of(apply) is plan
    assert definitions.apply_of(plan) is apply


def test_infos_come_in_the_order_in_which_they_are_made() -> None:
    keys = [each.key for each in WHOLE.ordered_infos]
    assert keys.index("user") < keys.index("list") < keys.index("count")


@pytest.mark.parametrize(
    ("infos", "words"),
    [
        ((Info("a"), Info("a")), ["info 'a'", "defined 2 times", "rename or remove"]),
        ((Info("a/b"),), ["info 'a/b'", "not a valid name", "without : and /"]),
        ((Info(""),), ["info ''", "not a valid name"]),
        ((Info("a", handler="x"),), ["info 'a'", "handler 'x'", "not defined", "'fetch'"]),
        ((Info("a", handler="fetch"),), ["info 'a'", "handler 'fetch'", "'user'", "add it to params"]),
        ((Info("a", handler="fetch", params={"user": {"info": "b"}}),), ["info 'a'", "info 'b'", "not defined"]),
        ((Info("a", derive=len, inputs=("b",)),), ["info 'a'", "info 'b'", "not defined"]),
        ((Info("a", derive=len),), ["info 'a'", "derive but no inputs"]),
        ((Info("a", inputs=("a",)),), ["info 'a'", "no derive"]),
        ((Info("a", derive=len, inputs=("a",), value=1),), ["info 'a'", "derive and value"]),
        ((Info("a", value=1, form=Form([Text("x")])),), ["info 'a'", "never asked", "value"]),
        ((Info("a", ttl=0),), ["info 'a'", "ttl 0"]),
        ((Info("b"), Info("a", derive=len, inputs=("b",), ttl=5)), ["info 'a'", "cannot have a ttl", "max_age"]),
        ((Info("a", scope="world"),), ["info 'a'", "'world'", "'thread', 'user'"]),  # type: ignore[arg-type]
        ((Info("a", choices=Choices("x")),), ["info 'a'", "handler 'x'"]),
        ((Info("a", choices=Choices("fetch", params={"user": 1}, max_items=0)),), ["info 'a'", "max_items 0"]),
        ((Info("a", schema={"type": "nonsense"}),), ["info 'a' schema", "JSON Schema"]),
        ((Info("a", schema={"type": "string"}, value=5),), ["info 'a' value", "string"]),
    ],
)
def test_a_wrong_info_is_named_with_all_that_it_is_about(infos: tuple[Info, ...], words: list[str]) -> None:
    fault = fault_of(*infos, handlers=(FETCH,))
    assert all(word in fault for word in words), fault


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ((PLAN, PLAN), ["action 'plan'", "2 times", "workflow 'planning'"]),
        ((ActionDefinition("ask:x", "immediate", "A"),), ["action 'ask:x'", "not a valid name"]),
        ((ActionDefinition("a", "other", "A"),), ["action 'a'", "kind 'other'", "'selector'"]),  # type: ignore[arg-type]
        ((ActionDefinition("a", "plan", "A"),), ["action 'a'", "plan without a workflow"]),
        ((ActionDefinition("a", "selector", "A"),), ["action 'a'", "without an info"]),
        ((ActionDefinition("a", "selector", "A", info="x"),), ["action 'a'", "sets info 'x'", "'goal'"]),
        (
            (PLAN, ActionDefinition("a", "immediate", "A", requires_workflow=(WorkflowNeeds("planning", "done"),))),
            ["action 'a'", "'planning' to be 'done'", "never is", "'completed'"],
        ),
        (
            (
                ActionDefinition("a", "selector", "A", info="goal", workflow="w"),
                ActionDefinition("b", "immediate", "B", requires_workflow=(WorkflowNeeds("w"),)),
            ),
            ["action 'b'", "'w' to be 'completed'", "never is", "require the info that it sets"],
        ),
        (
            (
                ActionDefinition("a", "selector", "A", info="goal"),
                ActionDefinition("b", "immediate", "B", depends_on=("a",)),
            ),
            ["action 'b'", "'a'", "a selector is never completed", "require the info that it sets"],
        ),
        (
            (
                ActionDefinition("a", "plan", "A", workflow="w", produces=("goal",)),
                ActionDefinition("b", "selector", "B", info="goal"),
            ),
            ["action 'b'", "'goal'", "the plan of 'a'", "use an asked info"],
        ),
        (
            (ActionDefinition("a", "selector", "A", info="fixed"),),
            ["action 'a'", "'fixed'", "static", "people are not asked"],
        ),
        ((ActionDefinition("a", "immediate", "A", requires=("x",)),), ["action 'a'", "requires info 'x'", "'goal'"]),
        (
            (ActionDefinition("a", "immediate", "A", requires=("goal", Needs("goal"))),),
            ["action 'a'", "'goal' 2 times"],
        ),
        ((ActionDefinition("a", "immediate", "A", produces=("x",)),), ["action 'a'", "produces info 'x'"]),
        ((ActionDefinition("a", "immediate", "A", depends_on=("x",)),), ["action 'a'", "action 'x'", "not defined"]),
        (
            (PLAN, ActionDefinition("a", "immediate", "A", requires_workflow=(WorkflowNeeds("x"),))),
            ["action 'a'", "workflow 'x'", "'planning'"],
        ),
        ((ActionDefinition("a", "apply", "A", workflow="w"),), ["action 'a'", "no plan", "depend on exactly one"]),
        (
            (PLAN, APPLY, ActionDefinition("other", "apply", "Other", workflow="w", depends_on=("plan",))),
            ["action 'plan'", "applied by 2 actions", "'apply', 'other'", "keep one"],
        ),
        (
            (ActionDefinition("a", "immediate", "A", workflow="w", transactional=True),),
            ["action 'a'", "transactional", "nobody could approve", "make it an 'apply'"],
        ),
    ],
)
def test_a_wrong_action_is_named_with_all_that_it_is_about(
    actions: tuple[ActionDefinition, ...], words: list[str]
) -> None:
    fault = fault_of(Info("goal"), Info("extra"), Info("fixed", value=1), actions=actions)
    assert all(word in fault for word in words), fault


def test_infos_that_are_made_from_each_other_are_all_named() -> None:
    fault = fault_of(
        Info("a", derive=len, inputs=("b",)),
        Info("b", handler="fetch", params={"user": {"info": "a"}}),
        handlers=(FETCH,),
    )
    assert all(word in fault for word in ("'a'", "'b'", "→", "remove one of the references"))


def test_actions_that_wait_for_each_other_are_all_named() -> None:
    first = ActionDefinition("first", "immediate", "First", workflow="w", depends_on=("second",))
    second = ActionDefinition("second", "immediate", "Second", requires_workflow=(WorkflowNeeds("w"),))
    fault = fault_of(actions=(first, second))
    assert all(word in fault for word in ("'first'", "'second'", "→", "remove one of the dependencies"))


def test_a_plan_that_needs_itself_is_refused() -> None:
    plan = ActionDefinition("plan", "plan", "Plan", workflow="w", requires=("plan",), produces=("plan",))
    assert "wait for each other" in fault_of(Info("plan"), actions=(plan,))


def test_all_faults_are_told_at_once() -> None:
    fault = fault_of(Info("a", ttl=-1), actions=(ActionDefinition("b", "plan", "B", requires=("c",)),))
    assert all(word in fault for word in ("ttl -1", "without a workflow", "info 'c'"))


@pytest.mark.parametrize(
    ("language", "words"), [("ja", "計画"), ("ja-JP", "計画"), ("fr", "Plan"), ("en", "Plan"), ("zh", "Plan")]
)
def test_words_are_found_by_language_then_in_english(language: str, words: str) -> None:
    assert in_language({"ja": "計画", "en": "Plan"}, language) == words


def test_words_in_no_known_language_are_those_that_there_are() -> None:
    assert in_language({"ja": "計画"}, "fr") == "計画"
    assert in_language("Plan", "ja") == "Plan"
    assert in_language({}, "ja") == ""


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (ActionDefinition("a", "immediate", "A", handler="nope"), ["action 'a'", "handler 'nope'", "not defined"]),
        (
            ActionDefinition("a", "selector", "A", handler="fetch_projects"),
            ["action 'a'", "'fetch_projects' only", "name the"],
        ),
        (ActionDefinition("a", "immediate", "A", workflow="w"), ["workflows.w", "action 'a'", "add it to `workflows`"]),
    ],
)
def test_an_action_that_nothing_does_is_named_with_what_it_lacks(action: ActionDefinition, words: list[str]) -> None:
    made = Office().assistant()
    with pytest.raises(DefinitionError) as caught:
        replace(made, definitions=replace(made.definitions, actions=(*made.definitions.actions, action)))
    assert all(word in str(caught.value) for word in words), caught.value

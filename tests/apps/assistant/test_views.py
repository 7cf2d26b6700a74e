"""The documents of the edge say what the memory says, in the words of the first design and in a person's language."""

from __future__ import annotations

import json
from typing import Any

from tests.apps.assistant.office import ANNA, API, NOON, OFFICE, after, fetched, with_values

from ringi_apps.assistant import memory as memories
from ringi_apps.assistant import plans, views
from ringi_apps.assistant.freshness import Freshness
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.memory_ops import MemoryOp
from ringi_apps.assistant.model_context import state_text
from ringi_apps.assistant.plans import Feedback

EMPTY = ContextMemory()
READY = with_values(fetched(EMPTY, [{"id": 1}]), goal="g")


def memory_view(*values: Any) -> Any:
    """Return the memory as JSON."""
    return views.memory_view(*values).model_dump(mode="json")


def actions_view(*values: Any) -> list[Any]:
    """Return the actions as JSON."""
    return [each.model_dump(mode="json") for each in views.actions_view(*values)]


def history_view(*values: Any) -> list[Any]:
    """Return the history as JSON."""
    return [each.model_dump(mode="json") for each in views.history_view(*values)]


def planned() -> ContextMemory:
    action, inputs = OFFICE.action("plan"), Freshness(OFFICE, READY, NOON).inputs(OFFICE.action("plan"))
    plan = plans.next_plan_version(None, "p1", action, inputs, "side", NOON)
    draft = {"plan": {"risk": "low"}, "steps": [{"id": "s1", "title": "Write", "action": "write", "args": {"n": 1}}]}
    plan = plans.add_draft(plan, 1, draft, inputs, after(1))
    plan = plans.add_feedback(plan, Feedback(id="f1", text="too tight", by="anna", at=after(2)))
    return memories.record_value(READY, "draft", {"risk": "low"}, API, after(1), OFFICE).with_plan(plan)


def test_an_empty_memory_shows_what_is_wanted_and_that_nothing_is_there() -> None:
    view = memory_view(OFFICE, EMPTY, NOON, "en")
    assert [each["type"] for each in view["requiredInfoList"]] == [
        *("projects", "count", "goal", "echo", "style", "budget", "topic"),
    ]
    assert {each["status"] for each in view["requiredInfoList"]} == {"pending"}
    assert view["currentInfoList"] == []
    assert view["planData"] == {"status": "none", "plan": None, "feedback": [], "lastUpdated": None}
    assert view["hitlState"] == {"status": "none", "waitingFor": None}
    assert (view["runs"], view["plans"]) == ([], [])
    region = next(each for each in view["items"] if each["key"] == "region")
    assert (region["value"], region["status"], region["isFresh"], region["how"]) == ("jp", "collected", True, "static")


def test_what_is_known_is_shown_with_its_time_and_source() -> None:
    view = memory_view(OFFICE, READY, after(300), "ja")
    assert view["currentInfoList"] == [
        {"type": "projects", "value": [{"id": 1}], "timestamp": "2026-01-15T12:00:00Z", "source": "handler"},
        {"type": "goal", "value": "g", "timestamp": "2026-01-15T12:00:00Z", "source": "conversation_history"},
    ]
    projects = next(each for each in view["items"] if each["key"] == "projects")
    assert (projects["title"], projects["isFresh"]) == ("案件", False)
    assert (projects["observedAt"], projects["freshUntil"]) == ("2026-01-15T12:00:00Z", "2026-01-15T12:05:00Z")
    goal = next(each for each in view["items"] if each["key"] == "goal")
    assert goal["source"] == {"kind": "user", "actor": "anna", "ref": "m1", "quote": "as I said"}


def test_an_action_is_shown_with_its_names_of_the_first_design() -> None:
    assert memory_view(OFFICE, READY, NOON, "ja")["availableActions"][0] == {
        "id": "plan",
        "type": "plan",
        "label": "計画を作成",
        "description": "",
        "enabled": True,
        "requiredInfo": ["goal", "projects"],
        "workflowName": "planning",
        "handler": None,
    }


def test_an_action_that_is_not_possible_says_why_in_the_language_of_the_reader() -> None:
    plan = actions_view(OFFICE, fetched(EMPTY, [1]), NOON, "ja")[0]
    assert (plan["enabled"], plan["have"], plan["need"], plan["immediate"]) == (False, 1, 2, False)
    assert plan["reasons"] == [
        {
            "code": "MISSING_INFO",
            "key": "goal",
            "text": "「目標」を待っています",
            "fix": {"kind": "ask", "ref": "goal", "label": "「目標」を入力"},
        }
    ]


def test_a_plan_is_shown_with_what_was_said_of_it_and_that_it_waits() -> None:
    view = memory_view(OFFICE, planned(), NOON, "en")
    assert view["planData"]["status"] == "planned"
    assert view["planData"]["feedback"] == ["too tight"]
    plan = view["plans"][0]
    assert plan["steps"] == [{"id": "s1", "title": "Write", "action": "write", "args": {"n": 1}, "isDone": False}]
    assert plan["feedback"] == [
        {"id": "f1", "text": "too tight", "by": "anna", "at": "2026-01-15T12:00:02Z", "addressedIn": None}
    ]
    assert (plan["actionId"], plan["version"], plan["approval"], plan["threadId"]) == ("plan", 1, None, "side")
    assert view["hitlState"] == {"status": "waiting", "waitingFor": "apply"}


def test_a_plan_that_is_out_of_date_names_what_changed() -> None:
    memory = with_values(planned(), goal="h")
    plan = memory.plans["planning"]
    inputs = Freshness(OFFICE, memory, NOON).inputs(OFFICE.action("plan"))
    view = memory_view(OFFICE, memory.with_plan(plans.check_inputs(plan, inputs, NOON)), NOON, "ja")
    assert view["plans"][0]["changed"] == [{"key": "goal", "title": "目標"}]


def test_an_open_question_is_what_the_conversation_waits_for() -> None:
    assert memory_view(OFFICE, EMPTY.with_open_question("goal", "side"), NOON, "en")["hitlState"] == {
        "status": "waiting",
        "waitingFor": "goal",
    }


def test_the_history_is_shown_with_titles_and_sources() -> None:
    memory = memories.set_workflow_status(READY, "planning", "planning", after(9))
    entries = history_view(OFFICE, memory.history, "ja")
    assert [(each["number"], each["op"], each["title"]) for each in entries] == [
        (1, "observe", "案件"),
        (2, "set", "目標"),
        (3, "run", "計画を作成"),
    ]
    assert entries[1]["source"]["quote"] == "as I said"
    assert (entries[2]["before"], entries[2]["after"], entries[2]["at"]) == (None, "planning", "2026-01-15T12:00:09Z")


def test_the_model_is_told_what_is_known_missing_and_possible_in_little_space() -> None:
    memory, _ = memories.apply_ops(
        planned(), [MemoryOp(op="set", key="topic", value="語" * 20_000)], OFFICE, ANNA, NOON
    )
    memory = memories.record_failure(memory, "budget", "no route", API, NOON)
    text = state_text(OFFICE, memory, NOON, "ja")
    view = json.loads(text)
    assert len(text) < 5_000
    assert view["language"] == "Japanese"
    assert view["known"]["goal"] == "g"
    assert "missing" not in view
    assert json.loads(state_text(OFFICE, EMPTY, NOON, "ja"))["missing"] == ["goal", "topic"]
    assert view["failed"] == {"budget": "no route"}
    assert "possible_actions" not in view
    assert view["plans"][0]["steps"] == ["Write"]

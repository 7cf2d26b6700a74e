"""The examples of the first design load as they were written, behave as it says, and are written back the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ringi.errors import InvalidError
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant.availability import availability_of, availability_of_all
from ringi_apps.assistant.explanations import reasons_text
from ringi_apps.assistant.memory import ContextMemory, Provenance
from ringi_apps.assistant.memory_ops import MemoryOp
from ringi_apps.assistant.seed import SeedData, actions_document, context_memory_document, load_actions, load_memory

NOW = datetime(2024, 1, 15, 15, tzinfo=UTC)
SAYS = Provenance(kind="user", actor="anna")


def example(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((Path(__file__).parent / "seed" / f"{name}.json").read_text())
    return document


def loaded_actions(name: str, *keys: str) -> SeedData:
    """Return an action definition, loaded where these infos are known."""
    definitions = load_actions(example(name), NOW).definitions
    ops = [MemoryOp(op="set", key=key, value=f"value of {key}") for key in keys]
    memory, refused = memories.apply_ops(ContextMemory(), ops, definitions, SAYS, NOW)
    assert not refused
    return load_actions(example(name), NOW, memory)


def enabled(memory_from_json: SeedData) -> dict[str, bool]:
    return {
        each.action_id: each.enabled
        for each in availability_of_all(memory_from_json.definitions, memory_from_json.memory, NOW)
    }


def why(memory_from_json: SeedData, id: str, language: str = "ja") -> str:
    definitions, memory = memory_from_json
    return reasons_text(
        availability_of(definitions, memory, NOW, definitions.action(id)).reasons, definitions, language
    )


@pytest.mark.parametrize("name", ["memory-project", "memory-sales"])
def test_a_memory_is_written_back_as_it_was_read(name: str) -> None:
    memory_from_json = load_memory(example(name), NOW)
    assert context_memory_document(*memory_from_json, NOW) == example(name)
    stored = memories.memory_from_json(memory_from_json.memory.model_dump(mode="json"))
    assert context_memory_document(memory_from_json.definitions, stored, NOW) == example(name)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("actions-project", ["project_list", "business_goals"]),
        ("actions-sales", ["lead_data", "sales_performance", "customer_feedback"]),
        ("actions-immediate", ["user_query"]),
    ],
)
def test_an_action_definition_is_written_back_as_it_was_read(name: str, known: list[str]) -> None:
    memory_from_json = loaded_actions(name, *known)
    assert actions_document(*memory_from_json, NOW) == example(name)


def test_planning_a_project_is_possible_and_so_is_carrying_out_its_plan() -> None:
    assert enabled(load_memory(example("memory-project"), NOW)) == {
        "plan-001": True,
        "apply-001": True,
        "selector-001": True,
    }


def test_sales_planning_is_disabled_while_the_market_trends_are_pending() -> None:
    memory_from_json = load_memory(example("memory-sales"), NOW)
    assert enabled(memory_from_json) == {"plan-002": False, "selector-002": True}
    assert "「市場動向と競合情報」を待っています" in why(memory_from_json, "plan-002")


def test_sales_planning_is_possible_once_the_market_trends_are_there() -> None:
    document = example("memory-sales")
    document["planData"] = {"status": "none", "plan": None, "feedback": []}
    definitions, memory = load_memory(document, NOW)
    assert why(SeedData(definitions, memory), "plan-002") == "「市場動向と競合情報」を待っています"
    memory, _ = memories.apply_ops(
        memory, [MemoryOp(op="set", key="market_trends", value={"growth": 0.1})], definitions, SAYS, NOW
    )
    assert enabled(SeedData(definitions, memory)) == {"plan-002": True, "selector-002": True}


@pytest.mark.parametrize("status", ["none", "planning", "executing", "completed"])
def test_a_plan_can_be_carried_out_only_while_it_is_planned(status: str) -> None:
    document = example("memory-project")
    document["planData"] |= {"status": status}
    document["planData"] |= {"plan": None} if status in ("none", "planning") else {}
    assert not enabled(load_memory(document, NOW))["apply-001"]


def test_what_a_document_claims_is_computed_anew() -> None:
    document = example("memory-sales")
    document["availableActions"][0]["enabled"] = True
    document["requiredInfoList"][2]["status"] = "collected"
    memory_from_json = load_memory(document, NOW)
    assert not enabled(memory_from_json)["plan-002"]
    assert context_memory_document(*memory_from_json, NOW) == example("memory-sales")


def test_carrying_out_a_project_waits_for_its_plan_and_for_the_resources() -> None:
    known = ("project_list", "business_goals")
    document = example("actions-project") | {"plannedData": None}
    definitions, _ = load_actions(document, NOW)
    assert why(SeedData(definitions, ContextMemory()), "計画実行").startswith(
        "計画がまだありません:「プロジェクト計画作成」"
    )
    planned = loaded_actions("actions-project", *known)
    assert why(planned, "計画実行", "en") == "waiting for: resource_availability"
    assert enabled(loaded_actions("actions-project", *known, "resource_availability"))["計画実行"]


def test_the_plan_must_have_been_completed_before_it_is_carried_out() -> None:
    definitions, memory = loaded_actions("actions-project", "project_list", "business_goals", "resource_availability")
    apply = definitions.action("計画実行")
    assert [each.workflow for each in apply.requires_workflow] == ["projectPlanWorkflow"]
    assert apply.transactional
    planning = memory.plans["projectPlanWorkflow"].model_copy(update={"status": "planning", "hash": ""})
    memory = memories.set_workflow_status(memory.with_plan(planning), "projectPlanWorkflow", "planning", NOW)
    assert not availability_of(definitions, memory, NOW, apply).enabled


def test_immediate_actions_need_their_infos_and_no_plan() -> None:
    assert enabled(loaded_actions("actions-immediate")) == {"FAQ回答": False, "データ検索": False, "計算処理": False}
    assert enabled(loaded_actions("actions-immediate", "user_query")) == {
        "FAQ回答": True,
        "データ検索": True,
        "計算処理": True,
    }
    assert enabled(loaded_actions("actions-project"))["プロジェクト一覧取得"]
    assert enabled(loaded_actions("actions-sales", "lead_data")) == {
        "営業戦略策定": False,
        "戦略実行": False,
        "リード分析": True,
        "パフォーマンスレポート生成": False,
    }


def test_counts_follow_what_is_known() -> None:
    for known in ([], ["lead_data"], ["lead_data", "market_trends", "customer_feedback", "sales_performance"]):
        status = actions_document(*loaded_actions("actions-sales", *known), NOW)["requiredInfoStatus"]
        assert (status["collectedCount"], status["totalCount"]) == (len(known), 4)


def test_the_long_form_may_leave_out_what_is_optional() -> None:
    document = example("actions-project")
    document["actions"][0]["requiredInfo"][1]["optional"] = True
    definitions, _ = load_actions(document, NOW)
    assert [need.optional for need in definitions.action("プロジェクト計画作成").needs] == [False, True]
    assert actions_document(definitions, ContextMemory(), NOW)["actions"] == document["actions"]


def test_a_wrong_document_is_refused_with_the_place() -> None:
    document = example("memory-sales")
    document["availableActions"][0]["type"] = "planning"
    with pytest.raises(InvalidError, match=r"availableActions\.0\.type"):
        load_memory(document, NOW)

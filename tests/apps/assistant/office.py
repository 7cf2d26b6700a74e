"""The definitions and times that the tests of the assistant's core share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from ringi.base.canonical_json import digest
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant.declarations import ActionDefinition, Info, InfoHandler, Needs, WorkflowNeeds
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory import ContextMemory, Provenance
from ringi_apps.assistant.memory_ops import MemoryOp

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
ANNA = Provenance(kind="user", actor="anna", ref="m1", quote="as I said")
API = Provenance(kind="handler", ref="run1")


async def nothing(_: dict[str, Any]) -> Any:
    return None


def doubled(goal: str) -> str:
    return goal * 2


def counted(projects: list[Any]) -> int:
    return len(projects)


OFFICE = Definitions(
    infos=(
        Info("region", value="jp"),
        Info("projects", {"en": "Projects", "ja": "案件"}, handler="fetch", params={"r": {"info": "region"}}, ttl=300),
        Info("count", derive=counted, inputs=("projects",)),
        Info("goal", {"en": "Goal", "ja": "目標"}, schema={"type": "string", "minLength": 1}),
        Info("echo", derive=doubled, inputs=("goal",)),
        Info("style", scope="user"),
        Info("budget", schema={"type": "number"}, ttl=60),
        Info("draft"),
        Info("topic"),
    ),
    actions=(
        ActionDefinition(
            "plan",
            "plan",
            {"en": "Make a plan", "ja": "計画を作成"},
            workflow="planning",
            requires=("goal", "projects", Needs("style", optional=True), Needs("budget", optional=True)),
            produces=("draft",),
        ),
        ActionDefinition(
            "apply",
            "apply",
            {"en": "Apply", "ja": "実行"},
            workflow="applying",
            requires=("goal", "draft"),
            depends_on=("plan",),
        ),
        ActionDefinition("count", "immediate", "Count", workflow="counting", requires=("count", "echo")),
        ActionDefinition("search", "immediate", "Search", workflow="searching", requires=("topic",)),
        ActionDefinition("report", "immediate", "Report", requires_workflow=(WorkflowNeeds("applying"),)),
        ActionDefinition("pick", "selector", "Pick", info="goal", requires=(Needs("projects", max_age=60),)),
        ActionDefinition("cancel", "cancel", "Cancel"),
    ),
    handlers=(InfoHandler("fetch", nothing, required_params=("r",), cache_duration=300),),
)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def with_values(memory: ContextMemory, now: datetime = NOON, /, **values: Any) -> ContextMemory:
    """Return the memory after Anna has said these values."""
    ops = [MemoryOp(op="set", key=key, value=value) for key, value in values.items()]
    memory, refused = memories.apply_ops(memory, ops, OFFICE, ANNA, now)
    assert not refused
    return memory


def fetched(memory: ContextMemory, value: Any, now: datetime = NOON) -> ContextMemory:
    """Return the memory after the handler has brought the projects."""
    inputs = {"region": digest("jp")}
    return memories.record_value(memory, "projects", value, API, now, OFFICE, inputs)

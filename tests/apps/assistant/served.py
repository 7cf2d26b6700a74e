"""A small assistant with a person's goals, projects that are fetched, a plan and what applies it; served over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.server.world import World, is_at_rest, open_world, until

from ringi.testing.model import ScriptedModel
from ringi_apps.assistant.assistant import Assistant
from ringi_apps.assistant.declarations import ActionDefinition, Info, InfoHandler
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.demo import say
from ringi_apps.assistant.jobs import CallJob, PlanJob, StepJob

MORE = {"properties": {"more": {"type": "integer"}}}
GOALS, PROJECTS = "Grow by 20 %", [{"id": "p1", "name": "Website"}, {"id": "p2", "name": "App"}]


@dataclass
class Office:
    """What the assistant's code sees and does."""

    projects: list[dict[str, str]] = field(default_factory=lambda: list(PROJECTS))
    ttl: float = 3600
    fetching: asyncio.Event = field(default_factory=asyncio.Event)
    may_fetch: asyncio.Event = field(default_factory=asyncio.Event)
    may_plan: asyncio.Event = field(default_factory=asyncio.Event)
    broken: bool = False
    counted: list[int] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    """The keys of the steps that were carried out."""

    def __post_init__(self) -> None:
        self.may_fetch.set()
        self.may_plan.set()

    async def fetch(self, params: dict[str, Any]) -> list[dict[str, str]]:
        self.fetching.set()
        await self.may_fetch.wait()
        if self.broken:
            raise ValueError("the projects are away")
        return self.projects

    async def plan(self, job: PlanJob) -> dict[str, Any]:
        await self.may_plan.wait()
        steps = [{"id": each["id"], "title": each["name"]} for each in job.inputs["projects"]]
        return {"plan": {"goal": job.inputs["goals"]}, "steps": steps}

    async def carry_out(self, job: StepJob) -> None:
        self.done.append(job.key)

    async def count(self, job: CallJob) -> int:
        self.counted.append(len(job.inputs["projects"]) + int(job.args.get("more", 0)))
        return self.counted[-1]

    def assistant(self) -> Assistant:
        infos = (
            Info("goals", {"en": "Goals", "ja": "目標"}, schema={"type": "string"}),
            Info("projects", {"en": "Projects", "ja": "プロジェクト"}, handler="fetch_projects", ttl=self.ttl),
            Info("draft", {"en": "Draft", "ja": "案"}),
        )
        plan = ActionDefinition(
            "plan-1", "plan", {"en": "Plan", "ja": "計画を作成"}, workflow="plan", requires=("goals", "projects"),
            produces=("draft",),
        )  # fmt: skip
        apply = ActionDefinition(
            "apply-1", "apply", "Apply", workflow="apply", requires=("draft",), depends_on=("plan-1",)
        )
        count = ActionDefinition("count-1", "immediate", "Count", workflow="count", requires=("projects",), schema=MORE)
        clear = ActionDefinition("clear-1", "cancel", "Clear")
        handler = InfoHandler("fetch_projects", self.fetch)
        return Assistant(
            "office",
            Definitions(infos, (plan, apply, count, clear), (handler,)),
            ScriptedModel(script=say, delay=0.0),
            {"plan": self.plan, "apply": self.carry_out, "count": self.count},
        )


@contextlib.asynccontextmanager
async def served(url: str, office: Office | None = None, **settings: Any) -> AsyncIterator[World]:
    """Open a server with that assistant."""
    async with open_world(url, more_agents=(office or Office()).assistant().agents(), **settings) as world:
        yield world
        # A side thread that waits to tell its conversation would outlast the worker that has to take that up.
        await until(partial(is_at_rest, world))

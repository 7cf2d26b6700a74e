"""An assistant whose workflows a test can look into, and a conversation with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from tests.runs.world import World, at_work, until

from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import ConflictError
from ringi.testing.model import ScriptedModel, tool_call
from ringi_apps.assistant.assistant import Assistant
from ringi_apps.assistant.declarations import ActionDefinition, Choices, Info, InfoHandler
from ringi_apps.assistant.declare_tool import DECLARE, ROUTE
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.jobs import CallJob, PlanJob, StepJob
from ringi_apps.assistant.memory import ContextMemory, InfoEntry
from ringi_apps.assistant.memory_cache import memory_of
from ringi_apps.assistant.model_context import person_text
from ringi_apps.assistant.plans import Plan
from ringi_apps.assistant.settings import Workflow

TENANT = "default"
CHAT = "chat"


@dataclass
class Office:
    """What the workflows of the test have done."""

    projects: list[dict[str, Any]] = field(default_factory=lambda: [{"id": "p1", "name": "Website"}])
    fetched: int = 0
    heard: int = 0
    plans: list[PlanJob] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)
    is_broken: bool = False
    breaks_at: str | None = None
    draft: Any = None
    may_plan: asyncio.Event = field(default_factory=asyncio.Event)
    may_execute: asyncio.Event = field(default_factory=asyncio.Event)

    async def fetch(self, params: dict[str, Any]) -> Any:
        self.fetched += 1
        return self.projects

    async def plan(self, job: PlanJob) -> dict[str, Any]:
        self.plans.append(job)
        await self.may_plan.wait()
        if self.draft is not None:
            return self.draft  # type: ignore[no-any-return]
        weeks = 2 + 2 * len(job.feedback)
        return {
            "plan": {"goal": job.inputs["goals"], "weeks": weeks},
            "steps": [{"id": "s1", "title": "Design"}, {"id": "s2", "title": "Build"}],
        }

    async def execute(self, job: StepJob) -> None:
        if self.is_broken or job.step["id"] == self.breaks_at:
            raise ValueError("the printer is out of paper")
        await self.may_execute.wait()
        self.effects.append(job.key)

    def holds(self, part: str) -> None:
        """Let this workflow not come to its end before `goes_on`."""
        {"plan": self.may_plan, "execute": self.may_execute}.get(part, asyncio.Event()).clear()

    def goes_on(self) -> None:
        self.may_plan.set()
        self.may_execute.set()

    async def count(self, job: CallJob) -> str:
        return f"There are {len(job.inputs['projects'])} projects."

    def assistant(self, **more: Any) -> Assistant:
        definitions = Definitions(
            infos=(
                Info("projects", "Projects", handler="fetch_projects"),
                Info("goals", {"en": "Goals", "ja": "目標"}, schema={"type": "string"}),
                Info("plan", "Plan"),
                Info("project", "Project", choices=Choices("fetch_projects", filters={"open": 1}, max_items=2)),
                Info("style", "Style", scope="user"),
            ),
            actions=(
                ActionDefinition(
                    "make",
                    "plan",
                    "Make a plan",
                    workflow="planWorkflow",
                    requires=("projects", "goals"),
                    produces=("plan",),
                ),
                ActionDefinition(
                    "do", "apply", "Carry it out", workflow="executeWorkflow", requires=("plan",), depends_on=("make",)
                ),
                ActionDefinition("choose", "selector", "Choose a project", info="project"),
                ActionDefinition("count", "immediate", "Count", workflow="countWorkflow", requires=("projects",)),
            ),
            handlers=(InfoHandler("fetch_projects", self.fetch),),
        )
        workflows: dict[str, Workflow] = {
            "planWorkflow": self.plan,
            "executeWorkflow": self.execute,
            "countWorkflow": self.count,
        }
        return Assistant("assistant", definitions, ScriptedModel(script=self.say), workflows, **more)

    def say(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        self.heard += 1
        text = person_text(messages[-1])
        if text.startswith("goal: "):
            op = {"op": "set", "key": "goals", "value": text.removeprefix("goal: "), "quote": text}
            return tool_call(DECLARE, ops=[op]).model_copy(update={"content": "I see."})
        if text.startswith("feedback: "):
            return tool_call(DECLARE, ops=[{"op": "feedback", "text": text.removeprefix("feedback: ")}])
        if text.startswith("do: "):
            return tool_call(DECLARE, required_actions=[{"type": text.removeprefix("do: ")}])
        if text.startswith("say: "):
            return text.removeprefix("say: ")
        if text.startswith("route: "):
            return tool_call(ROUTE, agent=text.removeprefix("route: "))
        return f"You said {text}"


class ChatDriver:
    """A conversation with a worker behind it."""

    def __init__(self, world: World) -> None:
        self._world, self.chat = world, CHAT
        self.runner, self.inbox = world.runner, world.inbox

    async def say(self, text: str, **more: str) -> ContextMemory:
        return await self._start({"messages": [{"role": "user", "content": text, **more}]})

    async def send(self, type: str, **about: Any) -> ContextMemory:
        return await self._start({"event": {"type": type, **about}})

    async def thread(self, id: str, *statuses: str) -> Thread:
        """Return a thread once it has one of these statuses."""

        async def has_come() -> Thread | None:
            thread = await self.runner.get(TENANT, id)
            return thread if thread.status in statuses else None

        return await until(has_come, f"thread {id} is {statuses}")

    async def memory(self) -> ContextMemory:
        """Return the memory once the conversation rests."""
        return await memory_of(self.runner.backend, await self.thread(self.chat, "done"))

    async def plan(self, status: str, version: int = 1) -> Plan:
        """Return the plan once it has this status."""

        async def has_come() -> Plan | None:
            plan = (await self.memory()).plans.get("planWorkflow")
            return plan if plan and plan.status == status and plan.version >= version else None

        return await until(has_come, f"the plan is {status}")

    async def until_carried_out(self) -> ContextMemory:
        """Return the memory once the plan is carried out and cleared away."""

        async def is_gone() -> ContextMemory | None:
            memory = await self.memory()
            return memory if memory.plans["planWorkflow"].status == "completed" else None

        return await until(is_gone, "the plan is carried out")

    async def item(self, key: str) -> InfoEntry:
        """Return what is known of an info once it is."""

        async def is_known() -> InfoEntry | None:
            return (await self.memory()).items.get(key)

        return await until(is_known, f"{key} is known")

    async def request(self) -> Request:
        """Return what is asked once something is."""

        async def is_asked() -> list[Request]:
            return await self.inbox.search(Query(statuses=("pending",)))

        return (await until(is_asked, "something is asked"))[0]

    async def answer(self, decision: Any, by: str = "bob", **more: Any) -> Request:
        request = await self.request()
        return await self.inbox.respond(request, decision, by=by, **more)

    async def types(self) -> list[str]:
        """Return the types of the events in the conversation's stream."""
        return [str(item.event["type"]) for item in await self._world.items(self.chat)]

    async def words(self) -> str:
        await self.memory()
        return "".join(str(item.event.get("delta", "\n")) for item in await self._world.items(CHAT))

    async def _start(self, input: dict[str, Any]) -> ContextMemory:
        async def has_begun() -> bool:
            try:
                await self.runner.start(TENANT, self.chat, "assistant", input, by="ann")
            except ConflictError as error:
                if error.code != "busy":
                    raise
                return False
            return True

        await until(has_begun, "the conversation takes it")
        return await self.memory()


@asynccontextmanager
async def talking(office: Office, url: str, **more: Any) -> AsyncIterator[ChatDriver]:
    """Open a conversation with the office's assistant, and a worker."""
    async with at_work(url, office.assistant(**more).agents()) as world:
        yield ChatDriver(world)

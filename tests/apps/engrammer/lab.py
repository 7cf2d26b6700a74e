"""An Engrammer on a script that a test writes, and a conversation with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from tests.runs.world import World, at_work

from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import NotFoundError
from ringi.testing.model import ModelOutput, ScriptedModel
from ringi_apps.engrammer import Engrammer
from ringi_apps.engrammer.entries import VersionedEntry
from ringi_apps.engrammer.persistence import (
    MakeEntry,
    append_entry,
    read_entries,
    read_playbook,
    turns_in_newest_checkpoint,
)
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.roles import REFLECTOR_PROMPT_START, RawInsight, Reflection
from ringi_apps.engrammer.turns import Turn

TENANT = "default"
TALK = "talk"


def insight(text: str, type: Any = "new_strategy", **more: Any) -> RawInsight:
    return RawInsight(type=type, description=text, **more)


@dataclass
class Models:
    """What the two models say, and how often each was asked."""

    lessons: dict[str, list[RawInsight]] = field(default_factory=dict)
    """By question, what the reflector proposes."""
    answers: dict[str, ModelOutput] = field(default_factory=dict)
    reflections: dict[str, ModelOutput] = field(default_factory=dict)
    answered: int = 0
    reflected: int = 0
    prompts: list[Sequence[BaseMessage]] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    """Questions at which the provider fails."""

    def say(self, messages: Sequence[BaseMessage]) -> ModelOutput:
        self.prompts.append(messages)
        return self.reflect(messages) if REFLECTOR_PROMPT_START in messages[0].text else self.answer(messages)

    def answer(self, messages: Sequence[BaseMessage]) -> ModelOutput:
        self.answered += 1
        asked = next(m.text for m in reversed(messages) if m.type == "human")
        if asked in self.broken:
            raise ConnectionError("the provider is down")
        return self.answers.get(asked, f"Answer to: {asked}")

    def reflect(self, messages: Sequence[BaseMessage]) -> ModelOutput:
        self.reflected += 1
        question = messages[1].text.partition("## Question\n> ")[2].partition("\n\n##")[0]
        # An insight without a quote is not proposed while nobody has judged the answer.
        lessons = [
            each if each.quotes else each.model_copy(update={"quotes": [question]})
            for each in self.lessons.get(question, [])
        ]
        return self.reflections.get(question) or Reflection(insights=lessons)

    def engrammer(self, **more: Any) -> Engrammer:
        return Engrammer(**{"model": ScriptedModel(script=self.say), **more})


class Thoughtful(ScriptedModel):
    """Begins to speak once it may."""

    may_speak: Any

    async def _astream(self, *args: Any, **more: Any) -> AsyncIterator[ChatGenerationChunk]:
        await self.may_speak.wait()
        async for chunk in super()._astream(*args, **more):
            yield chunk


class Lab:
    """A conversation with a worker behind it."""

    def __init__(self, world: World, engrammer: Engrammer) -> None:
        self.world, self.engrammer = world, engrammer

    async def ask(self, query: str, id: str = TALK, **more: Any) -> Thread:
        return await self.world.run(self.engrammer.name, {"query": query, **more}, id)

    async def say(self, verdict: str, id: str = TALK, **more: Any) -> Thread:
        feedback = {"verdict": verdict, **({"text": more.pop("text")} if "text" in more else {})}
        return await self.world.run(self.engrammer.name, {"feedback": feedback, **more}, id)

    async def tidy(self, id: str = "tidy") -> Thread:
        return await self.world.run(self.engrammer.deduplicator_name, {}, id)

    async def turns(self, id: str = TALK) -> list[Turn]:
        return await turns_in_newest_checkpoint(self.world.backend, await self.world.thread(id))

    async def turn(self, id: str = TALK) -> Turn:
        return (await self.turns(id))[-1]

    async def waiting(self, id: str = TALK) -> list[Request]:
        return await self.world.pending(id)

    async def waiting_if_begun(self, id: str) -> list[Request]:
        try:
            return await self.waiting(id)
        except NotFoundError:
            return []

    async def decide(self, decision: Any, id: str = TALK, **more: Any) -> Thread:
        """Decide the first of what waits, by its title."""
        return await self.world.answer((await self.waiting(id))[0], decision, **more)

    async def learn(self, *texts: str) -> Playbook:
        """Let a person approve these texts, one after another."""
        for number, text in enumerate(texts):
            self_asked = f"teach {number} {text}"
            self.models.lessons[self_asked] = [insight(text)]
            await self.ask(self_asked, f"teach-{number}-{len(text)}")
            await self.decide("approve", f"teach-{number}-{len(text)}")
        return await self.playbook()

    async def playbook(self) -> Playbook:
        return await read_playbook(self.world.backend.store, TENANT, self.engrammer.playbook_name)

    async def texts(self) -> list[str]:
        return [bullet.content.text for bullet in (await self.playbook()).active]

    async def entries(self) -> list[VersionedEntry]:
        return await read_entries(self.world.backend.store, TENANT, self.engrammer.playbook_name)

    async def decide_by_hand(self, make: MakeEntry, by: str) -> Playbook:
        """Change the playbook as a person does on its page."""
        now = self.world.inbox.clock()
        return await append_entry(self.world.backend, TENANT, self.engrammer.playbook_name, make, by=by, now=now)

    models: Models


@asynccontextmanager
async def lab(models: Models, url: str, **more: Any) -> AsyncIterator[Lab]:
    """Open a conversation with an Engrammer, and a worker."""
    engrammer = models.engrammer(**more)
    async with at_work(url, engrammer.agents()) as world:
        opened = Lab(world, engrammer)
        opened.models = models
        yield opened

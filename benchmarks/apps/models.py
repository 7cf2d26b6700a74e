"""Conversations of the demo agents with a real model: what it declares, the truth of its quotes, and its cost.

Name the model, and its address if it is a local one:

    RINGI_BENCH_MODEL=openai:NAME OPENAI_BASE_URL=http://127.0.0.1:9911/v1 OPENAI_API_KEY=x make bench ARGS=models
"""

from __future__ import annotations

import json
import os
import re
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from langchain.chat_models import init_chat_model
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from benchmarks.measure import Row, folder
from benchmarks.threads import Desk, desk_at
from ringi.demo import agents
from ringi.domain.thread import Thread
from ringi.errors import ConflictError
from ringi_apps.assistant.assistant import AssistantAgent
from ringi_apps.assistant.declare_tool import DECLARE
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.front_model import is_quoted, normalize, parse_answer

MODEL = "RINGI_BENCH_MODEL"
"""The variable with the model, as `init_chat_model` names it."""
RECORD = "RINGI_BENCH_RECORD"
"""The variable with a file to which each turn is appended as a line of JSON."""
TURN_SECONDS = 900.0
STARTS = 20
ENDED = ("done", "interrupted", "error", "idle")


class Turn(NamedTuple):
    """One utterance, and what the model must do."""

    text: str
    wanted: tuple[str, ...]
    may: tuple[str, ...] = ()
    """What an action that is wanted needs too."""


class Conversation(NamedTuple):
    """A conversation with one agent."""

    agent: str
    language: str
    turns: tuple[Turn, ...]
    unseen: bool = False


@dataclass
class Outcome:
    """What the model did in one turn."""

    conversation: Conversation
    number: int
    """The place of the turn in its conversation, from 0."""
    definitions: Definitions | None = None
    """Those of the assistant, which drops what the model invents; None if the agent is none."""
    answers: list[AIMessage] = field(default_factory=list)
    status: str = ""

    @property
    def turn(self) -> Turn:
        return self.conversation.turns[self.number]

    @property
    def declared(self) -> list[str]:
        """What the model declared, as the assistant accepts it, or called, in the words of `Turn.wanted`."""
        texts = [HumanMessage(turn.text) for turn in self.conversation.turns[: self.number + 1]]
        return [each for answer in self.answers for each in declarations(answer, self.definitions, texts)]

    @property
    def is_wanted(self) -> bool:
        """Whether everything wanted was declared."""
        return self.status != "error" and all(
            any(is_match(each, want) for each in self.declared) for want in self.turn.wanted
        )

    @property
    def is_only(self) -> bool:
        """Whether nothing else was declared, except what may be."""
        fitting = (*self.turn.wanted, *self.turn.may)
        return self.is_wanted and all(any(is_match(each, fit) for fit in fitting) for each in self.declared)

    @property
    def quotes(self) -> list[bool]:
        """For each quote, whether the person said it in this conversation."""
        texts = [normalize(turn.text) for turn in self.conversation.turns[: self.number + 1]]
        ops = [op for answer in self.answers for call in answer.tool_calls for op in listed(call, "ops")]
        return [is_quoted(str(op["quote"]), texts) for op in ops if op.get("quote")]

    def tokens(self, name: str) -> int:
        """Return `input_tokens`, `output_tokens` or `cached`."""
        usages: list[Any] = [answer.usage_metadata or {} for answer in self.answers]
        if name == "cached":
            return sum((usage.get("input_token_details") or {}).get("cache_read", 0) for usage in usages)
        return sum(usage.get(name, 0) for usage in usages)


class Recorder(BaseCallbackHandler):
    """Collects the answers of the model."""

    def __init__(self) -> None:
        self.answers: list[AIMessage] = []

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        for generations in response.generations:
            for each in generations:
                if isinstance(each, ChatGeneration) and isinstance(each.message, AIMessage):
                    self.answers.append(each.message)


async def conversations() -> list[Row]:
    """Hold all conversations with the model of `RINGI_BENCH_MODEL`."""
    name = os.environ.get(MODEL)
    if not name:
        print(f"models: set {MODEL} to a model of init_chat_model, such as openai:gpt-5-mini")
        return []
    recorder = Recorder()
    model = init_chat_model(name, temperature=0, callbacks=[recorder], timeout=TURN_SECONDS)
    outcomes = list[Outcome]()
    with folder() as path:
        os.environ["RINGI_HOME"] = str(path)
        async with desk_at(f"sqlite:///{path / 'ringi.db'}", agents(model)) as desk:
            for conversation in read_conversations():
                outcomes += await hold(desk, conversation, recorder)
    return [row for language in ("en", "ja") for row in rows_of(language, outcomes)]


def read_conversations() -> list[Conversation]:
    """Return the conversations of the file beside this module."""
    data = tomllib.loads(Path(__file__).with_name("conversations.toml").read_text("utf-8"))
    return [
        Conversation(
            each["agent"],
            each["language"],
            tuple(Turn(turn["text"], tuple(turn["wanted"]), tuple(turn.get("may", ()))) for turn in each["turns"]),
            each.get("unseen", False),
        )
        for each in data["conversations"]
    ]


async def hold(desk: Desk, conversation: Conversation, recorder: Recorder) -> list[Outcome]:
    """Hold one conversation, turn by turn, until one of its turns waits for a person."""
    outcomes, id = list[Outcome](), f"talk-{uuid.uuid4().hex[:12]}"
    for number, turn in enumerate(conversation.turns):
        recorder.answers.clear()
        thread = await start_turn(desk, id, conversation.agent, turn.text)
        ended = await desk.until(thread, *ENDED, limit=TURN_SECONDS)
        agent = desk.runner.agents[conversation.agent]
        definitions = agent.assistant.definitions if isinstance(agent, AssistantAgent) else None
        outcome = Outcome(conversation, number, definitions, list(recorder.answers), ended.status)
        outcomes.append(outcome)
        record(outcome)
        if ended.status != "done":
            # The next turns cannot be held; they count as failed.
            return outcomes + [
                Outcome(conversation, n, definitions, status="error")
                for n in range(number + 1, len(conversation.turns))
            ]
    return outcomes


async def start_turn(desk: Desk, id: str, agent: str, text: str) -> Thread:
    """Start a turn, as soon as the result of a plan in the background is in the conversation."""
    for _ in range(STARTS):
        try:
            return await desk.runner.start("default", id, agent, input_of(agent, text), by="ann")
        except ConflictError as error:
            if error.code != "busy":
                raise
            await desk.until(await desk.runner.get("default", id), *ENDED, limit=TURN_SECONDS)
    raise RuntimeError(f"thread {id} stays busy")


def input_of(agent: str, text: str) -> dict[str, Any]:
    if agent == "finisher":
        return {"task": text}
    if agent == "engrammer":
        return {"query": text}
    return {"messages": [{"role": "user", "content": text}]}


def declarations(answer: AIMessage, definitions: Definitions | None, texts: Sequence[HumanMessage]) -> Iterator[str]:
    """Yield what one answer declares or calls."""
    for call in answer.tool_calls:
        # A planner's proposal is no answer to the person.
        if call["name"] not in (DECLARE, "Proposal"):
            yield " ".join(["call", call["name"], *(f"{name}={number(value)}" for name, value in call["args"].items())])
    if definitions:
        event = parse_answer(answer, None, definitions, texts)
        for op in event["ops"]:
            verb = "set" if op["op"] in ("set", "correct") else op["op"]
            yield f"{verb} {op['key']} {json.dumps(op['value'], ensure_ascii=False)}".strip()
        yield from (f"do {action['type']}" for action in event["required"])
        yield from (f"choose {choice['data_type']}" for choice in event["choices"])


def listed(call: Any, name: str) -> list[dict[str, Any]]:
    """Return the objects of a list in a call's arguments."""
    value = call["args"].get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def number(value: object) -> object:
    """Return a whole float as an int: models write 40 as 40.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_match(declared: str, wanted: str) -> bool:
    """Tell whether a declaration is what is wanted, or one of its alternatives."""
    return any(is_one(declared.split(" ", 2), each.split(" ", 2)) for each in wanted.split(" | "))


def is_one(declared: Sequence[str], wanted: Sequence[str]) -> bool:
    if list(declared[:2]) != list(wanted[:2]):
        return False
    rest = normalize(declared[2]) if len(declared) > 2 else ""
    parts = wanted[2].split(" ") if len(wanted) > 2 else []
    return all(re.search(rf"(?<!\d){re.escape(normalize(part))}(?!\.?\d)", rest) for part in parts)


def rows_of(language: str, outcomes: Sequence[Outcome]) -> Iterator[Row]:
    """Yield the rows of one language."""
    all_of_it = [each for each in outcomes if each.conversation.language == language]
    # Apart: a model that declares nothing is right about the others.
    wanting = [each for each in all_of_it if each.turn.wanted]
    quiet = [each for each in all_of_it if not each.turn.wanted]
    for what, chosen in (("all", wanting), ("unseen", [each for each in wanting if each.conversation.unseen])):
        name, goals = f"{language}, {what}, {len(chosen)} turns", (80, 60) if language == "en" else (None, None)
        wanted, only = share(each.is_wanted for each in chosen), share(each.is_only for each in chosen)
        yield Row(f"{name}: declare what is wanted", "%", [wanted], at_least=goals[0])
        yield Row(f"{name}: and only that", "%", [only], at_least=goals[1])
    yield Row(f"{language}, {len(quiet)} turns: declare nothing, as wanted", "%", [share(e.is_only for e in quiet)])
    for agent in dict.fromkeys(each.conversation.agent for each in wanting):
        some = [each.is_wanted for each in wanting if each.conversation.agent == agent]
        yield Row(f"{language}, {agent}, {len(some)} turns: declare what is wanted", "%", [share(some)])
    quotes = [quote for each in all_of_it for quote in each.quotes]
    yield Row(f"{language}: true ones of {len(quotes)} quotes", "%", [share(quotes)])
    yield Row(f"{language}: model calls a turn", "", [mean(len(each.answers) for each in all_of_it)])
    for tokens in ("input_tokens", "output_tokens"):
        yield Row(
            f"{language}: {tokens.replace('_', ' ')} a turn", "", [mean(each.tokens(tokens) for each in all_of_it)]
        )
    later = [each for each in all_of_it if each.number]
    cached, read = sum(each.tokens("cached") for each in later), sum(each.tokens("input_tokens") for each in later)
    yield Row(
        f"{language}: cached share of the input from the second turn", "%", [100 * cached / max(read, 1)], at_least=80
    )


def share(of: Iterable[bool]) -> float:
    return mean(100.0 * each for each in of)


def mean(of: Iterable[float]) -> float:
    values = list(of)
    return sum(values) / max(len(values), 1)


def record(outcome: Outcome) -> None:
    """Append a turn to the file of `RINGI_BENCH_RECORD`, if it is set."""
    if not (path := os.environ.get(RECORD)):
        return
    line = {
        "agent": outcome.conversation.agent,
        "language": outcome.conversation.language,
        "turn": outcome.number,
        "text": outcome.turn.text,
        "wanted": outcome.turn.wanted,
        "declared": outcome.declared,
        "is_wanted": outcome.is_wanted,
        "is_only": outcome.is_only,
        "quotes": outcome.quotes,
        "status": outcome.status,
        "answers": [answer.text for answer in outcome.answers],
        "usage": [answer.usage_metadata for answer in outcome.answers],
    }
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")

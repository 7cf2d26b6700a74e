"""A shape of a graph: how it is written elsewhere, what it needs here, and what comes of each answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from ringi.runs.agent import Agent

EFFECTS = "SHAPES_EFFECTS"
"""The variable with the file in which effects are noted, where another process has to see them."""
DONE: list[str] = []


def does(effect: str) -> str:
    """Do something that must happen once."""
    DONE.append(effect)
    if path := os.environ.get(EFFECTS):
        with Path(path).open("a") as lines:
            lines.write(f"{effect}\n")
    return effect


@dataclass(frozen=True)
class Answer:
    """What a person sends."""

    decision: str
    data: dict[str, Any] | None = None
    message: str | None = None
    args: dict[str, Any] | None = None
    about: str = ""
    """What stands in the title of the question, where several are open."""


def yes(about: str = "") -> Answer:
    return Answer("approve", about=about)


def no(message: str | None = None, about: str = "") -> Answer:
    return Answer("reject", message=message, about=about)


def words(message: str, about: str = "") -> Answer:
    return Answer("respond", message=message, about=about)


def json(answer: Any, about: str = "") -> Answer:
    return Answer("respond", data={"answer": answer}, about=about)


def form(data: dict[str, Any], about: str = "") -> Answer:
    return Answer("approve", data=data, about=about)


def edit(args: dict[str, Any], about: str = "") -> Answer:
    return Answer("edit", args=args, about=about)


@dataclass(frozen=True)
class Case:
    """Answers, one after the other, and what comes of them."""

    name: str
    answers: tuple[Answer, ...]
    shows: Mapping[str, Any]
    does: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shape:
    """A way to write an agent, as the documentation of LangGraph or LangChain shows it."""

    name: str
    elsewhere: str
    """The page of that documentation."""
    graph: Callable[[], Any]
    cases: tuple[Case, ...]
    input: dict[str, Any] = field(default_factory=dict)
    needs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `Agent` beside its name and its graph."""
    answer: str = "nothing"
    """The same as the table in the documentation has it."""

    @property
    def agent(self) -> Agent:
        """What is served; its whole state is shown, for the test to see."""
        return replace(Agent(self.name, self.graph(), **self.needs), output=visible_state)


def visible_state(state: Any) -> dict[str, Any]:
    """Return the state as JSON: of messages the last words."""
    if not isinstance(state, Mapping):
        return {"output": plain(state)}
    found = {name: plain(value) for name, value in state.items() if name != "messages"}
    messages = state.get("messages") or []
    return {**found, **({"said": messages[-1].text} if messages else {})}


def plain(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        return value.text
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return {name: plain(each) for name, each in value.items()} if isinstance(value, dict) else value

"""The plan agent: a model thinks aloud and proposes steps; code gives them their days."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field, ValidationError

from ringi.assistant.jobs import PlanJob
from ringi.canonical import jsonable
from ringi.errors import RingiError

LANGUAGES = {"en": "English", "ja": "Japanese", "zh": "Chinese"}
PROMPT = """You plan for {what}. Write in {language}.
First write the plan in Markdown: what it is for, why so, and a table of its steps. Then call the tool `Proposal` once.
What you are given is JSON: `inputs` is what is known, `previous` the version before, and `feedback` what people said of
that version: take it up, and say how. Use only ids that stand in the inputs."""


class ProposedStep(BaseModel):
    """One step of a plan."""

    id: str = Field(pattern=r"^[^:\s]{1,64}$", description="the same in each version, such as design")
    title: str
    about: str = Field(description="the id of the project or lead that it is about")
    owner: str = Field(description="the id of the person who does it")
    weeks: int = Field(ge=1, le=104)


class Proposal(BaseModel):
    """The steps of a plan, in their order."""

    steps: list[ProposedStep] = Field(min_length=1)


class NoProposalError(RingiError):
    """The model wrote, but proposed no steps that can be used."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the model proposed no plan ({why}): plan again, or use a model that calls tools")

    @classmethod
    def of_form(cls, error: ValidationError) -> NoProposalError:
        """Return the error of steps that are none."""
        first = error.errors()[0]
        return cls(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")

    @classmethod
    def of_unknown(cls, ids: set[str]) -> NoProposalError:
        """Return the error of steps about what the model was not told of."""
        return cls(f"it was told nothing of {', '.join(sorted(ids))}")


@dataclass(frozen=True)
class Planner:
    """Makes plans whose steps are of one kind."""

    model: BaseChatModel
    what: str
    """What the plans are for."""
    action: str
    about: str
    """The name that the project or lead has in a step."""
    in_turn: bool
    """Whether a step begins when the one before ends; else all begin at once."""
    today: Callable[[], date] = lambda: datetime.now(UTC).date()

    async def plan(self, job: PlanJob) -> dict[str, Any]:
        """Return a draft that takes up all feedback; what the model thinks is streamed."""
        answer = await self.model.bind_tools([Proposal]).ainvoke(self._told(job))
        proposals = proposed(answer).steps
        # Who approves such a step would only see it fail.
        if unknown := {id for each in proposals for id in (each.about, each.owner)} - set(ids_in(job.inputs)):
            raise NoProposalError.of_unknown(unknown)
        steps = self._dated(proposals)
        content = {
            "text": answer.text,
            "timeline": f"{monday_after(self.today())} – {max(step['args']['due_on'] for step in steps)}",
            "milestones": [{"phase": each.title, "weeks": each.weeks} for each in proposals],
            "resources": list(dict.fromkeys(each.owner for each in proposals)),
        }
        return {"plan": content, "steps": steps}

    def _told(self, job: PlanJob) -> list[SystemMessage | HumanMessage]:
        prompt = PROMPT.format(what=self.what, language=LANGUAGES.get(job.language, "English"))
        given = {"inputs": job.inputs, "feedback": job.feedback, "previous": job.previous, "version": job.version}
        told = json.dumps(jsonable({**given, "language": job.language}), ensure_ascii=False)
        return [SystemMessage(prompt), HumanMessage(told)]

    def _dated(self, proposals: list[ProposedStep]) -> list[dict[str, Any]]:
        start, steps = monday_after(self.today()), []
        for each in proposals:
            end = start + timedelta(weeks=each.weeks)
            args = {self.about: each.about, "title": each.title, "owner": each.owner, "due_on": friday_before(end)}
            if self.in_turn:
                args["starts_on"], start = start.isoformat(), end
            steps.append({"id": each.id, "title": each.title, "action": self.action, "args": args})
        return steps


def proposed(answer: AIMessage) -> Proposal:
    """Return what a model proposes, or raise `NoProposalError`."""
    calls = [call["args"] for call in answer.tool_calls if call["name"] == Proposal.__name__]
    try:
        return Proposal.model_validate(calls[-1] if calls else {})
    except ValidationError as error:
        raise NoProposalError.of_form(error) from error


def ids_in(value: Any) -> Iterator[str]:
    """Yield the ids that stand anywhere in what is known."""
    if isinstance(value, Mapping):
        yield from (str(value[name]) for name in ("id", "owner") if name in value)
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from ids_in(each)


def monday_after(day: date) -> date:
    """Return the first Monday after a day."""
    return day + timedelta(days=7 - day.weekday())


def friday_before(monday: date) -> str:
    """Return the last working day before a Monday."""
    return (monday - timedelta(days=3)).isoformat()

"""The planner: a model explains a plan and proposes steps, and code computes their dates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field, ValidationError

from ringi.base import jsonable
from ringi.errors import RingiError
from ringi.runtimes.langgraph import QUIET_CALLS
from ringi_apps.assistant import LocalizedText, PlanJob, in_language

LANGUAGES = {"en": "English", "ja": "Japanese", "zh": "Chinese"}
PROMPT = """You plan for {what}. Write in {language}.
First write in Markdown what the plan is for, and why so: no list or table of steps, as it is made of your proposal.
Then call the tool `Proposal` once.
What you are given is JSON: `inputs` is what is known, `previous` the version before, `feedback` all that people said of
the plan so far, which still holds, and `new_feedback` the part that the version before has not taken up: take it up,
and say how. Use only ids that stand in the inputs."""


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


HEAD: LocalizedText = {
    "en": "| Step | Weeks | Who | Due |",
    "ja": "| 工程 | 週 | 担当 | 期限 |",
    "zh": "| 步骤 | 周 | 负责人 | 截止 |",
}
NO_PROPOSAL = {
    "en": "the model proposed no plan ({why}): plan again, or use a model that calls tools",
    "ja": "モデルが計画を提案しませんでした ({why})。計画し直すか、ツールを呼び出せるモデルを使ってください",
    "zh": "模型没有提出计划 ({why})：请重新计划，或使用能调用工具的模型",
}


class NoProposalError(RingiError):
    """The model proposed no usable steps; `text` is the message in each language."""

    def __init__(self, why: str) -> None:
        self.text = {language: words.format(why=why) for language, words in NO_PROPOSAL.items()}
        super().__init__(self.text["en"])


@dataclass(frozen=True)
class Planner:
    """Makes plans whose steps have one action."""

    model: BaseChatModel
    what: str
    """The subject of the plans, for the prompt."""
    action: str
    about: str
    """The argument of a step that names the project or lead."""
    in_turn: bool
    """Whether the steps follow each other; otherwise all start at once."""
    today: Callable[[], date] = lambda: datetime.now(UTC).date()

    async def plan(self, job: PlanJob) -> dict[str, Any]:
        """Return a draft that includes all feedback; the explanation of the model is streamed."""
        # The plan shows the proposal, so the call itself is not streamed.
        model = self.model.bind_tools([Proposal]).with_config(tags=[QUIET_CALLS])
        answer = await model.ainvoke(self._prompt_messages(job))
        proposals = proposal_in(answer).steps
        # A step with an unknown id would fail after its approval.
        if unknown := {id for each in proposals for id in (each.about, each.owner)} - set(ids_in(job.inputs)):
            raise NoProposalError(f"unknown ids: {', '.join(sorted(unknown))}")
        steps, names = self._with_dates(proposals), names_in(job.inputs)
        people = [in_language(names.get(each.owner, each.owner), job.language) for each in proposals]
        weeks = [each.weeks for each in proposals]
        content = {
            # The table is made from the steps: a table by the model could differ from what is approved.
            "text": f"{prose(answer.text)}\n\n{table(steps, weeks, people, job.language)}".strip(),
            "timeline": f"{monday_after(self.today())} – {max(step['args']['due_on'] for step in steps)}",
            "milestones": [{"phase": each.title, "weeks": each.weeks} for each in proposals],
            "resources": list(dict.fromkeys(people)),
        }
        return {"plan": content, "steps": steps}

    def _prompt_messages(self, job: PlanJob) -> list[SystemMessage | HumanMessage]:
        prompt = PROMPT.format(what=self.what, language=LANGUAGES.get(job.language, "English"))
        previous = self._without_unknown_ids(job.previous, set(ids_in(job.inputs))) if job.previous else None
        content = json.dumps(jsonable({**vars(job), "previous": previous}), ensure_ascii=False)
        return [SystemMessage(prompt), HumanMessage(content)]

    def _without_unknown_ids(self, previous: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
        """Return the previous version without ids that are not in the input; a step with one would be refused."""
        steps = [
            {
                **step,
                "args": {
                    name: value
                    for name, value in step["args"].items()
                    if name not in (self.about, "owner") or value in known
                },
            }
            for step in previous["steps"]
        ]
        return {**previous, "steps": steps}

    def _with_dates(self, proposals: list[ProposedStep]) -> list[dict[str, Any]]:
        start, steps = monday_after(self.today()), []
        for each in proposals:
            end = start + timedelta(weeks=each.weeks)
            # The last working day before that Monday.
            last_day = (end - timedelta(days=3)).isoformat()
            args = {self.about: each.about, "title": each.title, "owner": each.owner, "due_on": last_day}
            if self.in_turn:
                args["starts_on"], start = start.isoformat(), end
            steps.append({"id": each.id, "title": each.title, "action": self.action, "args": args})
        return steps


def proposal_in(answer: AIMessage) -> Proposal:
    """Return the proposal in a message; raise `NoProposalError` if there is none."""
    calls = [call["args"] for call in answer.tool_calls if call["name"] == Proposal.__name__]
    try:
        return Proposal.model_validate(calls[-1] if calls else {})
    except ValidationError as error:
        first = error.errors()[0]
        raise NoProposalError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def ids_in(value: object) -> Iterator[str]:
    """Yield all ids in a value."""
    if isinstance(value, Mapping):
        yield from (str(value[name]) for name in ("id", "owner") if name in value)
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from ids_in(each)


def names_in(value: object) -> dict[str, LocalizedText]:
    """Return all names in a value, by id."""
    if isinstance(value, Mapping):
        names = {str(value["id"]): value["name"]} if "id" in value and "name" in value else {}
        names |= {str(value["owner"]): value["owner_name"]} if "owner" in value and "owner_name" in value else {}
        value, others = list(value.values()), names
    else:
        others = {}
    for each in value if isinstance(value, list) else ():
        others |= names_in(each)
    return others


def prose(text: str) -> str:
    """Return a text without tables."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("|")).strip()


def table(steps: Sequence[Mapping[str, Any]], weeks: Sequence[int], people: Sequence[str], language: str) -> str:
    """Return the steps as a table."""
    lines = [
        f"| {step['title']} | {many} | {who} | {step['args']['due_on']} |".replace("\n", " ")
        for step, many, who in zip(steps, weeks, people, strict=True)
    ]
    return "\n".join([in_language(HEAD, language), "|---" * 4 + "|", *lines])


def monday_after(day: date) -> date:
    """Return the first Monday after a day."""
    return day + timedelta(days=7 - day.weekday())

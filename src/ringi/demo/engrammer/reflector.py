"""How the scripted model looks back: at the notes that were read, and at what people and the world said of the answer.

It can be wrong, as models are: what a note tries to teach it, it proposes too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel

from ringi.base import StrictModel
from ringi.demo.engrammer.language import language_of
from ringi.demo.engrammer.speaker import BULLET, every_term
from ringi.demo.engrammer.woodworking import text_of
from ringi.engrammer import REFLECTING, BulletTag, RawInsight, Reflection
from ringi.testing import calls

MOST = 3
KNOWN = 0.6
"""How much of a lesson a bullet has in it that is taken for the same, perhaps in a person's words."""
BAD_JSON = "(bad JSON)"
"""A question with this is looked back at in a form that nobody can read, once."""
MARK = re.compile(r"^> ?", re.M)
PART = re.compile(r"^## (.+)$", re.M)
FEEDBACK = re.compile(r"Feedback \(source: (\w+), verdict: (\w+)\)")


class Lesson(StrictModel):
    """What a note teaches, by language."""

    name: str
    notes: dict[str, str]
    type: str
    section: str
    text: dict[str, str]
    why: dict[str, str]
    quotes: dict[str, list[str]]
    refines: str | None = None
    added: dict[str, str] = {}
    """What is said after the bullet that it refines."""
    wrong: bool = False


@cache
def lessons() -> dict[str, Lesson]:
    """Return all lessons by name."""
    found = tomllib.loads(text_of("lessons.toml"))["lesson"]
    return {each["name"]: Lesson(**each) for each in found}


@dataclass(frozen=True)
class Run:
    """What the reflector was told."""

    question: str
    answer: str
    source: str
    verdict: str
    said: str
    """The words of the feedback."""
    used: tuple[str, ...]
    bullets: dict[str, str]
    """The whole playbook."""
    notes: dict[str, str] = field(default_factory=dict)
    refused: str = ""

    @property
    def language(self) -> str:
        """The language of the question."""
        return language_of(self.question)


def is_asked(messages: Sequence[BaseMessage]) -> bool:
    """Whether these are the messages of a reflector."""
    return REFLECTING in messages[0].text


def reply(messages: Sequence[BaseMessage]) -> AIMessage | BaseModel:
    """Return what the reflector finds."""
    run = run_in(messages)
    if BAD_JSON in run.question and len(messages) == len(("system", "run")):
        return calls(Reflection.__name__, verdict="perhaps", insights="[{")
    return reflected(run)


def run_in(messages: Sequence[BaseMessage]) -> Run:
    """Return what the reflector is told, in parts."""
    _, *told = PART.split(messages[1].text)
    parts = {name: MARK.sub("", text).strip() for name, text in zip(told[::2], told[1::2], strict=True)}
    ((heading, said),) = [(found, text) for name, text in parts.items() if (found := FEEDBACK.match(name))]
    return Run(
        question=parts["Question"],
        answer=parts["Answer"],
        source=heading[1],
        verdict=heading[2],
        said=said,
        used=tuple(re.findall(r"b-\d+", parts["Bullets that were used"])),
        bullets=dict(BULLET.findall(messages[0].text)),
        notes={name.removeprefix("Note "): text for name, text in parts.items() if name.startswith("Note ")},
        refused=next((text for name, text in parts.items() if name.startswith("Refused")), ""),
    )


def reflected(run: Run) -> Reflection:
    """Return what there is to learn from a run."""
    insights = list(proposals(run))[:MOST]
    tag = "harmful" if run.verdict == "wrong" else "helpful"
    first = insights[0] if insights else None
    return Reflection.model_validate(
        {
            "verdict": run.verdict,
            "error_identification": run.said if run.verdict == "wrong" else "",
            "root_cause_analysis": first.why if first and run.verdict == "wrong" else "",
            "correct_approach": first.description if first else "",
            "key_insight": first.description if first else "",
            "bullet_tags": [BulletTag(id=id, tag=tag) for id in run.used],
            "insights": insights,
        }
    )


def proposals(run: Run) -> Iterator[RawInsight]:
    """Yield what may be learned: first what the world or a person has corrected, then what the notes teach."""
    if run.verdict == "wrong" and run.source in ("user", "ground_truth") and run.said:
        yield corrected(run)
    for lesson in lessons().values():
        if lesson.notes.get(run.language) not in run.notes or is_known(lesson, run):
            continue
        if lesson.wrong or lesson.text[run.language] not in run.refused:
            yield taught(lesson, run)


def corrected(run: Run) -> RawInsight:
    """Return what a person, or the right answer, says against an answer; of one bullet that misled, its correction."""
    why = {
        "en": "The answer was called wrong, in these words.",
        "ja": "答えが誤りだと指摘されました。",
        "zh": "有人指出回答是错的。",
    }[run.language]
    if len(run.used) == 1 and run.used[0] in run.bullets:
        text = f"{run.bullets[run.used[0]]} {run.said}"
        return proposal("refine_strategy", text, "mistakes", why, [run.said], run.used[0])
    return proposal("error_pattern", run.said, "mistakes", why, [run.said])


def taught(lesson: Lesson, run: Run) -> RawInsight:
    """Return what a note teaches: a bullet of its own, or more in one that is there."""
    quotes = [*lesson.quotes[run.language], *([run.said] if run.source == "environment" else [])]
    why, text = lesson.why[run.language], lesson.text[run.language]
    basis = bullet_of(lessons()[lesson.refines], run) if lesson.refines else None
    if basis is None:
        return proposal(lesson.type, text, lesson.section, why, quotes)
    more = f"{run.bullets[basis]} {lesson.added[run.language]}"
    return proposal("refine_strategy", more, lesson.section, why, quotes, basis)


def proposal(type: str, text: str, section: str, why: str, quotes: list[str], bullet: str | None = None) -> RawInsight:
    """Return an insight as the reflector says it."""
    told = {"type": type, "description": text, "section": section, "source_bullet_id": bullet}
    return RawInsight.model_validate({**told, "why": why, "quotes": quotes})


def is_known(lesson: Lesson, run: Run) -> bool:
    """Whether the playbook says this already, alone or within another bullet."""
    told = [text[run.language] for text in (lesson.text, lesson.added) if text]
    return any(share(text, bullet) >= KNOWN for text in told for bullet in run.bullets.values())


def bullet_of(lesson: Lesson, run: Run) -> str | None:
    """Return the bullet that came of a lesson, in any language and in anybody's words."""
    shares = {id: max(share(text, bullet) for text in lesson.text.values()) for id, bullet in run.bullets.items()}
    return next((id for id, most in shares.items() if most >= KNOWN), None)


def share(text: str, bullet: str) -> float:
    """Return which part of the words of a text a bullet has."""
    terms = every_term(text)
    return len(terms & every_term(bullet)) / len(terms) if terms else 0.0

"""The reflector of the scripted model: it learns from notes that were read and from feedback.

Like a real model it can be wrong: it also proposes what a malicious note says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel

from ringi.base import StrictModel
from ringi.demo.data import package_toml
from ringi.testing import tool_call
from ringi_apps.engrammer import REFLECTOR_PROMPT_START, BulletTag, RawInsight, Reflection
from ringi_apps.engrammer.demo.movement import language_of
from ringi_apps.engrammer.demo.speaker import BULLET, every_term

MAX_INSIGHTS = 3
KNOWN = 0.6
"""The part of a lesson that a bullet must contain to count as the same."""
BAD_JSON = "(bad JSON)"
"""A question with this text gets one invalid reflection."""
MARK = re.compile(r"^> ?", re.M)
PART = re.compile(r"^## (.+)$", re.M)
FEEDBACK = re.compile(r"Feedback \(source: (\w+), verdict: (\w+)\)")


class Lesson(StrictModel):
    """A lesson of a note, by language."""

    name: str
    notes: dict[str, str]
    type: str
    section: str
    text: dict[str, str]
    why: dict[str, str]
    quotes: dict[str, list[str]]
    refines: str | None = None
    added: dict[str, str] = {}
    """The text to add to the bullet that the lesson refines."""
    wrong: bool = False


@cache
def lessons() -> dict[str, Lesson]:
    """Return all lessons by name."""
    return {
        each["name"]: Lesson(**each) for each in package_toml("ringi_apps.engrammer.demo", "lessons.toml")["lesson"]
    }


@dataclass(frozen=True)
class ReflectorInput:
    """The input of the reflector."""

    question: str
    answer: str
    source: str
    verdict: str
    feedback: str
    """The text of the feedback."""
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
    """Return whether these messages belong to a reflector."""
    return REFLECTOR_PROMPT_START in messages[0].text


def next_reflector_message(messages: Sequence[BaseMessage]) -> AIMessage | BaseModel:
    """Return the next message of the reflector."""
    run = parse_input(messages)
    if BAD_JSON in run.question and len(messages) == len(("system", "run")):
        return tool_call(Reflection.__name__, verdict="perhaps", insights="[{")
    return reflect(run)


def parse_input(messages: Sequence[BaseMessage]) -> ReflectorInput:
    """Parse the input of the reflector."""
    _, *sections = PART.split(messages[1].text)
    parts = {name: MARK.sub("", text).strip() for name, text in zip(sections[::2], sections[1::2], strict=True)}
    ((heading, feedback),) = [(found, text) for name, text in parts.items() if (found := FEEDBACK.match(name))]
    return ReflectorInput(
        question=parts["Question"],
        answer=parts["Answer"],
        source=heading[1],
        verdict=heading[2],
        feedback=feedback,
        used=tuple(re.findall(r"b-\d+", parts["Bullets that were used"])),
        bullets=dict(BULLET.findall(messages[0].text)),
        notes={name.removeprefix("Note "): text for name, text in parts.items() if name.startswith("Note ")},
        refused=next((text for name, text in parts.items() if name.startswith("Refused")), ""),
    )


def reflect(run: ReflectorInput) -> Reflection:
    """Return the reflection on an answer."""
    insights = list(proposals(run))[:MAX_INSIGHTS]
    tag = "harmful" if run.verdict == "wrong" else "helpful"
    first = insights[0] if insights else None
    return Reflection.model_validate(
        {
            "verdict": run.verdict,
            "error_identification": run.feedback if run.verdict == "wrong" else "",
            "root_cause_analysis": first.why if first and run.verdict == "wrong" else "",
            "correct_approach": first.description if first else "",
            "key_insight": first.description if first else "",
            "bullet_tags": [BulletTag(id=id, tag=tag) for id in run.used],
            "insights": insights,
        }
    )


def proposals(run: ReflectorInput) -> Iterator[RawInsight]:
    """Yield insights: first from corrections, then from notes."""
    if run.verdict == "wrong" and run.source in ("user", "ground_truth") and run.feedback:
        yield insight_of_correction(run)
    for lesson in lessons().values():
        if lesson.notes.get(run.language) not in run.notes or is_known(lesson, run):
            continue
        if lesson.wrong or lesson.text[run.language] not in run.refused:
            yield insight_of_lesson(lesson, run)


def insight_of_correction(run: ReflectorInput) -> RawInsight:
    """Return the insight of a correction; if one bullet was used, it refines that bullet."""
    why = package_toml("ringi_apps.engrammer.demo", "texts.toml")["corrected"][run.language]
    if len(run.used) == 1 and run.used[0] in run.bullets:
        text = f"{run.bullets[run.used[0]]} {run.feedback}"
        return proposal("refine_strategy", text, "mistakes", why, [run.feedback], run.used[0])
    return proposal("error_pattern", run.feedback, "mistakes", why, [run.feedback])


def insight_of_lesson(lesson: Lesson, run: ReflectorInput) -> RawInsight:
    """Return the insight of a lesson: a new bullet, or an addition to an existing one."""
    quotes = [*lesson.quotes[run.language], *([run.feedback] if run.source == "environment" else [])]
    why, text = lesson.why[run.language], lesson.text[run.language]
    basis = bullet_of(lessons()[lesson.refines], run) if lesson.refines else None
    if basis is None:
        return proposal(lesson.type, text, lesson.section, why, quotes)
    more = f"{run.bullets[basis]} {lesson.added[run.language]}"
    return proposal("refine_strategy", more, lesson.section, why, quotes, basis)


def proposal(type: str, text: str, section: str, why: str, quotes: list[str], bullet: str | None = None) -> RawInsight:
    """Return an insight in the reflector's format."""
    fields = {"type": type, "description": text, "section": section, "source_bullet_id": bullet}
    return RawInsight.model_validate({**fields, "why": why, "quotes": quotes})


def is_known(lesson: Lesson, run: ReflectorInput) -> bool:
    """Return whether the playbook already contains a lesson."""
    texts = [text[run.language] for text in (lesson.text, lesson.added) if text]
    return any(share(text, bullet) >= KNOWN for text in texts for bullet in run.bullets.values())


def bullet_of(lesson: Lesson, run: ReflectorInput) -> str | None:
    """Return the bullet with the content of a lesson, in any language; None if there is none."""
    shares = {id: max(share(text, bullet) for text in lesson.text.values()) for id, bullet in run.bullets.items()}
    return next((id for id, most in shares.items() if most >= KNOWN), None)


def share(text: str, bullet: str) -> float:
    """Return the part of a text's terms that a bullet contains."""
    terms = every_term(text)
    return len(terms & every_term(bullet)) / len(terms) if terms else 0.0

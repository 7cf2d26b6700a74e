"""What a run teaches: the reflector looks back, and code keeps of it what can stand before a person."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from pydantic import ValidationError

from ringi.base import jsonable
from ringi.engrammer.entries import Where
from ringi.engrammer.insights import LONGEST, Evidence, Insight, Quote, insight_id, verified
from ringi.engrammer.playbook import Playbook
from ringi.engrammer.roles import RawInsight, Reflection, structured
from ringi.engrammer.similarity import suppressed
from ringi.engrammer.turns import Turn
from ringi.runs import clean_json, clean_text

log = logging.getLogger(__name__)
TRIES = 2
MOST_INSIGHTS = 3
MOST_READ = 10
"""How many insights are looked at for those that people have not refused before."""
EXCERPT = 2_000
Place: TypeAlias = tuple[Where, str | None]
REFLECTED = {"verdict", "error_identification", "root_cause_analysis", "correct_approach", "key_insight"}


class UnreadableReflectionError(Exception):
    """The reflector answers with something else than a reflection."""


def failure_of(error: Exception) -> str:
    """Return why what a model was asked for is not there, for people."""
    what = "" if isinstance(error, UnreadableReflectionError) else f"{type(error).__name__}: "
    return clean_text(f"{what}{error}")[:EXCERPT]


async def reflection_of(
    model: BaseChatModel, told: Sequence[AnyMessage], config: RunnableConfig, said: list[AIMessage]
) -> Reflection:
    """Return what the reflector found, asked once more with what was wrong; its messages are added to `said`."""
    why = ""
    for _ in range(TRIES):
        again = [HumanMessage(f"That could not be read: {why}. Answer once more, in the schema.")] if why else []
        answer = await structured(model).ainvoke([*told, *again], config)
        said.append(answer["raw"])
        try:
            return Reflection.model_validate(clean_json(answer["parsed"]))
        except ValidationError as error:
            why = clean_text(str(answer["parsing_error"] or error))[:EXCERPT]
        log.warning("the reflector's answer cannot be read: %s", why)
    raise UnreadableReflectionError(why)


def lessons(
    reflection: Reflection, playbook: Playbook, turn: Turn, notes: Mapping[str, str], now: datetime
) -> dict[str, Any]:
    """Return what is added to a turn: the insights, what people have refused before, and what the bullets did."""
    insights, known, dropped = list[Insight](), list[dict[str, Any]](), 0
    for number, raw in enumerate(reflection.insights[:MOST_READ], 1):
        text = raw.description.strip()[:LONGEST]
        if len(insights) == MOST_INSIGHTS:
            break
        if earlier := suppressed(text, playbook.rejected, now):
            known.append({"text": text, "request_id": earlier.request_id, "at": jsonable(earlier.at)})
        elif text:
            evidence = found_in(raw.quotes, said_in(turn, notes, playbook), turn)
            dropped += len(raw.quotes) - len(evidence)
            insights.append(insight_of(raw, number, evidence, playbook, turn))
    return {
        "reflected": {**reflection.model_dump(include=REFLECTED), "failed": None},
        "insights": jsonable(insights),
        "suppressed": known,
        "dropped_quotes": dropped,
        "tags": tags_of(reflection, playbook, turn),
        "phase": "reviewing" if insights else "done",
    }


def found_in(quotes: Sequence[str], texts: Mapping[Place, str], turn: Turn) -> tuple[Evidence, ...]:
    """Return the quotes that stand in one of the texts, each where it stands first; the others are no evidence."""
    found = list[Evidence]()
    for quote in dict.fromkeys(quotes):
        claims = [Quote(where=where, ref=ref, quote=quote) for where, ref in texts]
        found += verified(claims, texts, turn["thread_id"], turn["run_id"])[:1]
    return tuple(found)


def said_in(turn: Turn, notes: Mapping[str, str], playbook: Playbook) -> dict[Place, str]:
    """Return the texts in which evidence may stand; the answer, which may only repeat another, is the last."""
    used = [playbook.bullets[id] for id in turn["bullets"] if id in playbook.bullets]
    return {
        ("question", None): turn["query"],
        ("feedback", None): turn["feedback"]["text"],
        **{("note", name): text for name, text in notes.items()},
        **{("playbook", bullet.id): bullet.content.text for bullet in used},
        ("answer", None): turn["response"],
    }


def insight_of(raw: RawInsight, number: int, evidence: tuple[Evidence, ...], playbook: Playbook, turn: Turn) -> Insight:
    """Return a proposal of the reflector as an insight; to refine what is not there is to add it."""
    target = playbook.bullets.get(raw.source_bullet_id or "")
    is_there = target is not None and target.content.is_active
    is_edit = raw.type == "refine_strategy" and is_there
    return Insight(
        id=insight_id(turn["run_id"], number),
        type=raw.type if is_edit or raw.type != "refine_strategy" else "new_strategy",
        section=target.content.section if is_edit and target else raw.section,
        text=raw.description.strip()[:LONGEST],
        why=raw.why.strip(),
        source_bullet_id=raw.source_bullet_id if is_there else None,
        op="edit" if is_edit else "add",
        evidence=evidence,
        feedback=turn["feedback"],
        question=turn["query"][:EXCERPT],
        answer=turn["response"][:EXCERPT],
        thread_id=turn["thread_id"],
        run_id=turn["run_id"],
    )


def tags_of(reflection: Reflection, playbook: Playbook, turn: Turn) -> list[dict[str, str]]:
    """Return what is counted of the bullets of this answer; of an answer that is looked at again, no use anew."""
    said = {each.id: each.tag for each in reflection.bullet_tags if each.id in turn["bullets"]}
    tags = [{"bullet": id, "tag": tag} for id, tag in said.items()]
    used = [] if turn["parent"] else [{"bullet": id, "tag": "used"} for id in turn["bullets"]]
    return [tag for tag in [*used, *tags] if tag["bullet"] in playbook.bullets]

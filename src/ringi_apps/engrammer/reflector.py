"""The reflector: reflect on an answer and build the insights that are proposed to a person."""

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
from ringi.runs import clean_json, clean_text
from ringi_apps.engrammer.entries import MAX_BULLET_LENGTH, MAX_SCOPE_LENGTH, Evidence, EvidenceSource
from ringi_apps.engrammer.insights import Insight, QuoteClaim, insight_id, verify_quotes
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.roles import MAX_INSIGHTS, RawInsight, Reflection, reflection_model
from ringi_apps.engrammer.similarity import find_recent_rejection, normalize
from ringi_apps.engrammer.turns import Turn

log = logging.getLogger(__name__)
MAX_ATTEMPTS = 2
MAX_INSIGHTS_READ = 10
"""Maximum number of the reflector's insights that are examined."""
EXCERPT_LENGTH = 2_000
TextLocation: TypeAlias = tuple[EvidenceSource, str | None]
REFLECTION_FIELDS = {"verdict", "error_identification", "root_cause_analysis", "correct_approach", "key_insight"}


class UnreadableReflectionError(Exception):
    """The reflector's answer does not match the schema."""


def describe_failure(error: Exception) -> str:
    """Describe a failed model call for people."""
    prefix = "" if isinstance(error, UnreadableReflectionError) else f"{type(error).__name__}: "
    return clean_text(f"{prefix}{error}")[:EXCERPT_LENGTH]


async def request_reflection(
    model: BaseChatModel, messages: Sequence[AnyMessage], config: RunnableConfig, responses: list[AIMessage]
) -> Reflection:
    """Return the reflection; an unreadable answer is retried once. The messages are added to `responses`."""
    problem = ""
    for _ in range(MAX_ATTEMPTS):
        retry = (
            [HumanMessage(f"That could not be read: {problem}. Answer once more, in the schema.")] if problem else []
        )
        answer = await reflection_model(model).ainvoke([*messages, *retry], config)
        responses.append(answer["raw"])
        try:
            return Reflection.model_validate(clean_json(answer["parsed"]))
        except ValidationError as error:
            problem = clean_text(str(answer["parsing_error"] or error))[:EXCERPT_LENGTH]
        log.warning("the reflector's answer cannot be read: %s", problem)
    raise UnreadableReflectionError(problem)


def build_turn_update(
    reflection: Reflection, playbook: Playbook, turn: Turn, notes: Mapping[str, str], now: datetime
) -> dict[str, Any]:
    """Return the turn update: insights, suppressed insights and bullet tags."""
    insights, suppressed, dropped, unsupported = list[Insight](), list[dict[str, Any]](), 0, 0
    for number, raw in enumerate(merge_equal(reflection.insights[:MAX_INSIGHTS_READ]), 1):
        text = raw.description.strip()[:MAX_BULLET_LENGTH]
        if len(insights) == MAX_INSIGHTS:
            break
        if rejection := find_recent_rejection(text, playbook.rejected, now):
            suppressed.append({"text": text, "request_id": rejection.request_id, "at": jsonable(rejection.at)})
        elif text:
            evidence = find_quotes(raw.quotes, quotable_texts(turn, notes, playbook), turn)
            dropped += len(raw.quotes) - len(evidence)
            if not evidence and turn["feedback"]["source"] == "self":
                log.warning(
                    "run %s: an insight is not proposed: no quote supports it, and nobody has judged the answer",
                    turn["run_id"],
                )
                unsupported += 1
            else:
                insights.append(insight_from_proposal(raw, number, evidence, playbook, turn))
    return {
        "reflected": {**reflection.model_dump(include=REFLECTION_FIELDS), "failed": None},
        "insights": jsonable(insights),
        "suppressed": suppressed,
        "dropped_quotes": dropped,
        "unsupported_insights": unsupported,
        "tags": bullet_tags(reflection, playbook, turn),
        "phase": "reviewing" if insights else "done",
    }


def merge_equal(insights: Sequence[RawInsight]) -> list[RawInsight]:
    """Return insights without those that equal an earlier one, which receives their quotes."""
    merged = dict[tuple[str, str, str | None], RawInsight]()
    for each in insights:
        place = each.type, normalize(each.description), each.source_bullet_id
        quotes = dict.fromkeys([*(merged[place].quotes if place in merged else ()), *each.quotes])
        merged[place] = merged.get(place, each).model_copy(update={"quotes": list(quotes)})
    return list(merged.values())


def find_quotes(quotes: Sequence[str], texts: Mapping[TextLocation, str], turn: Turn) -> tuple[Evidence, ...]:
    """Return the quotes found in the texts as evidence, each with its first occurrence; drop the others."""
    evidence = list[Evidence]()
    for quote in dict.fromkeys(quotes):
        claims = [QuoteClaim(where=where, ref=ref, quote=quote) for where, ref in texts]
        evidence += verify_quotes(claims, texts, turn["thread_id"], turn["run_id"])[:1]
    return tuple(evidence)


def quotable_texts(turn: Turn, notes: Mapping[str, str], playbook: Playbook) -> dict[TextLocation, str]:
    """Return the texts that evidence may quote; the answer comes last because it may repeat the others."""
    used = [playbook.bullets[id] for id in turn["bullets"] if id in playbook.bullets]
    return {
        ("question", None): turn["query"],
        ("feedback", None): turn["feedback"]["text"],
        **{("note", name): text for name, text in notes.items()},
        **{("playbook", bullet.id): bullet.content.text for bullet in used},
        ("answer", None): turn["response"],
    }


def insight_from_proposal(
    raw: RawInsight, number: int, evidence: tuple[Evidence, ...], playbook: Playbook, turn: Turn
) -> Insight:
    """Return the insight of a proposal; refining an unknown bullet becomes an add."""
    target = playbook.bullets.get(raw.source_bullet_id or "")
    is_there = target is not None and target.content.is_active
    is_edit = raw.type == "refine_strategy" and is_there
    return Insight(
        id=insight_id(turn["run_id"], number),
        type=raw.type if is_edit or raw.type != "refine_strategy" else "new_strategy",
        section=target.content.section if is_edit and target else raw.section,
        text=raw.description.strip()[:MAX_BULLET_LENGTH],
        applies_when=raw.applies_when.strip()[:MAX_SCOPE_LENGTH] or None,
        why=raw.why.strip(),
        source_bullet_id=raw.source_bullet_id if is_there else None,
        op="edit" if is_edit else "add",
        evidence=evidence,
        feedback=turn["feedback"],
        question=turn["query"][:EXCERPT_LENGTH],
        answer=turn["response"][:EXCERPT_LENGTH],
        thread_id=turn["thread_id"],
        run_id=turn["run_id"],
    )


def bullet_tags(reflection: Reflection, playbook: Playbook, turn: Turn) -> list[dict[str, str]]:
    """Return the tags of the cited bullets; repeated feedback does not count a use again."""
    effects = {each.id: each.tag for each in reflection.bullet_tags if each.id in turn["bullets"]}
    tags = [{"bullet": id, "tag": tag} for id, tag in effects.items()]
    uses = [] if turn["parent"] else [{"bullet": id, "tag": "used"} for id in turn["bullets"]]
    return [tag for tag in [*uses, *tags] if tag["bullet"] in playbook.bullets]

"""What an agent proposes to learn: an insight, the operation that a person decides, and what is shown with it."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from ringi.base import StrictModel
from ringi.engrammer.entries import (
    MAX_BULLET_LENGTH,
    SECTIONS,
    Entry,
    EntryMetadata,
    Evidence,
    EvidenceSource,
    InsightType,
)
from ringi.engrammer.errors import BudgetError, ChangedError, PlaybookError
from ringi.engrammer.playbook import Content, Playbook
from ringi.engrammer.rendering import estimate_tokens, playbook_tokens, render_line
from ringi.engrammer.similarity import SimilarBullet, find_similar
from ringi.errors import InvalidError

__all__ = [
    "MAX_BULLET_LENGTH",
    "SECTIONS",
    "AnswerFeedback",
    "Evidence",
    "Insight",
    "InsightType",
    "PlaybookOperation",
    "Proposal",
    "QuoteClaim",
    "Trial",
    "approved_entry",
    "args_schema",
    "build_proposal",
    "check_operation",
    "insight_id",
    "refusal_code",
    "rejection_entry",
    "verify_quotes",
]

OperationKind: TypeAlias = Literal["add", "edit", "merge", "retire"]
OTHERS = "others"
Section = Annotated[str, BeforeValidator(lambda name: name if name in SECTIONS else OTHERS)]
"""A model that makes up a section means none of them."""
MAX_ANSWER_LENGTH = 2_000


class AnswerFeedback(StrictModel):
    """How an answer did, and who says so; `self` is only the agent's own opinion."""

    source: Literal["ground_truth", "environment", "user", "self"]
    verdict: Literal["right", "wrong", "unknown"]
    text: str = ""
    by: str | None = None


class QuoteClaim(StrictModel):
    """Words that an agent says to stand somewhere; nobody has looked yet."""

    where: EvidenceSource
    ref: str | None = None
    quote: str


class PlaybookOperation(StrictModel):
    """What a person approves: what is done to the playbook, whole."""

    op: OperationKind
    section: str
    text: str
    bullet: str | None = None
    """What is edited or retired, or speaks for the `sources` of a merge."""
    sources: tuple[str, ...] = ()
    base: dict[str, str] = {}
    """The hash of each bullet that it changes, or changes another for, as the person sees it."""


class Insight(StrictModel):
    """What an agent believes to have learned in a run."""

    id: str
    type: InsightType
    section: Section = OTHERS
    text: str = Field(min_length=1, max_length=MAX_BULLET_LENGTH)
    why: str = ""
    source_bullet_id: str | None = None
    op: OperationKind = "add"
    sources: tuple[str, ...] = ()
    proposed: str | None = None
    """The text of the agent, where a person has changed it and it is proposed again like that."""
    evidence: tuple[Evidence, ...] = ()
    feedback: AnswerFeedback
    question: str = ""
    answer: Annotated[str, AfterValidator(lambda answer: answer[:MAX_ANSWER_LENGTH])] = ""
    thread_id: str
    run_id: str


class Trial(StrictModel):
    """How questions whose right answers are known were answered without a proposal, and with it."""

    cases: int = 0
    right_before: int = 0
    right_after: int = 0
    wins: tuple[str, ...] = ()
    """The questions that only with it are answered rightly."""
    losses: tuple[str, ...] = ()
    """The questions that with it are not answered rightly any more."""
    failed: str | None = None
    """Why there is no result."""


class Proposal(StrictModel):
    """An insight as it is shown: the operation it comes to, what is like it, what it costs."""

    insight: Insight
    operation: PlaybookOperation
    similar: tuple[SimilarBullet, ...] = ()
    tokens: int
    """How many tokens more the playbook has with it; fewer with a minus."""
    room: int
    """How many tokens of the budget are left with it; below 0 it does not fit."""
    before: str | None = None
    """What the bullet says that it changes."""
    playbook: str
    version: int
    renewed: str | None = None
    """Why it is proposed again."""
    trial: Trial | None = None
    """None where nothing was tried."""


def insight_id(run_id: str, position: int) -> str:
    """Return the id of an insight by its run and its position there: the same however often the run is tried."""
    return "i-" + hashlib.sha256(f"{run_id}\n{position}".encode()).hexdigest()[:16]


def build_proposal(
    insight: Insight, playbook: Playbook, budget: int, name: str, renewed: str | None = None
) -> Proposal | None:
    """Return an insight as it is to be shown beside the playbook as it stands, or None where nothing is left of it.

    What would edit a bullet that is not active adds one instead. Nothing is left of what would merge fewer than two,
    or would retire such a bullet, or one for such a bullet.
    """
    operation = _build_operation(insight, playbook)
    if operation is None:
        return None
    after, changed = _size_with(operation, playbook), playbook.bullets.get(operation.bullet or "")
    others = (each for each in playbook.active if each.id not in replaced_bullets(operation))
    return Proposal(
        insight=insight,
        operation=operation,
        similar=find_similar(operation.text, others),
        tokens=after - playbook_tokens(playbook),
        room=budget - after,
        before=changed.content.text if changed else None,
        playbook=name,
        version=playbook.version,
        renewed=renewed,
    )


def refusal_code(operation: PlaybookOperation, playbook: Playbook, budget: int) -> str | None:
    """Return the code why an operation cannot be applied as the playbook stands, or None.

    `changed` or `gone`: a bullet is not as it was shown, or is retired; `duplicate`: an active bullet says the same;
    `budget`: there is no room.
    """
    try:
        check_operation(operation, playbook, budget)
    except PlaybookError as error:
        return error.code
    return None


def check_operation(operation: PlaybookOperation, playbook: Playbook, budget: int) -> None:
    """Raise the `PlaybookError` for which `refused` returns the code."""
    playbook.bullets_after(_build_entry(operation, playbook, {}))
    after = _size_with(operation, playbook)
    if after > max(budget, playbook_tokens(playbook)):
        raise BudgetError(after, budget)


def approved_entry(operation: PlaybookOperation, insight: Insight, request_id: str | None, playbook: Playbook) -> Entry:
    """Return the entry that an approved operation becomes, or raise the `PlaybookError` that forbids it.

    Its text is the operation's, byte for byte. Where that is not what was proposed, the entry tells both.
    """
    metadata: EntryMetadata = {
        **_metadata(insight, request_id),
        "proposed": _original_text(operation, insight, playbook),
    }
    return _build_entry(operation, playbook, metadata)


def rejection_entry(
    operation: PlaybookOperation,
    insight: Insight,
    request_id: str | None,
    playbook: Playbook,
    reason: str | None = None,
) -> Entry:
    """Return the entry that a rejected operation becomes.

    Bullets that a person will not have merged stay apart. Who will not have one end for another has not said which of
    the two is wrong: they may be asked again.
    """
    metadata: EntryMetadata = {**_metadata(insight, request_id), "reason": reason}
    if operation.op == "merge" and not _is_stale(operation, playbook):
        return playbook.keep_apart_entry(operation.base, **metadata)
    bullets = tuple(each for each in (operation.bullet, *operation.sources) if each in playbook.bullets)
    return Entry(op="reject", refused=operation.op, text=operation.text, bullets=bullets, **metadata)


def args_schema(operation: PlaybookOperation) -> dict[str, Any]:
    """Return the JSON Schema of what a person may make of an operation: another text, another section, no more."""
    fixed: dict[str, Any] = {name: {"const": value} for name, value in operation.model_dump(mode="json").items()}
    text = {"type": "string", "minLength": 1, "maxLength": MAX_BULLET_LENGTH, "pattern": r"\S"}
    sections = list(dict.fromkeys((*SECTIONS, operation.section)))
    free = {} if operation.op == "retire" else {"text": text, "section": {"enum": sections}}
    return {"type": "object", "properties": fixed | free, "required": [*fixed], "additionalProperties": False}


def verify_quotes(
    quotes: Iterable[QuoteClaim], sources: Mapping[tuple[EvidenceSource, str | None], str], thread_id: str, run_id: str
) -> tuple[Evidence, ...]:
    """Return the quotes that stand where they are said to stand, with the place; others are left out.

    A quote is a part of its source, character for character once both are in NFC; nothing else is forgiven.
    """
    located = ((quote, _locate(quote, sources.get((quote.where, quote.ref)))) for quote in quotes)
    return tuple(
        Evidence(where=quote.where, ref=quote.ref, thread_id=thread_id, run_id=run_id, **place)
        for quote, place in located
        if place is not None
    )


def _locate(quote: QuoteClaim, source: str | None) -> dict[str, Any] | None:
    quoted = unicodedata.normalize("NFC", quote.quote)
    start = unicodedata.normalize("NFC", source or "").find(quoted)
    if start < 0 or not quoted.strip():
        return None
    return {"quote": quoted, "start": start, "end": start + len(quoted)}


def _build_operation(insight: Insight, playbook: Playbook) -> PlaybookOperation | None:
    """Return what an insight comes to as the playbook stands, or None."""
    ids = dict.fromkeys(filter(None, (insight.source_bullet_id, *insight.sources)))
    active = [each for each in map(playbook.bullets.get, ids) if each and each.content.is_active]
    match insight.op:
        case "merge" if len(active) < 2:
            return None
        case "retire" if insight.source_bullet_id is None or len(active) < len(ids):
            return None
        case "edit" if not active:
            return PlaybookOperation(op="add", section=insight.section, text=insight.text)
        case "add":
            return PlaybookOperation(op="add", section=insight.section, text=insight.text)
    # Who retires a bullet because of another wants it to be as it was shown: else both may be gone.
    bullets = active[:1] if insight.op == "edit" else active
    keep = bullets[0]
    return PlaybookOperation(
        op=insight.op,
        section=keep.content.section,
        text=keep.content.text if insight.op == "retire" else insight.text,
        bullet=keep.id,
        sources=tuple(each.id for each in bullets[1:]) if insight.op == "merge" else (),
        base={each.id: each.hash for each in bullets},
    )


def _build_entry(operation: PlaybookOperation, playbook: Playbook, metadata: EntryMetadata) -> Entry:
    for id, hash in operation.base.items():
        if playbook.active_bullet(id).hash != hash:
            raise ChangedError(id)
    match operation:
        case PlaybookOperation(op="edit", bullet=str(bullet)):
            return playbook.edit_entry(bullet, operation.text, operation.section, **metadata)
        case PlaybookOperation(op="merge", bullet=str(bullet)):
            return playbook.merge_entry(bullet, operation.sources, operation.text, operation.section, **metadata)
        case PlaybookOperation(op="retire", bullet=str(bullet)):
            return playbook.retire_entry(bullet, **metadata)
        case PlaybookOperation(op="add"):
            return playbook.add_entry(operation.section, operation.text, **metadata)
    raise InvalidError.of("bullet", f"name the bullet that this {operation.op!r} changes")


def _is_stale(operation: PlaybookOperation, playbook: Playbook) -> bool:
    bullets = {id: playbook.bullets[id] for id in operation.base if id in playbook.bullets}
    return any(id not in bullets or bullets[id].hash != hash for id, hash in operation.base.items())


def replaced_bullets(operation: PlaybookOperation) -> set[str | None]:
    """Return the bullets that do not stand as they do any more once it is applied."""
    return {operation.bullet, *operation.sources}


def _size_with(operation: PlaybookOperation, playbook: Playbook) -> int:
    left = (each for each in playbook.active if each.id not in replaced_bullets(operation))
    lines = {each.id: render_line(each.id, each.content) for each in left}
    if operation.op != "retire":
        id = operation.bullet or playbook.next_id
        lines[id] = render_line(id, Content(section=operation.section, text=operation.text))
    return estimate_tokens("\n".join(lines.values()))


def _original_text(operation: PlaybookOperation, insight: Insight, playbook: Playbook) -> str | None:
    if insight.proposed is not None:
        return insight.proposed
    before = _build_operation(insight, playbook)
    is_same = before is not None and (before.text, before.section) == (operation.text, operation.section)
    return None if is_same or before is None else before.text


def _metadata(insight: Insight, request_id: str | None) -> EntryMetadata:
    return {
        "type": insight.type,
        "request_id": request_id,
        "thread_id": insight.thread_id,
        "run_id": insight.run_id,
    }
